package report

import (
	"slices"

	"bench/experiment/stats"
	"bench/report/compare"
)

// sloChanges are facts of the runs: near a limit two equal runs can differ so.
func sloChanges(c *compare.Comparison) (out []string) {
	for _, x := range []struct {
		base, changed stats.Verdict
		proof         compare.Verdict // of a figure that the SLO limits
	}{{stats.Pass, stats.Fail, compare.Worse}, {stats.Fail, stats.Pass, compare.Better}} {
		var names []string
		proven := false
		for i := range c.Points {
			p := &c.Points[i]
			if p.Refused || p.BaseSLO != x.base || p.NewSLO != x.changed {
				continue
			}
			names = append(names, p.Name)
			proven = proven || limitedIs(p, x.proof)
		}
		if len(names) == 0 {
			continue
		}
		text := "SLO " + string(x.base) + " → " + string(x.changed) + " at " + andMorePoints(names)
		if !proven {
			text += " (no limited figure is proven " + string(x.proof) + ")"
		}
		out = append(out, text)
	}
	return out
}

func limitedIs(p *compare.Point, v compare.Verdict) bool {
	is := func(m compare.Metric) bool { return m.Limited && m.Verdict == v }
	return slices.ContainsFunc(p.Metrics, is) ||
		slices.ContainsFunc(p.Classes, func(c compare.Class) bool { return slices.ContainsFunc(c.Metrics, is) })
}
