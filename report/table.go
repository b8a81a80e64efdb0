package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Table is what every renderer draws. Its texts are untrusted and not escaped.
type Table struct {
	ID      string // anchor in the page
	Caption string
	Note    string // empty: none
	Columns []Column
	Rows    [][]Cell
}

// newTable has columns with the heads, each with what column reads in it.
func newTable(id, caption string, heads ...string) (t Table) {
	t.ID, t.Caption = id, caption
	t.addColumns(heads...)
	return t
}

func (t *Table) addColumns(heads ...string) {
	for _, head := range heads {
		t.Columns = append(t.Columns, column(head))
	}
}

// column is of a text like "lag p99|ms # ?lag": of figures (#), in ms, with the definition lag (?).
func column(text string) (c Column) {
	text, c.Help, _ = strings.Cut(text, " ?")
	text, c.Num = strings.CutSuffix(text, " #")
	c.Head, c.Unit, _ = strings.Cut(text, "|")
	return c
}

func (t *Table) Add(row ...Cell) { t.Rows = append(t.Rows, row) }

// kinds are those of the cells.
func (t *Table) kinds() map[Kind]bool {
	used := map[Kind]bool{}
	for _, row := range t.Rows {
		for _, c := range row {
			used[c.Kind] = true
		}
	}
	return used
}

// neededText is how many requests the percentiles need that have only a lower bound: "≥ n too small (p99: 368 needed)";
// empty: every one is bounded.
func (t *Table) neededText() string {
	var needs []string
	for i, c := range t.Columns {
		small := slices.ContainsFunc(t.Rows, func(row []Cell) bool { return len(row) > i && row[i].Kind == NoBound })
		if text := c.Stat + ": " + unit.Count(stats.NeededFor(c.Stat)); small && c.Stat != "" &&
			!slices.Contains(needs, text) {
			needs = append(needs, text)
		}
	}
	if len(needs) == 0 {
		return ""
	}
	return "≥ n too small (" + strings.Join(needs, ", ") + " needed)"
}

type Column struct {
	Head string
	Unit string // empty: none, or in the cells
	Num  bool   // aligned to the right
	Help string // id of a definition; empty: none
	Stat string // its percentile: p99; empty: none
}

type Cell struct {
	Text   string
	Within string // the interval of the figure: "[43, 60]"; empty: none
	Title  string // tooltip: the evidence behind the text
	Kind   Kind
	Tag    string // a short remark beside the text
}

// Full is the text with its interval.
func (c Cell) Full() string { return joined(" ", c.Text, c.Within) }

// Kind is the meaning of a cell. A renderer may colour it, but the text says the same.
type Kind string

const (
	Plain     Kind = ""
	Thin      Kind = "thin"
	NoBound   Kind = "nobound"
	Passed    Kind = "pass"
	Failed    Kind = "fail"
	Undecided Kind = "undecided"
	Faint     Kind = "faint"
	Code      Kind = "code" // a command
)

func TextCell(s string) Cell { return Cell{Text: s} }

func count(n int) Cell { return Cell{Text: unit.Count(n)} }

func Absent() Cell { return Cell{Text: "–", Kind: Faint} }

func optional[T any](x *T, format func(T) string) Cell {
	if x == nil {
		return Absent()
	}
	return TextCell(format(*x))
}

// msCell is a percentile below a heading with ms.
func msCell(ps record.Percentiles, name string) Cell {
	return percentileCell(ps, name, unit.Digits, formatMs)
}

// LatencyCell is a percentile in a unit of its own.
func LatencyCell(ps record.Percentiles, name string) Cell {
	return percentileCell(ps, name, formatMs, formatMs)
}

func formatMs(ms float64) string { return unit.Format(ms, "ms") }

// percentileCell has the mark of the grade: ~ thin, ≥ a lower bound, n= no bound at all. Its tooltip has units.
func percentileCell(ps record.Percentiles, name string, format, withUnit func(float64) string) Cell {
	p, ok := ps.Get(name)
	if !ok {
		return Absent()
	}
	c := Cell{Title: evidenceOf(p, withUnit)}
	mark, x, ok := p.Mark()
	c.Text = mark + format(x)
	switch p.Grade {
	case stats.NoBound:
		c.Kind = NoBound
		if !ok {
			c.Text = "n=" + unit.Count(p.N)
		}
	case stats.Thin:
		c.Kind = Thin
	}
	return c
}

func evidenceOf(p record.Percentile, format func(float64) string) string {
	s := fmt.Sprintf("%s %s, 95 %% interval %s, n=%s, %s", p.Name, format(p.Median), interval(p.CI95, format),
		unit.Count(p.N), gradeWords(p.Grade))
	if p.Grade == stats.NoBound {
		s += ": " + unit.Count(stats.NeededFor(p.Name)) + " needed"
	}
	if len(p.Values) > 1 {
		var each []string
		for _, v := range p.Values {
			each = append(each, format(v))
		}
		s += fmt.Sprintf("; median of %d repeats: %s", len(p.Values), strings.Join(each, ", "))
	}
	return s
}

func interval(iv stats.Interval, format func(float64) string) string {
	end := func(x float64) string {
		if math.IsInf(x, 0) {
			return "unbounded"
		}
		return format(x)
	}
	return end(iv.Lo) + " to " + end(iv.Hi)
}

func gradeWords(g stats.Grade) string {
	switch g {
	case stats.NoBound:
		return "n too small for an upper bound"
	case stats.Thin:
		return "thin: few independent requests beyond it"
	}
	return "sound"
}

func verdictCell(v stats.Verdict, need int) Cell {
	c := Cell{Text: string(v), Kind: verdictKind(v)}
	switch {
	case v == "":
		return Cell{Text: "–", Kind: Faint, Title: "no SLO"}
	case c.Kind == Undecided && need > 0:
		c.Title = "needs " + unit.Count(need) + " more requests"
	}
	return c
}

func verdictKind(v stats.Verdict) Kind {
	switch v {
	case "":
		return Plain
	case stats.Pass:
		return Passed
	case stats.Fail:
		return Failed
	}
	return Undecided
}
