package series

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/experiment/unit"
)

// gentleStep is the next probe of a gentle search: at twice the highest load so far, up to the highest gentle one.
// There three are long enough for a verdict.
func (t *Twin) gentleStep(k *experiment.Search, rows []*record.Row, shown []stats.Probe) (stats.Step, bool) {
	const further, near, enough, blind = 1.15, 0.65, 3, 3
	if t == nil && len(rows) >= blind { // nobody knows what a higher load does
		return stats.Step{}, false
	}
	s, last := k.Algorithm(), highest(k, rows)
	top := t.gentlest(k, rows, shown, min(2*last, k.Max))
	if top >= further*last {
		return s.At(shown, k.Pace(), s.Round(top, false), false)
	}
	step, more := s.At(shown, k.Pace(), top, true)
	n := 0
	for i, p := range shown {
		if p.Load >= near*top && time.Duration(rows[i].Spec.Duration).Seconds() >= step.Window/2 {
			n++
		}
	}
	step.Load = s.Round(max(k.Min, top*[...]float64{1, 0.7}[n%2]), false)
	return step, more && n < enough && top >= k.Min
}

// gentlest is the highest load up to most that no limit is near to, and at which in 19 of 20 moments less than half of
// the sequences run, with those of others; nil has no model: requests in flight are then as many as the load asks.
func (t *Twin) gentlest(k *experiment.Search, rows []*record.Row, shown []stats.Probe, most float64) float64 {
	const share, part, deviations = 0.5, 0.45, 1.645
	others, each := 0.0, 0.0 // requests in flight: of other clients, and for each request/s
	for i, r := range rows {
		if r.Little != nil {
			each = max(each, r.Little.InFlight/shown[i].Load)
			if m := r.Server.Metrics; m != nil && m.Running != nil {
				others = max(others, math.Floor(m.Running.Mean-r.Little.InFlight))
			}
		}
		if shown[i].Verdict == stats.Fail {
			most = min(most, share*shown[i].Load)
		}
	}
	root := (math.Sqrt(deviations*deviations+4*max(0, part*float64(k.Slots)-others)) - deviations) / 2
	inFlight := root * root // mean of a Poisson number
	if t == nil {
		return min(most, inFlight/each)
	}
	if best := t.answer.Best; t.loads() > 1 && !math.IsInf(best, 1) { // that of one load is no answer
		most = min(most, share*best)
	}
	for range 20 {
		at := t.model.At(twin.Question{Source: t.source, Requests: settled}, most)
		if most < k.Min || at.InFlight <= inFlight && at.Tokens <= part*t.cache() {
			break
		}
		most *= 0.9
	}
	return most
}

const settled = 4_000 // requests that show a mean

// cache is the tokens of the KV cache; +Inf: not reported.
func (t *Twin) cache() float64 {
	if m := t.rows[0].Server.Metrics; m != nil && m.KVCapacity != nil {
		return *m.KVCapacity
	}
	return math.Inf(1)
}

// fullCache is why the extrapolation ends before the twin's limit; empty: it does not.
func (t *Twin) fullCache(q twin.Question) string {
	const full, deviations = 0.9, 2
	if q.Requests = settled; t.answer.Best == 0 || math.IsInf(t.answer.Best, 1) {
		return ""
	}
	at := t.model.At(q, t.answer.Best)
	if at.Tokens*(1+deviations/math.Sqrt(max(1, at.InFlight))) <= full*t.cache() {
		return ""
	}
	return fmt.Sprintf("the KV cache of %s tokens would be full before %s, where the twin has the limit",
		unit.Count(int(t.cache())), LoadText(t.search, t.answer.Best))
}

// beyondText is what the answer of a gentle search rests on, or why it has none.
func (t *Twin) beyondText(f *record.Found) string {
	switch {
	case f.Best != nil && f.ProbedUpTo < *f.Best:
		return ", extrapolated from " + LoadText(&f.Search, f.ProbedUpTo)
	case f.Best != nil:
		return ""
	}
	_, why := t.bracket(&f.Search, f.Bracket)
	return "; no estimate beyond the probes: " + cmp.Or(why, "its interval is too wide")
}
