package report

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"

	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// table is what every renderer draws; nothing in it is escaped yet.
type table struct {
	id      string // anchor in the page
	caption string
	note    string // empty: none
	columns []column
	rows    [][]cell
}

type column struct {
	head string
	unit string // empty: none, or in the cells
	num  bool   // aligned to the right
	help string // the definition's anchor; empty: none
}

type cell struct {
	text  string
	title string // what lies behind the text
	kind  kind
	tag   string // a small remark beside the text
}

// kind is what a cell means; renderers may show it, but never in place of words.
type kind string

const (
	plain     kind = ""
	thin      kind = "thin"
	noBound   kind = "nobound"
	passed    kind = "pass"
	failed    kind = "fail"
	undecided kind = "undecided"
	faint     kind = "faint"
	code      kind = "code" // to be typed
)

func text(s string) cell { return cell{text: s} }

func count(n int) cell { return cell{text: unit.Count(n)} }

func absent() cell { return cell{text: "–", kind: faint} }

// units says where the unit of a latency stands.
type units bool

const (
	inHeading units = false // every latency in ms
	inCell    units = true  // each in the unit that fits
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

// percentile shows no more than its sample can carry.
func (u units) percentile(ps record.Percentiles, name string) cell {
	p, ok := ps.Get(name)
	if !ok {
		return absent()
	}
	c := cell{title: u.behind(p)}
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

// behind is the evidence of a percentile: value, interval, sample, repeats.
func (u units) behind(p record.Percentile) string {
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
			return "no end"
		}
		return inCell.ms(x)
	}
	return end(iv.Lo) + " to " + end(iv.Hi)
}

func gradeWords(g stats.Grade) string {
	switch g {
	case stats.NoBound:
		return "too few requests for a bound"
	case stats.Thin:
		return "thin: few requests lie beyond it"
	}
	return "sound"
}

func verdictCell(v stats.Verdict, need int) cell {
	c := text(string(v))
	switch v {
	case "":
		return cell{text: "–", kind: faint, title: "no SLO is stated"}
	case stats.Pass:
		c.kind = passed
	case stats.Fail:
		c.kind = failed
	default:
		c.kind = undecided
		if need > 0 {
			c.title = "need " + unit.Count(need) + " more requests"
		}
	}
	return c
}

// visible is untrusted text as one line that is safe to show.
func visible(s string) string { return safetext.Escape(s) }

// visibleLines is visible for text of several lines.
func visibleLines(s string) string { return safetext.EscapeLines(s) }

// hidden matches each character that visibleLines may change, as JSON writes it: as an escape, or as it is.
var hidden = regexp.MustCompile(`\\u[0-9a-f]{4}|\\.|[^\pL\pM\pN\pP\pS\p{Zs}]`)

// visibleJSON is JSON of which every text is as visibleLines has it.
func visibleJSON(s string) string {
	return hidden.ReplaceAllStringFunc(s, func(found string) string {
		var was string
		if json.Unmarshal([]byte(`"`+found+`"`), &was) != nil || visibleLines(was) == was {
			return found
		}
		return `\\` + visibleLines(was)[1:] // an escape begins with a backslash
	})
}
