package compare

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// onlyInvalid reports whether a change for the worse by more than limit is gone without the repeats that an invalid
// finding touches the figure of: the medians of the others do not show it, or a side has no other.
func (f figure) onlyInvalid(of [2][]sample, limit float64) bool {
	var medians [2]*float64
	some := false
	for side, samples := range of {
		valid := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool {
			return len(f.touching(s.row, record.Invalid)) > 0
		})
		some = some || len(valid) < len(samples)
		_, values := f.having(valid)
		medians[side] = median(values)
	}
	change := f.rawChange(medians[0], medians[1])
	return some && (change == nil || WorseBy(f.key, *change) <= limit)
}

func (m *Metric) regressed() bool {
	return m.Verdict == Worse && WorseBy(m.Name, *m.Change) > m.Threshold.Worse
}

// gate is the verdict on one figure, and why. A regression fails whatever else is wrong with the point. If it is
// seen only with rows that are invalid for this figure it is suspected: neither proven nor passed.
func (m *Metric) gate(p *Point) (x Case) {
	limit, invalid := m.Threshold.String(), p.stillInvalid()
	switch {
	case m.refused != "":
		x.Verdict, x.Why, x.Suspected = stats.Undecided, m.Describe()+list("invalid", invalid), m.gone != ""
		x.Failed = m.failed
	case m.regressed() && !m.onlyInvalid:
		x.Verdict = stats.Fail
		x.Why = "worse by more than " + limit + ": " + m.Describe() + list("invalid", invalid) +
			list("cautions of new", p.newCautions())
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
		if c.New {
			codes = union(codes, c.Codes)
		}
	}
	return codes
}
