package report

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// table is what every renderer draws. Its texts are not escaped.
type table struct {
	id      string // anchor in the page
	caption string
	note    string // empty: none
	columns []column
	rows    [][]cell
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

type column struct {
	head string
	unit string // empty: none, or in the cells
	num  bool   // aligned to the right
	help string // id of a definition; empty: none
}

type cell struct {
	text  string
	title string // tooltip: the evidence behind the text
	kind  kind
	tag   string // a short remark beside the text
}

// kind is the meaning of a cell. A renderer may colour it, but the text says the same.
type kind string

const (
	plain     kind = ""
	thin      kind = "thin"
	noBound   kind = "nobound"
	passed    kind = "pass"
	failed    kind = "fail"
	undecided kind = "undecided"
	faint     kind = "faint"
	code      kind = "code" // a command
)

func text(s string) cell { return cell{text: s} }

func count(n int) cell { return cell{text: unit.Count(n)} }

func absent() cell { return cell{text: "–", kind: faint} }

// units is the place of a latency's unit.
type units bool

const (
	inHeading units = false // every latency in ms
	inCell    units = true  // each in its own unit
)

func (u units) head() string {
	if u == inCell {
		return ""
	}
	return "ms"
}

func (u units) ms(x float64) string {
	if u == inCell {
		return unit.Format(x, "ms")
	}
	return unit.Digits(x)
}

// percentile shows a percentile with the mark of its grade: ~ thin, ≥ a lower bound, n= no bound at all.
func (u units) percentile(ps record.Percentiles, name string) cell {
	p, ok := ps.Get(name)
	if !ok {
		return absent()
	}
	c := cell{title: evidenceOf(p)}
	mark, x, ok := p.Mark()
	c.text = mark + u.ms(x)
	switch p.Grade {
	case stats.NoBound:
		c.kind = noBound
		if !ok {
			c.text = "n=" + unit.Count(p.N)
		}
	case stats.Thin:
		c.kind = thin
	}
	return c
}

// evidenceOf is the tooltip of a percentile: value, interval, sample, repeats.
func evidenceOf(p record.Percentile) string {
	s := fmt.Sprintf("%s %s, 95 %% interval %s, n=%s, %s", p.Name, inCell.ms(p.Median), interval(p.CI95), unit.Count(p.N), gradeWords(p.Grade))
	if len(p.Values) > 1 {
		var each []string
		for _, v := range p.Values {
			each = append(each, inCell.ms(v))
		}
		s += fmt.Sprintf("; median of %d repeats: %s", len(p.Values), strings.Join(each, ", "))
	}
	return s
}

func interval(iv stats.Interval) string {
	end := func(x float64) string {
		if math.IsInf(x, 0) {
			return "unbounded"
		}
		return inCell.ms(x)
	}
	return end(iv.Lo) + " to " + end(iv.Hi)
}

func gradeWords(g stats.Grade) string {
	switch g {
	case stats.NoBound:
		return "n too small for an upper bound"
	case stats.Thin:
		return "thin: few requests beyond it"
	}
	return "sound"
}

func verdictCell(v stats.Verdict, need int) cell {
	c := text(string(v))
	switch v {
	case "":
		return cell{text: "–", kind: faint, title: "no SLO"}
	case stats.Pass:
		c.kind = passed
	case stats.Fail:
		c.kind = failed
	default:
		c.kind = undecided
		if need > 0 {
			c.title = "needs " + unit.Count(need) + " more requests"
		}
	}
	return c
}
