package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

// ComparisonText writes a comparison for a terminal.
func ComparisonText(w io.Writer, c *compare.Comparison, color bool) error {
	p := &printer{color: color}
	for _, s := range comparisonLead(c) {
		p.wrap("", s)
	}
	for _, t := range comparisonTables(c, false) {
		if len(t.rows) == 0 {
			continue
		}
		p.line("")
		p.wrap("", t.caption)
		if strings.HasPrefix(t.id, figuresID) && !strings.HasSuffix(t.id, besideID) {
			p.table(t)
		} else {
			p.list(t)
		}
		if t.note != "" {
			p.wrap("  ", t.note)
		}
	}
	p.line("")
	p.wrap("", comparisonLegend)
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// list writes a table of prose line by line, as no screen is wide enough for it.
func (p *printer) list(t table) {
	for _, row := range t.rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = c.text
		}
		p.wrap(" ", strings.Join(texts, " · "))
	}
}

// ComparisonMarkdown writes a comparison for a pull request.
func ComparisonMarkdown(w io.Writer, c *compare.Comparison) error {
	m := &markdown{}
	m.line("# " + escapeMarkdown(comparisonTitle(c)))
	for _, s := range comparisonLead(c) {
		m.line(escapeMarkdown(s))
	}
	for _, t := range comparisonTables(c, true) {
		m.table(t)
	}
	m.line(escapeMarkdown(comparisonLegend))
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
}

// ComparisonJSON writes a comparison as data.
func ComparisonJSON(w io.Writer, c *compare.Comparison) error { return writeJSON(w, c) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// ComparisonHTML writes a comparison as one page that needs nothing but itself.
func ComparisonHTML(w io.Writer, c *compare.Comparison) error {
	v := sheetView{Kind: "bench compare", Title: comparisonTitle(c), Lead: append(comparisonLead(c), comparisonLegend)}
	for _, t := range comparisonTables(c, true) {
		if err := v.add(t, false); err != nil {
			return err
		}
	}
	return v.write(w, c)
}

const comparisonLegend = "Figures are medians over the repeats. The change is new against base with its 95 % interval: by ranks (exact Mann–Whitney, Hodges–Lehmann) " +
	"where there are repeats enough, else between the geometric means of the repeats, which one odd repeat moves more than it moves the medians, " +
	"by their spread, which is held to be no smaller than what chance inside of them makes. " +
	"p is adjusted by Holm over all gated figures; the others are described, each at its own 5 %. " +
	"Detectable: the smallest change that data like these show in four cases of five."

func comparisonTitle(c *compare.Comparison) string { return c.New + " against " + c.Base }

// comparisonLead is the answer in sentences.
func comparisonLead(c *compare.Comparison) []string {
	lead := []string{"base: " + c.Base, "new:  " + c.New}
	if c.Refused {
		lead = append(lead, "NOT COMPARED: the sides differ in what makes figures incomparable")
	}
	if g := c.Gate; g != nil {
		counts := map[stats.Verdict]int{}
		for _, x := range g.Cases {
			counts[x.Verdict]++
		}
		s := fmt.Sprintf("gate: %s, %s (%s)", g.Verdict, map[bool]string{true: "passes", false: "does not pass"}[g.Passes], plural(len(g.Cases), "figure", "figures"))
		for _, v := range []stats.Verdict{stats.Fail, stats.Undecided, stats.Pass} {
			if counts[v] > 0 {
				s += fmt.Sprintf(", %s %s", unit.Count(counts[v]), v)
			}
		}
		lead = append(lead, s)
	}
	return lead
}

// Names of tables: those of a point's figures, and what stands beside them.
const (
	figuresID = "point-"
	besideID  = "-beside"
)

// comparisonTables are what every renderer draws; wide ones have the intervals and the tests in columns of their own.
func comparisonTables(c *compare.Comparison, wide bool) []table {
	tables := []table{gateTable(c), differencesTable("differences", "What else differs", c.Differences)}
	for i := range c.Points {
		p := &c.Points[i]
		id := figuresID + fmt.Sprint(i)
		tables = append(tables, pointTable(id, p, wide))
		for j := range p.Classes {
			tables = append(tables, classTable(fmt.Sprintf("%s-class-%d", id, j), p, &p.Classes[j], wide))
		}
		tables = append(tables, differencesTable(id+"-differences"+besideID, p.Name+": what else differs", p.Differences), invalidTable(id, p))
	}
	return append(tables, unmatchedTable(c))
}

func gateTable(c *compare.Comparison) table {
	t := table{id: "gate", caption: "The gate", columns: []column{{head: "point"}, {head: "figure"}, {head: "verdict"}, {head: "why"}}}
	if c.Gate == nil {
		return t
	}
	for _, x := range c.Gate.Cases {
		t.rows = append(t.rows, []cell{text(or(x.Where(), "all")), text(or(x.Metric, "all")), verdictCell(x.Verdict, 0), text(x.Why)})
	}
	return t
}

func differencesTable(id, caption string, ds []compare.Difference) table {
	t := table{id: id, caption: caption, columns: []column{{head: "what"}, {head: "base"}, {head: "new"}, {head: "so"}}}
	for _, d := range ds {
		so := cell{text: "noted", kind: faint}
		switch {
		case d.Key != "" && d.Allowed:
			so = cell{text: "allowed", kind: undecided}
		case d.Key != "":
			so = cell{text: "refused: --allow " + d.Key + " if it is meant", kind: failed}
		}
		t.rows = append(t.rows, []cell{text(d.What), text(d.Base), text(d.New), so})
	}
	return t
}

// pointTable is the figures of all of a point's requests.
func pointTable(id string, p *compare.Point, wide bool) table {
	caption := fmt.Sprintf("%s (%s of base, %s of new)", p.Name, plural(p.BaseRepeats, "repeat", "repeats"), plural(p.NewRepeats, "repeat", "repeats"))
	return figuresTable(id, caption, p.Metrics, wide)
}

// classTable is the figures of one class of a mix.
func classTable(id string, p *compare.Point, c *compare.Class, wide bool) table {
	return figuresTable(id, p.Name+": class "+c.Name, c.Metrics, wide)
}

// figuresTable has throughput and latency beside each other.
func figuresTable(id, caption string, metrics []compare.Metric, wide bool) table {
	t := table{id: id, caption: caption, columns: []column{{head: "figure"}, {head: "base", num: true}, {head: "new", num: true}, {head: "change", num: true}, {head: "verdict"}}}
	if wide {
		t.columns = append(t.columns, column{head: "95 % interval"}, column{head: "p", num: true}, column{head: "test"}, column{head: "detectable", num: true}, column{head: "why"})
	}
	names, whys := map[string][]string{}, []string{} // of figures that a narrow table has no room to explain
	for i := range metrics {
		m := &metrics[i]
		row := []cell{figureCell(m), quantityCell(m.Base, m.Unit), quantityCell(m.New, m.Unit), changeCell(m), judgedCell(m, wide)}
		if !wide && m.Verdict == compare.CantTell && m.Need == 0 {
			if len(names[m.Why]) == 0 {
				whys = append(whys, m.Why)
			}
			names[m.Why] = append(names[m.Why], m.Name)
		}
		if wide {
			row = append(row, intervalCell(m), pCell(m), text(m.Test), detectableCell(m), text(m.Why))
		}
		t.rows = append(t.rows, row)
	}
	for _, why := range whys {
		t.note += strings.Join(names[why], ", ") + ": " + why + ". "
	}
	return t
}

func figureCell(m *compare.Metric) cell {
	c := text(m.Name)
	if m.Threshold != nil {
		c.tag = "gate: " + m.Threshold.String()
	}
	return c
}

func quantityCell(x *float64, unit string) cell {
	if x == nil {
		return absent()
	}
	return text(quantity(*x, unit))
}

func changeCell(m *compare.Metric) cell {
	if m.Change == nil {
		return absent()
	}
	return text(compare.Percent(*m.Change, true))
}

// judgedCell is the verdict, in a narrow table with what it rests on.
func judgedCell(m *compare.Metric, wide bool) cell {
	c := cell{text: string(m.Verdict), kind: map[compare.Verdict]kind{compare.Better: passed, compare.Worse: failed, compare.CantTell: undecided}[m.Verdict]}
	switch {
	case m.Verdict == compare.Same:
		c.text += " within " + compare.Percent(m.Within, false)
	case m.Verdict == compare.CantTell && m.Need > 0:
		c.text += fmt.Sprintf(" (need %s)", plural(m.Need, "repeat", "repeats"))
	case m.Verdict == compare.CantTell: // why is in a column, or below
	case !wide:
		c.text += fmt.Sprintf(" (p=%s)", unit.Digits(*m.Adjusted))
	}
	return c
}

func intervalCell(m *compare.Metric) cell {
	if m.Change == nil {
		return absent()
	}
	return text(compare.Percent(m.CI95.Lo, true) + " to " + compare.Percent(m.CI95.Hi, true))
}

func pCell(m *compare.Metric) cell {
	if m.Adjusted == nil {
		return absent()
	}
	return text(unit.Digits(*m.Adjusted))
}

func detectableCell(m *compare.Metric) cell {
	if m.Detectable == nil {
		return absent()
	}
	return text(compare.Percent(*m.Detectable, false))
}

func invalidTable(id string, p *compare.Point) table {
	t := table{id: id + "-invalid" + besideID, caption: p.Name + ": rows that are not valid", columns: []column{{head: "failed checks"}, {head: "row"}, {head: "so"}}}
	for _, x := range p.Invalid {
		so := text("in the figures")
		if x.LeftOut {
			so = text("left out of base")
		}
		t.rows = append(t.rows, []cell{{text: strings.Join(x.Failed, ", "), kind: failed}, text(x.Run + " " + x.Row), so})
	}
	return t
}

func unmatchedTable(c *compare.Comparison) table {
	t := table{id: "unmatched", caption: "Points of one side only", columns: []column{{head: "point"}, {head: "where"}}}
	for _, name := range c.Missing {
		t.rows = append(t.rows, []cell{text(name), text("only in base")})
	}
	for _, name := range c.Added {
		t.rows = append(t.rows, []cell{text(name), text("only in new")})
	}
	return t
}

// oneLine keeps a message to one line.
func oneLine(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }
