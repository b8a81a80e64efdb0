package series

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
)

// Narrow gives limits that rows leave UNDECIDED the interval of their series' twin at that load, and the verdict that
// follows from it. The twin ran on the rows' own arrivals, so that their luck is in neither. It decides nothing against
// a row's own value, where it misses or lacks one of the repeats, or where requests failed, which it does not know.
func Narrow(rows []record.Row, twins []record.Twin) {
	for i := range twins {
		t := &twins[i]
		if t.Rejected != "" {
			continue
		}
		byLoad := map[float64][]*record.Row{}
		for j := range rows {
			s := &rows[j].Spec
			axis, others := experiment.LoadAxis(s)
			if t.Name == s.Name && t.Axis == axis && slices.Equal(t.Others, others) {
				byLoad[loadOf(s)] = append(byLoad[loadOf(s)], &rows[j])
			}
		}
		for load, repeats := range byLoad {
			if (t.Low == nil || load > *t.Low) && (t.High == nil || load < *t.High) && t.Bracket != (stats.Bracket{}) {
				continue
			}
			longest := 0 // what longer repeats answer is theirs
			for _, r := range repeats {
				longest = max(longest, r.Spec.Added)
			}
			for _, r := range repeats {
				if r.Spec.Added < longest || r.Summary.Requests.Failed > 0 {
					continue
				}
				r.SLO = slices.Clone(r.SLO)
				for k := range r.SLO {
					if v := &r.SLO[k]; knows(t, v.Metric, load, len(repeats)) {
						narrow(v, t, load)
					}
				}
			}
		}
	}
}

// ByTwin reports whether the verdict is the twin's, of a limit at least.
func (p *Point) ByTwin() bool {
	return p.SLO != stats.Undecided && slices.ContainsFunc(p.Limits, func(v record.Verdict) bool { return v.Twin })
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
	own := "none"
	if v.Interval != nil {
		own = verdict.EndsText(*v.Interval)
	}
	*v = record.Verdict{Metric: v.Metric, Limit: v.Limit, Unit: v.Unit, Value: v.Value, Verdict: word, Interval: &iv,
		Confidence: v.Confidence, Observed: v.Observed, Twin: true, Why: fmt.Sprintf(
			"%s ms by the twin of all loads; by its own requests alone %s", verdict.EndsText(iv), own)}
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
