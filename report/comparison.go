package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"bench/experiment/published"
	"bench/experiment/record"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report/compare"
)

// ComparisonText has what decides; Markdown and HTML have the rest.
func ComparisonText(w io.Writer, c *compare.Comparison, screen Screen) error {
	p := newPrinter(screen)
	a, f := AnswerComparison(c), NewForest(c)
	p.wrap(p.paint(a.Kind, text.Escape(a.Lead)), a.Text)
	p.wraps("  ", a.Notes...)
	p.wraps("", ComparisonSides(c)...)
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
	if len(t.Rows) > 0 {
		p.line("")
		p.wrap("", t.Caption)
		draw(t)
		p.wraps("  ", t.Note)
	}
}

// list is for tables too wide for a terminal.
func (p *printer) list(t Table) {
	var heads []string
	for _, c := range t.Columns {
		heads = append(heads, strings.TrimSpace(c.Head+" "+c.Unit))
	}
	p.wrap(" ", strings.Join(heads, " · "))
	for _, row := range t.Rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, c.Text)
		}
		p.wrap(" ", strings.Join(texts, " · "))
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
	details := &markdown{}
	details.tables(append(ConditionTables(c), FiguresTable(c), StatisticsTable(c))...)
	if text := details.b.String(); text != "" {
		m.line("<details><summary>" + unit.Plural(len(f.Lines()), "figure") + ", conditions and statistics</summary>")
		m.b.WriteString(text)
		m.line("</details>")
	}
	return m.flush(w)
}

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

// factOrder is the order in which a sentence names what changed beside the figures, the likeliest cause first; other
// facts of [facts], such as the driver, come before the client's.
var factOrder = []string{"engine", "server version", "server command", "build info", "fact: ", "extra body",
	"connections", "client version"}

// factsChanged are what was allowed to differ, and what is only noted, in the order of factOrder.
func factsChanged(c *compare.Comparison, ds []compare.Difference) []string {
	rank := func(d compare.Difference) int {
		if d.Allowed {
			return -1
		}
		i := slices.IndexFunc(factOrder, func(what string) bool { return strings.HasPrefix(d.What, what) })
		return cmp.Or(i+1, len(factOrder)+1)
	}
	ds = slices.DeleteFunc(slices.Clone(ds), func(d compare.Difference) bool {
		return d.Key != "" && !d.Allowed || d.What == "seed"
	})
	slices.SortStableFunc(ds, func(a, b compare.Difference) int { return cmp.Compare(rank(a), rank(b)) })
	server := "server"
	for _, r := range c.Sides[1].Runs {
		if kind := record.EngineKinds(r.Rows); kind != "" {
			server = published.EngineName(kind)
			break
		}
	}
	return factTexts(ds, server)
}

func changedBeside(c *compare.Comparison) []string { return factsChanged(c, c.Differences) }

// changedThen are the facts that changed in the first night with the case, else those that differ from base.
func changedThen(c *compare.Comparison, x compare.Case) []string {
	var ds []compare.Difference
	for _, s := range x.Changed {
		ds = append(ds, compare.Difference{What: s.What, Base: s.Was, New: s.Value})
	}
	if len(ds) == 0 {
		ds = c.Differences
	}
	return factsChanged(c, ds)
}

const widestFact = 30 // columns of each side

// factTexts are "vLLM 0.20.1 → 0.21.0", "server command --max-num-seqs 128 → --max-num-seqs 256".
func factTexts(ds []compare.Difference, server string) (texts []string) {
	for _, d := range ds {
		what := strings.TrimPrefix(d.What, "fact: ")
		switch what {
		case "server version":
			what = server
		case "client version":
			what = "bench"
		}
		was, is := versionAnswer.ReplaceAllString(d.Base, "$1"), versionAnswer.ReplaceAllString(d.New, "$1")
		if !strings.Contains(was+is, " | ") { // of runs that differ among themselves
			was, is = changedWords(was, is)
		}
		change := text.Ellipsis(was, widestFact) + " → " + text.Ellipsis(is, widestFact)
		if text.Ellipsis(was, widestFact) == text.Ellipsis(is, widestFact) { // what differs is cut off
			change = "differs"
		}
		texts = append(texts, what+" "+change)
	}
	return texts
}

// versionAnswer is a server's answer to /version.
var versionAnswer = regexp.MustCompile(`\{"version":"([^"]*)"\}`)

// flagValue joins a flag with its value by a no-break space.
var flagValue = regexp.MustCompile(`(--?[^ =]+) ([^- ])`)

// changedWords are the words, and the flags with their values, that the other text lacks.
func changedWords(was, is string) (before, after string) {
	a, b := strings.Split(flagValue.ReplaceAllString(was, "$1\u00a0$2"), " "),
		strings.Split(flagValue.ReplaceAllString(is, "$1\u00a0$2"), " ")
	without := func(words, other []string) string {
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(other, w) })
		text := strings.ReplaceAll(strings.Join(words, " "), "\u00a0", " ")
		return cmp.Or(strings.Trim(text, ",;"), "none")
	}
	return without(a, b), without(b, a)
}
