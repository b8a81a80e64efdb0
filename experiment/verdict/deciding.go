package verdict

import (
	"cmp"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Deciding returns the limit that keeps the rows from a PASS: the most exceeded, one that a finding leaves open, or the
// one with the largest need.
func Deciding(rows ...*record.Row) (v record.Verdict, ok bool) {
	overall, _ := OfRows(rows...)
	if overall != stats.Fail && overall != stats.Undecided {
		return v, false
	}
	for c := range standing(rows) {
		if c.Verdict == stats.Pass || (c.Verdict == stats.Fail) != (overall == stats.Fail) {
			continue
		}
		opened := cmp.Compare(min(1, len(c.OpenedBy)), min(1, len(v.OpenedBy)))
		if !ok || cmp.Or(opened, cmp.Compare(c.Need, v.Need), cmp.Compare(excess(c), excess(v))) > 0 {
			v, ok = c, true
		}
	}
	return v, ok
}

// NeedText is what decides a limit: "needs 90 s more at this load"; empty if nothing is known to.
func NeedText(v *record.Verdict) string {
	switch {
	case v.Need <= 0:
		return ""
	case v.NeedS > 0:
		return "needs " + unit.Format(v.NeedS, "s") + " more at this load"
	}
	return "needs " + unit.Count(v.Need) + " more requests"
}

func excess(v record.Verdict) float64 {
	switch {
	case v.Value == nil:
		return math.Inf(1)
	case atLeast(v):
		return v.Limit / *v.Value
	}
	return *v.Value / v.Limit
}

func atLeast(v record.Verdict) bool { return strings.HasPrefix(v.Metric, "min_") }

func ShortReason(v record.Verdict) string {
	switch {
	case v.Verdict == stats.Fail && Beyond(&v):
		_, look, _ := strings.Cut(v.Why, atLook)
		_, after, _ := strings.Cut(look, ", ")
		return strings.TrimSpace(MissText(&v) + " " + after)
	case v.Verdict == stats.Fail:
		return MissText(&v)
	}
	name, lean, need := LimitName(v.Metric, v.Class), Lean(&v), NeedText(&v)
	switch {
	case lean != "" && need != "":
		return name + " " + lean + ", " + need
	case lean == "" && need == "":
		return name + " undecided"
	}
	return name + " " + lean + need
}
