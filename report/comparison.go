package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

// ComparisonText writes a comparison for a terminal.
func ComparisonText(w io.Writer, c *compare.Comparison, screen Screen) error {
	p := newPrinter(screen)
	for _, s := range ComparisonLead(c) {
		p.wrap("", s)
	}
	for _, t := range ComparisonTables(c, false) {
		if len(t.Rows) == 0 {
			continue
		}
		p.line("")
		p.wrap("", t.Caption)
		if strings.HasPrefix(t.ID, figuresID) && !strings.HasSuffix(t.ID, listID) {
			p.table(t)
		} else {
			p.list(t)
		}
		if t.Note != "" {
			p.wrap("  ", t.Note)
		}
	}
	p.line("")
	p.wrap("", ComparisonLegend)
	return p.flush(w)
}

// list writes each row of a table as a paragraph, for tables too wide for a terminal.
func (p *printer) list(t Table) {
	for _, row := range t.Rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = c.Text
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
	"With fewer repeats it is the interval of the ratio of geometric means, " +
	"whose variance is at least the variance within a repeat. " +
	"p is adjusted by Holm over all gated figures; other figures are tested at 5 % each. " +
	"Smallest detectable change: the smallest change that such data find with 80 % power."

// ComparisonTitle names both sides.
func ComparisonTitle(c *compare.Comparison) string { return c.New + " against " + c.Base }

// ComparisonLead is the answer in sentences.
func ComparisonLead(c *compare.Comparison) []string {
	lead := []string{"base: " + c.Base, "new:  " + c.New}
	if n := len(c.WithoutRecords); n > 0 {
		lead = append(lead, "request records are missing, the spread within a repeat is estimated: "+andMore(c.WithoutRecords[0], n-1))
	}
	if c.BaseGPUSeconds != nil && c.NewGPUSeconds != nil {
		lead = append(lead, fmt.Sprintf("GPU-seconds to the answer: base %s, new %s", unit.Digits(*c.BaseGPUSeconds), unit.Digits(*c.NewGPUSeconds)))
	}
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
func ComparisonTables(c *compare.Comparison, wide bool) []Table {
	tables := []Table{gateTable(c), LeftOutTable("left-out"+listID, "Left out of base: not comparable with new", c.LeftOut),
		DifferencesTable("differences", "Other differences", c.Differences)}
	for i := range c.Points {
		p := &c.Points[i]
		id := figuresID + fmt.Sprint(i)
		caption := fmt.Sprintf("%s (base: %s, new: %s)", p.Name, unit.Plural(p.BaseRepeats, "repeat"), unit.Plural(p.NewRepeats, "repeat"))
		tables = append(tables, figuresTable(id, caption, p.Metrics, wide))
		for j := range p.Classes {
			tables = append(tables, figuresTable(fmt.Sprintf("%s-class-%d", id, j), p.Name+": class "+p.Classes[j].Name, p.Classes[j].Metrics, wide))
		}
		tables = append(tables, LeftOutTable(id+"-left-out"+listID, p.Name+": left out of base", p.LeftOut), DifferencesTable(id+"-differences"+listID, p.Name+": other differences", p.Differences), disturbedTable(id, p))
	}
	return append(tables, UnmatchedTable(c))
}

func gateTable(c *compare.Comparison) Table {
	t := Table{ID: "gate", Caption: "Gate", Columns: []Column{{Head: "point"}, {Head: "figure"}, {Head: "verdict"}, {Head: "why"}}}
	if c.Gate == nil {
		return t
	}
	for _, x := range c.Gate.Cases {
		t.Add(TextCell(cmp.Or(x.Where(), "all")), TextCell(cmp.Or(x.Metric, "all")), verdictCell(x.Verdict, 0), TextCell(x.Why))
	}
	return t
}

// LeftOutTable lists what of base is not compared.
func LeftOutTable(id, caption string, left []compare.LeftOut) Table {
	t := Table{ID: id, Caption: caption, Columns: []Column{{Head: "run"}, {Head: "row"}, {Head: "why"}}}
	for _, l := range left {
		t.Add(TextCell(l.Run), TextCell(cmp.Or(l.Row, "all")), TextCell(l.Why))
	}
	return t
}

// DifferencesTable is what differs between the sides besides the figures.
func DifferencesTable(id, caption string, ds []compare.Difference) Table {
	t := Table{ID: id, Caption: caption, Columns: []Column{{Head: "what"}, {Head: "base"}, {Head: "new"}, {Head: "effect"}}}
	for _, d := range ds {
		effect := Cell{Text: cmp.Or(d.Effect, "noted"), Kind: Faint}
		switch {
		case d.Key != "" && d.Allowed:
			effect = Cell{Text: "allowed", Kind: Undecided}
		case d.Key != "":
			effect = Cell{Text: "refused; to compare anyway: --allow " + d.Key, Kind: Failed}
			if d.Key == "prompt_form" {
				effect.Text = "refused: one server gets token ids, the other text; api = \"chat\" sends text to both; " +
					"to compare anyway: --allow prompt_form"
			}
		}
		t.Add(TextCell(d.What), TextCell(d.Base), TextCell(d.New), effect)
	}
	return t
}

// figuresTable is the figures of a point or of a class of it.
func figuresTable(id, caption string, metrics []compare.Metric, wide bool) Table {
	t := Table{ID: id, Caption: caption, Columns: []Column{{Head: "figure"}, {Head: "base", Num: true}, {Head: "new", Num: true}, {Head: "change", Num: true}, {Head: "verdict"}}}
	if wide {
		t.Columns = append(t.Columns, Column{Head: "95 % interval"}, Column{Head: "p", Num: true}, Column{Head: "test"}, Column{Head: "smallest detectable change", Num: true}, Column{Head: "why"})
	}
	names, whys := map[string][]string{}, []string{} // reasons go to the note of a narrow table
	for i := range metrics {
		m := &metrics[i]
		row := []Cell{figureCell(m), quantityCell(m.Base, m.Unit), quantityCell(m.New, m.Unit), changeCell(m), judgedCell(m, wide)}
		if !wide && m.Verdict == compare.Inconclusive && needed(m) == 0 {
			if len(names[m.Why]) == 0 {
				whys = append(whys, m.Why)
			}
			names[m.Why] = append(names[m.Why], m.Name)
		}
		if wide {
			row = append(row, intervalCell(m), optional(m.Adjusted, unit.Digits), TextCell(m.Test),
				optional(m.SmallestDetectable, func(x float64) string { return compare.Percent(x, false) }), TextCell(m.Why))
		}
		t.Add(row...)
	}
	t.Note = neededNote(metrics)
	for _, why := range whys {
		t.Note += strings.Join(names[why], ", ") + ": " + why + ". "
	}
	t.Note = strings.TrimSpace(t.Note)
	return t
}

func figureCell(m *compare.Metric) Cell {
	c := TextCell(m.Name)
	if m.Threshold != nil {
		c.Tag = "gate: " + m.Threshold.String()
	}
	return c
}

func quantityCell(x *float64, unit string) Cell {
	return optional(x, func(x float64) string { return Quantity(x, unit) })
}

func changeCell(m *compare.Metric) Cell { return optional(m.Change, signed) }

func signed(change float64) string { return compare.Percent(change, true) }

// needed is the number of repeats per side that would decide a figure: for the change shown, or for the margin if
// that is larger. 0: unknown, or decided.
func needed(m *compare.Metric) int { return cmp.Or(m.NeedForChange, m.NeedRepeats) }

// neededNote says which change the needed repeats would detect. The margin of error_rate is a difference of shares.
func neededNote(metrics []compare.Metric) string {
	var margins []string
	for i := range metrics {
		m := &metrics[i]
		margin := unit.Exactly(m.Margin, "share")
		if m.Name == "error_rate" {
			margin += " (error_rate)"
		}
		if needed(m) > 0 && !slices.Contains(margins, margin) {
			margins = append(margins, margin)
		}
	}
	if len(margins) == 0 {
		return ""
	}
	return "Needed repeats are per side, to detect the change shown, or " + strings.Join(margins, ", ") + " if it is smaller. "
}

// judgedCell is the verdict, in a narrow table with the figure behind it.
func judgedCell(m *compare.Metric, wide bool) Cell {
	c := Cell{Text: string(m.Verdict), Kind: map[compare.Verdict]Kind{compare.Better: Passed, compare.Worse: Failed, compare.Inconclusive: Undecided}[m.Verdict]}
	switch {
	case m.Verdict == compare.NoChange:
		c.Text += " within " + compare.Percent(m.NoChangeWithin, false)
	case needed(m) > 0:
		c.Text += fmt.Sprintf(" (needs %s)", unit.Plural(needed(m), "repeat"))
	case m.Verdict == compare.Inconclusive: // the reason is in a column or the note
	case !wide:
		c.Text += fmt.Sprintf(" (p=%s)", unit.Digits(*m.Adjusted))
	}
	return c
}

func intervalCell(m *compare.Metric) Cell {
	return optional(m.Change, func(float64) string { return signed(m.CI95.Lo) + " to " + signed(m.CI95.Hi) })
}

// disturbedTable is the invalid rows of a point, and those with cautions.
func disturbedTable(id string, p *compare.Point) Table {
	t := Table{ID: id + "-disturbed" + listID, Caption: p.Name + ": invalid rows and cautions",
		Columns: []Column{{Head: "severity"}, {Head: "findings"}, {Head: "row"}, {Head: "effect"}}}
	add := func(s record.Severity, codes []string, run, row, effect string) {
		t.Add(Cell{Text: string(s), Kind: severityKind(s)}, TextCell(strings.Join(codes, ", ")), TextCell(run+" "+row), TextCell(effect))
	}
	for _, x := range p.Invalid {
		effect := "included"
		if x.LeftOut {
			effect = "left out of base"
		}
		add(record.Invalid, x.Codes, x.Run, x.Row, effect)
	}
	for _, x := range p.Cautions {
		add(record.Caution, x.Codes, x.Run, x.Row, "included")
	}
	return t
}

// UnmatchedTable is the points of one side only.
func UnmatchedTable(c *compare.Comparison) Table {
	t := Table{ID: "unmatched", Caption: "Unmatched points", Columns: []Column{{Head: "point"}, {Head: "side"}}}
	for _, name := range c.Missing {
		side := "only in base"
		if reason := c.Skipped[name]; reason != "" {
			side += "; skipped in new: " + reason
		}
		t.Add(TextCell(name), TextCell(side))
	}
	for _, name := range c.Added {
		t.Add(TextCell(name), TextCell("only in new"))
	}
	return t
}
