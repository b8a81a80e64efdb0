package series

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
)

// Narrow gives limits that rows of a fixed load leave UNDECIDED the interval of their series' twin at that load, and
// the verdict that follows from it. The twin ran on the row's own arrivals, so that their luck is in neither; its
// interval is of 95 %. It decides nothing against the row's own value, nor for a row that it misses or that was
// disturbed. The probes of a search stay as they are: its answer has the twin already.
func Narrow(rows []record.Row, twins []record.Twin) {
	for i := range rows {
		r := &rows[i]
		t := twinOf(r, twins)
		if t == nil {
			continue
		}
		r.SLO = slices.Clone(r.SLO)
		for j := range r.SLO {
			narrow(&r.SLO[j], t, loadOf(&r.Spec))
		}
	}
}

func loadOf(s *experiment.Spec) float64 {
	if s.Closed() {
		return float64(s.Concurrency)
	}
	return float64(s.Rate)
}

// twinOf is the accepted twin of a row that it may decide; nil: none is.
func twinOf(r *record.Row, twins []record.Twin) *record.Twin {
	if r.Spec.Search != nil || !r.Valid() {
		return nil
	}
	axis, others := experiment.LoadAxis(&r.Spec)
	for i := range twins {
		t := &twins[i]
		if t.Name == r.Spec.Name && t.Axis == axis && slices.Equal(t.Others, others) && t.Rejected == "" &&
			!slices.ContainsFunc(t.Disturbed, func(d record.Disturbed) bool { return d.Row == r.ID }) {
			return t
		}
	}
	return nil
}

// knows reports whether the twin has a row's percentile, and whether all rows together would have shown a slow state
// that it lacks and that this percentile has.
func knows(t *record.Twin, key string, load float64) bool {
	const mostResidual, unseen = 0.15, 0.01 // of ln(percentile); probability
	found, requests := false, 0
	for _, r := range t.Residuals {
		if r.Metric != key {
			continue
		}
		if requests += r.N; r.Load == load {
			if found = math.Abs(r.Log) <= mostResidual; !found {
				return false
			}
		}
	}
	_, stat := metric.Cut(key)
	p, _ := stat.P()
	return found && math.Pow(p, float64(requests)) <= unseen
}

func narrow(v *record.Verdict, t *record.Twin, load float64) {
	const confidence = 0.95 // of the twin's intervals
	if v.Verdict != stats.Undecided || v.Value == nil || v.Class != "" || v.Confidence > confidence ||
		len(v.OpenedBy) > 0 || !knows(t, v.Metric, load) {
		return
	}
	at := slices.IndexFunc(t.Curve, func(p record.TwinPoint) bool { return p.Load == load && p.Metric == v.Metric })
	if at < 0 {
		return
	}
	iv := stats.Interval{Lo: min(t.Curve[at].Low, *v.Value), Hi: max(t.Curve[at].High, *v.Value)}
	switch {
	case iv.Hi <= v.Limit:
		v.Verdict = stats.Pass
	case iv.Lo > v.Limit:
		v.Verdict = stats.Fail
	default:
		return
	}
	own := "none"
	if v.Interval != nil {
		own = verdict.EndsText(*v.Interval)
	}
	v.Why = fmt.Sprintf("%s ms by the twin of all loads; by its own requests alone %s", verdict.EndsText(iv), own)
	v.Interval, v.Within, v.Need, v.NeedS = &iv, nil, 0, 0
}
