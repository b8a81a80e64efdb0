package report

import (
	"cmp"
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
	for _, s := range ComparisonLead(c) {
		p.wrap("", s)
	}
	for _, t := range ComparisonTables(c, false) {
		if len(t.rows) == 0 {
			continue
		}
		p.line("")
		p.wrap("", t.caption)
		if strings.HasPrefix(t.id, figuresID) && !strings.HasSuffix(t.id, listID) {
			p.table(t)
		} else {
			p.list(t)
		}
		if t.note != "" {
			p.wrap("  ", t.note)
		}
	}
	p.line("")
	p.wrap("", ComparisonLegend)
	return p.flush(w)
}

// list writes each row of a table as a paragraph, for tables too wide for a terminal.
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
	m.line("# " + escapeMarkdown(ComparisonTitle(c)))
	for _, s := range ComparisonLead(c) {
		m.line(escapeMarkdown(s))
	}
	for _, t := range ComparisonTables(c, true) {
		m.table(t)
	}
	m.line(ComparisonLegend)
	return m.flush(w)
}

// ComparisonLegend explains the figures of a comparison.
const ComparisonLegend = "Figures are medians over the repeats. Change: new against base, with its 95 % interval. " +
	"With enough repeats the interval is by ranks (exact Mann–Whitney, Hodges–Lehmann). " +
	"Else it is of the ratio of the geometric means of the repeats, which outliers move more than medians, " +
	"with a spread no smaller than chance within a repeat explains. " +
	"p is adjusted by Holm over all gated figures; other figures are tested at 5 % each. " +
	"Smallest detectable change: what such data show in four of five comparisons."

// ComparisonTitle names both sides.
func ComparisonTitle(c *compare.Comparison) string { return c.New + " against " + c.Base }

// ComparisonLead is the answer in sentences.
func ComparisonLead(c *compare.Comparison) []string {
	lead := []string{"base: " + c.Base, "new:  " + c.New}
	if c.Refused {
		lead = append(lead, "NOT COMPARED: differences below make the figures incomparable")
	}
	if g := c.Gate; g != nil {
		counts := map[stats.Verdict]int{}
		for _, x := range g.Cases {
			counts[x.Verdict]++
		}
		s := fmt.Sprintf("gate: %s, %s (%s)", g.Verdict, map[bool]string{true: "passes", false: "does not pass"}[g.Passes], unit.Plural(len(g.Cases), "figure"))
		for _, v := range []stats.Verdict{stats.Fail, stats.Undecided, stats.Pass} {
			if counts[v] > 0 {
				s += fmt.Sprintf(", %s %s", unit.Count(counts[v]), v)
			}
		}
		lead = append(lead, s)
	}
	return lead
}

// Table ids: figuresID begins the tables of a point, listID ends those that a terminal shows as lists.
const (
	figuresID = "point-"
	listID    = "-list"
)

// ComparisonTables are the tables of a comparison. Wide tables have columns for intervals and tests.
func ComparisonTables(c *compare.Comparison, wide bool) []table {
	tables := []table{gateTable(c), DifferencesTable("differences", "Other differences", c.Differences)}
	for i := range c.Points {
		p := &c.Points[i]
		id := figuresID + fmt.Sprint(i)
		caption := fmt.Sprintf("%s (base: %s, new: %s)", p.Name, unit.Plural(p.BaseRepeats, "repeat"), unit.Plural(p.NewRepeats, "repeat"))
		tables = append(tables, figuresTable(id, caption, p.Metrics, wide))
		for j := range p.Classes {
			tables = append(tables, figuresTable(fmt.Sprintf("%s-class-%d", id, j), p.Name+": class "+p.Classes[j].Name, p.Classes[j].Metrics, wide))
		}
		tables = append(tables, DifferencesTable(id+"-differences"+listID, p.Name+": other differences", p.Differences), invalidTable(id, p))
	}
	return append(tables, UnmatchedTable(c))
}

func gateTable(c *compare.Comparison) table {
	t := table{id: "gate", caption: "Gate", columns: []column{{head: "point"}, {head: "figure"}, {head: "verdict"}, {head: "why"}}}
	if c.Gate == nil {
		return t
	}
	for _, x := range c.Gate.Cases {
		t.add(text(cmp.Or(x.Where(), "all")), text(cmp.Or(x.Metric, "all")), verdictCell(x.Verdict, 0), text(x.Why))
	}
	return t
}

// DifferencesTable is what differs between the sides besides the figures.
func DifferencesTable(id, caption string, ds []compare.Difference) table {
	t := table{id: id, caption: caption, columns: []column{{head: "what"}, {head: "base"}, {head: "new"}, {head: "effect"}}}
	for _, d := range ds {
		effect := cell{text: "noted", kind: faint}
		switch {
		case d.Key != "" && d.Allowed:
			effect = cell{text: "allowed", kind: undecided}
		case d.Key != "":
			effect = cell{text: "refused: intended? --allow " + d.Key, kind: failed}
		}
		t.add(text(d.What), text(d.Base), text(d.New), effect)
	}
	return t
}

// figuresTable is the figures of a point or of a class of it.
func figuresTable(id, caption string, metrics []compare.Metric, wide bool) table {
	t := table{id: id, caption: caption, columns: []column{{head: "figure"}, {head: "base", num: true}, {head: "new", num: true}, {head: "change", num: true}, {head: "verdict"}}}
	if wide {
		t.columns = append(t.columns, column{head: "95 % interval"}, column{head: "p", num: true}, column{head: "test"}, column{head: "smallest detectable change", num: true}, column{head: "why"})
	}
	names, whys := map[string][]string{}, []string{} // reasons go to the note of a narrow table
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
		t.add(row...)
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
	return text(Quantity(*x, unit))
}

func changeCell(m *compare.Metric) cell {
	if m.Change == nil {
		return absent()
	}
	return text(compare.Percent(*m.Change, true))
}

// judgedCell is the verdict, in a narrow table with the figure behind it.
func judgedCell(m *compare.Metric, wide bool) cell {
	c := cell{text: string(m.Verdict), kind: map[compare.Verdict]kind{compare.Better: passed, compare.Worse: failed, compare.CantTell: undecided}[m.Verdict]}
	switch {
	case m.Verdict == compare.Same:
		c.text += " within " + compare.Percent(m.Within, false)
	case m.Verdict == compare.CantTell && m.Need > 0:
		c.text += fmt.Sprintf(" (needs %s)", unit.Plural(m.Need, "repeat"))
	case m.Verdict == compare.CantTell: // the reason is in a column or the note
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
	t := table{id: id + "-invalid" + listID, caption: p.Name + ": invalid rows", columns: []column{{head: "failed checks"}, {head: "row"}, {head: "effect"}}}
	for _, x := range p.Invalid {
		effect := text("included")
		if x.LeftOut {
			effect = text("left out of base")
		}
		t.add(cell{text: strings.Join(x.Failed, ", "), kind: failed}, text(x.Run+" "+x.Row), effect)
	}
	return t
}

// UnmatchedTable is the points of one side only.
func UnmatchedTable(c *compare.Comparison) table {
	t := table{id: "unmatched", caption: "Unmatched points", columns: []column{{head: "point"}, {head: "side"}}}
	for _, name := range c.Missing {
		t.add(text(name), text("only in base"))
	}
	for _, name := range c.Added {
		t.add(text(name), text("only in new"))
	}
	return t
}
