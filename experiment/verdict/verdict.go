// Package verdict judges a measured row: whether its figures can be trusted, and which limits of its SLO it meets.
//
// Measured.Conclude summarizes the records, makes the checks, whose failures are findings with effects on figures,
// and decides each limit at both ends of what the findings leave possible. All is a function of the row's spec,
// records and samples: nothing here sends, reads a file or takes the time.
package verdict

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// confidence of a PASS or a FAIL: MLPerf LoadGen's.
const confidence = 0.99

// risk of a wrong verdict. Each longer repeat that a budget added has half the risk of the repeat before it.
func (e *Measured) risk() float64 { return (1 - confidence) / math.Exp2(float64(e.Spec.Added)) }

func decide(v *record.Verdict, verdict stats.Verdict, why string) {
	v.Verdict, v.Why = string(verdict), why
}

func (e *Measured) judgeLimit(q question, window []*record.Record, s *record.Summary, t experiment.Target) record.Verdict {
	l, own := q.limit, filter(window, q.about)
	v := record.Verdict{Metric: l.Key, Class: q.class, Limit: l.Value, Unit: l.Unit, Observed: len(own)}
	switch {
	case len(own) == 0:
		decide(&v, stats.Undecided, "no request in the window")
	case interrupted(own):
		decide(&v, stats.Undecided, "the row was interrupted")
	case l.Metric == "error_rate" && (l.Value == 0 || l.Value >= 1):
		judgeCertainErrors(&v, l, own)
	case l.Decidable():
		e.judgeRequests(&v, q, window)
		if q.class != "" && v.Need > 0 { // in requests of the row
			v.Need = int(math.Ceil(float64(v.Need) * float64(len(window)) / float64(len(own))))
			v.Why += fmt.Sprintf(" of class %s, %s in all", q.class, unit.Count(v.Need))
		}
	default:
		e.judgeFigure(&v, q, s, t)
	}
	return v
}

const atLook = "; look "

func (e *Measured) judgeRequests(v *record.Verdict, q question, window []*record.Record) {
	looks, k := stats.Looks{Risk: e.risk()}, 1
	if EndsEarly(&e.Spec) {
		for ; looks.At(k) < len(window); k++ {
			if e.judgeLook(v, q, window[:looks.At(k)], k) {
				v.Why += fmt.Sprintf("%s%d, after %s requests", atLook, k, unit.Count(looks.At(k)))
				return
			}
		}
		if e.Spec.Search == nil {
			e.judgeAt(v, q, window, looks.Confidence(k))
			return
		}
	}
	e.judgeAt(v, q, window, 1-e.risk())
}

// judgeLook decides at look k. A probe of a search ends only if the server does not keep up: a window that ends by
// its counts would count too much.
func (e *Measured) judgeLook(v *record.Verdict, q question, window []*record.Record, k int) bool {
	e.judgeAt(v, q, window, stats.Looks{Risk: e.risk()}.Confidence(k))
	if e.Spec.Search != nil {
		return v.Overload
	}
	return v.Verdict == string(stats.Fail) || v.Verdict == string(stats.Pass)
}

func (e *Measured) judgeAt(v *record.Verdict, q question, window []*record.Record, confidence float64) {
	l := q.limit
	window = filter(window, q.about)
	v.Value, v.Need, v.Observed, v.Effective, v.OpenedBy, v.Counts, v.Overload = nil, 0, len(window), 0, nil, nil, false
	o := observe(l, window, e.Spec.Streams())
	if l.Stat == "mean" {
		e.judgeMean(v, o, confidence)
		return
	}
	v.Value = o.value
	if o.onlyFailed() && e.Spec.Streams() && slices.ContainsFunc(window, timeUnknown) {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	if why := e.certainFail(o); why != "" {
		decide(v, stats.Fail, why)
		v.Overload = true
		return
	}
	if len(o.requests) == 0 {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	o.order.Bounded = e.Spec.Rate == 0 || l.Metric == "tpot" || l.Metric == "itl"
	o.plain = e.Spec.Rate.IsInf() || e.Spec.IsColdStart()
	v.Observed = len(o.requests)
	low, high := e.endsOf(l.Metric)
	if e.Spec.Search != nil {
		v.Counts = o.counts(&low, &high)
	}
	d := o.decide(confidence)
	n, allowed := len(o.requests), unit.Brief((1-o.p)*100, 3)
	why := fmt.Sprintf("%s of %d over the limit, %s %% allowed", unit.Brief(o.over, 4), n, allowed)
	switch {
	case l.Metric == "error_rate":
		why = fmt.Sprintf("%d of %d failed, %s %% allowed", o.failed, n, allowed)
	case l.Metric == "itl":
		why = fmt.Sprintf("%s %% of the gaps over the limit, %s %% allowed, counted by request", unit.Brief(100*o.over/float64(n), 3), allowed)
	}
	if o.failed > 0 && l.Metric != "error_rate" {
		why += fmt.Sprintf(" (%d of them %s)", o.failed, o.missing())
	}
	v.Effective = d.Effective
	decide(v, d.Verdict, why)
	if worth := max(1, math.Floor(d.Effective)); worth < 0.9*float64(len(o.requests)) {
		v.Why += fmt.Sprintf("; correlated: they count as %s", unit.Count(int(worth)))
	}
	switch {
	case d.Verdict == stats.Pass && !o.standsAt(&high, stats.Pass, confidence):
		o.openBy(v, &high)
	case d.Verdict == stats.Fail && !o.standsAt(&low, stats.Fail, confidence):
		o.openBy(v, &low)
	case d.Verdict == stats.Undecided:
		setNeed(v, d.Need)
		o.holdOpen(v, &low)
	}
}

const notMeasured = "not measured: no request has this metric"

func setNeed(v *record.Verdict, need int) {
	if v.Need = need; need > 0 {
		v.Why += fmt.Sprintf("; need %s more requests", unit.Count(need))
	}
}

func judgeCertainErrors(v *record.Verdict, l experiment.Limit, window []*record.Record) {
	failed := 0
	for _, r := range window {
		if !r.OK() {
			failed++
		}
	}
	v.Value = new(float64(failed) / float64(len(window)))
	switch {
	case l.Value >= 1:
		decide(v, stats.Pass, "every request may fail")
	case failed > 0:
		decide(v, stats.Fail, fmt.Sprintf("%d requests failed", failed))
	default:
		decide(v, stats.Pass, "no request failed")
	}
}
