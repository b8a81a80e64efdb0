package compare

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// untouched are the repeats of both sides in rows that no invalid finding touches the figure of.
type untouched struct {
	runs  [2][][]stats.Repeat
	pairs [2][]stats.Repeat // nil: the figure is not tested in pairs
}

func (m *Metric) withoutTouched(p pair, of [2][]sample, base, changed []stats.Repeat) *untouched {
	var out untouched
	some := false
	touched := func(s *sample) bool { return len(m.figure.touching(s.row, record.Invalid)) > 0 }
	for side, repeats := range [2][]stats.Repeat{base, changed} {
		var samples []sample
		var kept []stats.Repeat
		for i := range of[side] {
			if touched(&of[side][i]) {
				some = true
				continue
			}
			samples, kept = append(samples, of[side][i]), append(kept, repeats[i])
		}
		out.runs[side] = p.byRun(samples, kept)
	}
	if !some {
		return nil
	}
	if m.paired[0] != nil {
		out.pairs = pairsOf(of, base, changed, touched)
	}
	return &out
}

func (m *Metric) regressed() bool {
	return m.Verdict == Worse && WorseBy(m.Name, *m.Change) > m.Threshold.Worse
}

// proven reports whether a regression remains without the rows whose value can be wrong.
func (m *Metric) proven() bool {
	if m.untouched == nil {
		return true
	}
	c := stats.CompareRuns(m.untouched.runs[0], m.untouched.runs[1], m.nights, m.runSpread)
	if m.paired[0] != nil {
		c = stats.ComparePairs(m.untouched.pairs[0], m.untouched.pairs[1])
	}
	tests := 1.0 // that Holm counted for this figure
	if *m.P > 0 {
		tests = *m.Adjusted / *m.P
	}
	return c.P*tests <= risk && WorseBy(m.Name, m.figure.change(c.Difference)) > m.Threshold.Worse
}

// gate is the verdict on one figure, and why. A regression fails whatever else is wrong with the point. If it is
// seen only with rows that are invalid for this figure it is suspected: neither proven nor passed.
func (m *Metric) gate(p *Point) (x Case) {
	limit, invalid := m.Threshold.String(), p.stillInvalid()
	switch {
	case m.refused != "":
		x.Verdict, x.Why, x.Suspected = stats.Undecided, m.Describe()+list("invalid", invalid), m.gone != ""
		x.Failed = m.failed
	case m.regressed() && m.proven():
		x.Verdict = stats.Fail
		x.Why = "worse by more than " + limit + ": " + m.Describe() + list("invalid", invalid) + list("cautions of new", p.newCautions())
	case m.regressed():
		x.Verdict, x.Suspected = stats.Undecided, true
		x.Why = "worse by more than " + limit + " only with invalid rows: " + m.Describe() + list("invalid", invalid)
	case len(invalid) > 0:
		x.Verdict, x.Why, x.Invalid = stats.Undecided, m.Describe()+list("invalid", invalid), p.newInvalid()
		x.Suspected = x.Invalid != nil
	case m.NoWorseThan != nil && *m.NoWorseThan < m.Threshold.Worse:
		x.Verdict, x.Why = stats.Pass, "not worse than "+limit+": "+m.Describe()
	default:
		x.Verdict, x.Why = stats.Undecided, m.Describe()
	}
	return x
}

func list(what string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "; " + what + ": " + strings.Join(items, ", ")
}

// newInvalid are the codes of the rows of new, if none is valid: the night has not measured the point. nil: one is.
func (p *Point) newInvalid() (codes []string) {
	n := 0
	for _, x := range p.Invalid {
		if x.New {
			n, codes = n+1, union(codes, x.Codes)
		}
	}
	if n < p.NewRepeats {
		return nil
	}
	return codes
}

func (p *Point) stillInvalid() (out []string) {
	for _, x := range p.Invalid {
		if !x.LeftOut {
			out = append(out, fmt.Sprintf("%s of %s (%s)", x.Row, x.Run, strings.Join(x.Codes, ", ")))
		}
	}
	return out
}

func (p *Point) newCautions() (codes []string) {
	for _, c := range p.Cautions {
		for _, code := range c.Codes {
			if c.New && !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
	}
	return codes
}
