package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report/compare"
)

// ComparisonText has what decides; Markdown and HTML have the rest.
func ComparisonText(w io.Writer, c *compare.Comparison, screen Screen) error {
	p := newPrinter(screen)
	a, f := AnswerComparison(c), NewForest(c)
	p.wrap(p.paint(a.Kind, text.Escape(a.Lead)), a.Text)
	for _, s := range a.Notes {
		p.wrap("  ", s)
	}
	for _, s := range ComparisonSides(c) {
		p.wrap("", s)
	}
	deciding := f.Deciding()
	p.forest(&deciding)
	if len(f.Lines()) > 0 {
		p.wrap("", unit.Plural(len(deciding.Rest), "more figure")+", conditions and statistics: --format md or html")
	}
	return p.flush(w)
}

func (p *printer) optionalTable(t Table) {
	t.Note = ""
	p.captioned(t, p.table)
}

func (p *printer) captioned(t Table, draw func(Table)) {
	if len(t.Rows) == 0 {
		return
	}
	p.line("")
	p.wrap("", t.Caption)
	draw(t)
	if t.Note != "" {
		p.wrap("  ", t.Note)
	}
}

// list is for tables too wide for a terminal.
func (p *printer) list(t Table) {
	const separator = " · "
	heads := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = strings.TrimSpace(c.Head + " " + c.Unit)
	}
	p.wrap(" ", strings.Join(heads, separator))
	for _, row := range t.Rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = c.Text
		}
		p.wrap(" ", strings.Join(texts, separator))
	}
}

func ComparisonMarkdown(w io.Writer, c *compare.Comparison) error {
	m := &markdown{}
	a, f := AnswerComparison(c), NewForest(c)
	m.line("**" + escapeMarkdown(a.Lead) + "** " + escapeMarkdown(a.Text))
	for _, s := range append(a.Notes, ComparisonSides(c)...) {
		m.item("", s)
	}
	m.write("")
	picture, deciding := newPrinter(Screen{}), f.Deciding()
	picture.forest(&deciding)
	if text := strings.Trim(picture.b.String(), "\n"); text != "" {
		m.line("Changes, worse to the right:") // code after a list would be a part of the list
		m.code(text)
	}
	tables := slices.DeleteFunc(append(ConditionTables(c), FiguresTable(c), StatisticsTable(c)),
		func(t Table) bool { return len(t.Rows) == 0 })
	if len(tables) > 0 {
		m.line("<details><summary>" + unit.Plural(len(f.Lines()), "figure") + ", conditions and statistics</summary>")
		m.tables(tables...)
		m.line("</details>")
	}
	return m.flush(w)
}

const ComparisonLegend = "Medians over the repeats. Raw change: of these. Change: new against base over runs, with its " +
	"95 % interval. ~ thin or n too small. Tests: benchmarks/statistics.md#compare"

func ComparisonTitle(c *compare.Comparison) string { return c.New + " against " + c.Base }

func ComparisonSides(c *compare.Comparison) []string {
	base, changed := 0, 0
	for _, p := range c.Points {
		base, changed = max(base, p.BaseRepeats), max(changed, p.NewRepeats)
	}
	return []string{"base: " + sideText(c.Base, c.BaseRuns, base), "new:  " + sideText(c.New, c.NewRuns, changed)}
}

func sideText(name string, runs []compare.RunRef, repeats int) string {
	switch {
	case len(runs) == 0:
		return "none (" + name + ")"
	case len(runs) > 1 || strings.HasPrefix(name, "last-good"):
		return fmt.Sprintf("%s (%s, %s)", name, unit.Plural(len(runs), "run"), unit.Plural(repeats, "repeat"))
	case repeats > 1:
		name += " (" + unit.Plural(repeats, "repeat") + ")"
	}
	return name
}
