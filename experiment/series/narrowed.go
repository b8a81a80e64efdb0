package series

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Narrow gives limits that rows leave UNDECIDED the verdict that all rows of their series show: first that of a higher
// load that passes, then that of their twin's interval at the load, and below a PASS of the twin that PASS.
func Narrow(rows []record.Row, twins []record.Twin) {
	for i := range rows {
		rows[i].SLO = slices.Clone(rows[i].SLO)
	}
	passBelow(rows)
	narrowByTwins(rows, twins)
	passBelow(rows)
}

// narrowByTwins judges by twins, which ran on the rows' own arrivals, so that their luck is in neither. They decide
// nothing against a row's own value, where they miss or lack one of the repeats, or where requests failed, which they
// do not know, nor at loads in their interval of the operating point.
func narrowByTwins(rows []record.Row, twins []record.Twin) {
	for i := range twins {
		t := &twins[i]
		if t.Rejected != "" {
			continue
		}
		byLoad := map[float64][]*record.Row{} // that the twin is of
		for j := range rows {
			s := &rows[j].Spec
			axis, others := experiment.LoadAxis(s)
			if t.Name == s.Name && t.Axis == axis && slices.Equal(t.Others, others) {
				byLoad[loadOf(s)] = append(byLoad[loadOf(s)], &rows[j])
			}
		}
		for load, repeats := range byLoad {
			if o := t.Operating; o != nil && load > o.Lo && load < o.Hi {
				continue
			}
			for _, r := range longest(repeats) {
				if r.Summary.Requests.Failed > 0 {
					continue
				}
				for k := range r.SLO {
					if v := &r.SLO[k]; knows(t, v.Metric, load, len(repeats)) {
						narrow(v, t, load)
					}
				}
			}
		}
	}
}

// passBelow gives the UNDECIDED limits of rows the PASS of the next higher load that has one: neither a latency nor the
// share of failed requests falls with the load. Its upper end holds for them, too.
func passBelow(rows []record.Row) {
	_, workloads := grouped(rows, workloadOf)
	for _, w := range workloads {
		byLoad := map[float64][]*record.Row{}
		for _, r := range w {
			byLoad[loadOf(&r.Spec)] = append(byLoad[loadOf(&r.Spec)], r)
		}
		loads := slices.Sorted(maps.Keys(byLoad))
		for i, load := range loads {
			for _, r := range longest(byLoad[load]) {
				for k := range r.SLO {
					follow(&r.SLO[k], loads[i+1:], byLoad)
				}
			}
		}
	}
}

func follow(v *record.Verdict, higher []float64, byLoad map[float64][]*record.Row) {
	if _, stat := metric.Cut(v.Metric); v.Verdict != stats.Undecided || v.Value == nil || *v.Value > v.Limit ||
		v.Interval == nil || len(v.OpenedBy) > 0 || stat == "" && v.Metric != metric.ErrorRate {
		return
	}
	for _, load := range higher {
		word, end := onLimit(byLoad[load], v)
		if word == stats.Pass {
			*v = narrowed(v, word, stats.Interval{Lo: v.Interval.Lo, Hi: min(v.Interval.Hi, end)},
				"passes at the higher load "+unit.Brief(load, 4))
			v.Higher = load
		}
		if word != stats.Undecided {
			return
		}
	}
}

// narrowed is the verdict on a limit by more than a row's own requests.
func narrowed(v *record.Verdict, word stats.Verdict, iv stats.Interval, why string) record.Verdict {
	own := "none"
	if v.Interval != nil {
		own = verdict.EndsText(*v.Interval)
	}
	return record.Verdict{Metric: v.Metric, Class: v.Class, Limit: v.Limit, Unit: v.Unit, Value: v.Value, Verdict: word,
		Interval: &iv, Confidence: v.Confidence, Observed: v.Observed, Why: why + "; by its own requests alone " + own}
}

// onLimit is PASS if the longest repeats of a load pass a limit, with intervals that a lower load's value is not above,
// whose highest end is returned; FAIL if one fails it, or none can tell.
func onLimit(repeats []*record.Row, lower *record.Verdict) (word stats.Verdict, end float64) {
	word = stats.Pass
	long := longest(repeats)
	for _, r := range repeats {
		k := slices.IndexFunc(r.SLO, func(v record.Verdict) bool { return record.SameLimit(v, *lower) })
		if k < 0 || !r.Valid() || r.SLO[k].Verdict == stats.Fail {
			return stats.Fail, 0
		}
		if own := &r.SLO[k]; slices.Contains(long, r) {
			if own.Verdict != stats.Pass || own.Interval == nil || *lower.Value > own.Interval.Hi {
				word = stats.Undecided
				continue
			}
			end = max(end, own.Interval.Hi)
		}
	}
	return word, end
}

// ByTwin reports whether the verdict is the twin's, of a limit at least.
func (p *Point) ByTwin() bool {
	return p.SLO != stats.Undecided && slices.ContainsFunc(p.Limits, func(v record.Verdict) bool {
		return v.Twin && v.Verdict == p.SLO
	})
}

// ByHigherLoad reports whether the point has the PASS of a higher load, for a limit at least.
func (p *Point) ByHigherLoad() bool {
	return p.SLO == stats.Pass && !p.ByTwin() &&
		slices.ContainsFunc(p.Limits, func(v record.Verdict) bool { return v.Higher > 0 })
}

func loadOf(s *experiment.Spec) float64 {
	if s.Closed() {
		return float64(s.Concurrency)
	}
	return float64(s.Rate)
}

// knows reports whether the twin has the percentile of all repeats at a load, and whether all rows together would have
// shown a slow state that it lacks and that the percentile has.
func knows(t *record.Twin, key string, load float64, repeats int) bool {
	const unseen = 0.01 // probability
	requests := 0
	for _, r := range t.Residuals {
		if r.Metric != key {
			continue
		}
		if requests += r.N; r.Load == load && r.Reproduced() {
			repeats--
		}
	}
	_, stat := metric.Cut(key)
	p, _ := stat.P()
	return repeats == 0 && math.Pow(p, float64(requests)) <= unseen
}

func narrow(v *record.Verdict, t *record.Twin, load float64) {
	const most = 0.975 // of confidence; longer repeats have it
	at := slices.IndexFunc(t.Curve, func(p record.TwinPoint) bool { return p.Load == load && p.Metric == v.Metric })
	if v.Verdict != stats.Undecided || v.Value == nil || v.Class != "" || v.Confidence > most ||
		len(v.OpenedBy) > 0 || at < 0 {
		return
	}
	p := &t.Curve[at]
	iv := stats.Interval{Lo: min(atConfidence(p.Ms, p.Low, v.Confidence), *v.Value),
		Hi: max(atConfidence(p.Ms, p.High, v.Confidence), *v.Value)}
	widest := disturbedAs(v, iv)
	word := stats.Pass
	switch {
	case widest.Lo > v.Limit:
		word = stats.Fail
	case !(widest.Hi <= v.Limit):
		return
	}
	*v = narrowed(v, word, iv, verdict.EndsText(iv)+" ms by the twin of all loads")
	v.Twin = true
	if widest != iv {
		v.Disturbed = &widest
	}
}

// atConfidence is an end of the twin's interval of 95 %, moved to another confidence as of a normal logarithm; a lower
// one leaves it.
func atConfidence(estimate, end, confidence float64) float64 {
	z := func(c float64) float64 { return distuv.UnitNormal.Quantile((1 + c) / 2) }
	return estimate * math.Pow(end/estimate, max(1, z(confidence)/z(0.95)))
}

// disturbedAs widens an interval as a verdict's own is by the effects of findings; what an open end does not show is as
// much as at the other one.
func disturbedAs(v *record.Verdict, iv stats.Interval) stats.Interval {
	if v.Disturbed == nil || v.Interval == nil {
		return iv
	}
	below, above := v.Interval.Lo/v.Disturbed.Lo, v.Disturbed.Hi/v.Interval.Hi
	if math.IsInf(v.Interval.Hi, 0) {
		above = below
	}
	if !(below >= 1 && above >= 1) {
		return stats.Interval{Lo: 0, Hi: math.Inf(1)}
	}
	return stats.Interval{Lo: iv.Lo / below, Hi: iv.Hi * above}
}
