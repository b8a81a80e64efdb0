// Package verdict judges a measured row: which limits of its SLO it meets.
//
// Measured.Conclude summarizes the records, has the row checked (package check), and decides each limit at both ends of
// what the findings leave possible. All is a function of the row's spec, records and samples: nothing here sends, reads
// a file or takes the time.
package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// risk of a wrong verdict. Each longer repeat that a budget added has half the risk of the repeat before it.
func (e *Measured) risk() float64 { return (1 - e.Spec.SLO.At()) / math.Exp2(float64(e.Spec.Added)) }

func decide(v *record.Verdict, verdict stats.Verdict, why string) {
	v.Verdict, v.Why = verdict, why
}

func (e *Measured) judgeLimit(q question, window []*record.Record, s *record.Summary,
	t experiment.Target) record.Verdict {
	l, own := q.limit, filter(window, q.about)
	v := record.Verdict{Metric: l.Key, Class: q.class, Limit: l.Value, Unit: l.Unit, Observed: len(own)}
	switch {
	case len(own) == 0:
		decide(&v, stats.Undecided, "no request in the window")
	case slices.ContainsFunc(own, func(r *record.Record) bool { return r.Outcome == "cancelled" }):
		decide(&v, stats.Undecided, "the row was interrupted")
	case l.Metric == "error_rate" && (l.Value == 0 || l.Value >= 1):
		judgeCertainErrors(&v, l, own)
	case l.Decidable():
		e.judgeRequests(&v, q, window)
		if v.Need > 0 {
			// some lack the metric
			v.Need = int(math.Ceil(float64(v.Need) * float64(len(own)) / float64(max(1, v.Observed))))
			v.NeedS = float64(v.Need) * record.ArrivalsUs(own) / 1e6 / float64(max(1, len(own)-1))
		}
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
	if v.Overload || e.Spec.Search != nil {
		return v.Overload
	}
	return v.Verdict != stats.Undecided && (q.limit.Metric == "error_rate" || showsStays(window))
}

// showsStays reports whether a window is several times as long as the longest stay of its requests: a server that still
// fills up is faster than it will be.
func showsStays(window []*record.Record) bool {
	const stays = 5
	longest := 0.0
	for _, r := range window {
		if ms, ok := r.Latency("e2e_from_send", true); ok {
			longest = max(longest, ms)
		}
	}
	return record.ArrivalsUs(window) >= stays*longest*record.UsPerMs
}

func (e *Measured) judgeAt(v *record.Verdict, q question, window []*record.Record, confidence float64) {
	l := q.limit
	window = filter(window, q.about)
	*v = record.Verdict{Metric: v.Metric, Class: v.Class, Limit: v.Limit, Unit: v.Unit, Observed: len(window),
		Confidence: confidence}
	low, high := endsOf(e.effects, l.Metric, q.class)
	o := e.observe(l, window, asMeasured)
	if l.Stat == "mean" {
		e.judgeMean(v, o, confidence)
		return
	}
	v.Value = o.value
	if len(o.requests) == 0 || l.Metric != "error_rate" && o.failed == len(o.requests) && e.Spec.Streams() &&
		slices.ContainsFunc(window, check.TimeUnknown) {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	lowest, highest := o.at(e, window, &low), o.at(e, window, &high)
	if why := e.certainFail(o, lowest); why != "" {
		decide(v, stats.Fail, why)
		v.Overload = true
		return
	}
	v.Observed = len(o.requests)
	e.judgeInterval(v, o, lowest, highest, confidence, &low, &high)
}

// judgeInterval: a verdict holds if it is the same at the end that speaks against it.
func (e *Measured) judgeInterval(v *record.Verdict, o, lowest, highest *observed, confidence float64, low, high *end) {
	d := o.decide(confidence)
	v.Interval, v.Effective = &d.Interval, o.order.Effective(o.p)
	decide(v, d.Verdict, intervalText(v)+o.counted())
	atLow, atHigh := d, d
	if lowest != o {
		atLow = lowest.decide(confidence)
	}
	if highest != o {
		atHigh = highest.decide(confidence)
	}
	if lowest != o || highest != o {
		v.Disturbed = &stats.Interval{Lo: min(d.Interval.Lo, atLow.Interval.Lo),
			Hi: max(d.Interval.Hi, atHigh.Interval.Hi)}
	}
	switch {
	case d.Verdict == stats.Pass && atHigh.Verdict != stats.Pass:
		openBy(v, high)
		v.Why += highest.valueText(v)
	case d.Verdict == stats.Fail && atLow.Verdict != stats.Fail:
		openBy(v, low)
		v.Why += lowest.valueText(v)
	case d.Verdict == stats.Undecided:
		v.Within = &d.Within
		if lean := Lean(v); lean != "" {
			v.Why += "; " + lean
		}
		setNeed(v, d.Need)
		o.holdOpen(v, lowest, low)
	}
}

func (o *observed) counted() string {
	n, allowed := len(o.requests), unit.Brief((1-o.p)*100, 3)
	why := fmt.Sprintf("%s of %d over the limit, %s %% allowed", unit.Brief(o.over, 4), n, allowed)
	switch {
	case o.limit.Metric == "error_rate":
		why = fmt.Sprintf("%d of %d failed, %s %% allowed", o.failed, n, allowed)
	case o.limit.Metric == "itl":
		why = fmt.Sprintf("%s %% of the gaps over the limit, %s %% allowed", unit.Brief(100*o.over/float64(n), 3),
			allowed)
	}
	if o.failed > 0 && o.limit.Metric != "error_rate" {
		why += fmt.Sprintf(" (%d of them %s)", o.failed, o.missing())
	}
	return why
}

// intervalText is the estimate with its interval: "p95 31.2 ms [30.1, 33]; ".
func intervalText(v *record.Verdict) string {
	if v.Interval == nil || v.Unit == "share" {
		return ""
	}
	_, stat := metric.Cut(v.Metric)
	value, ends := Estimate(v)
	return string(stat) + " " + value + " " + ends + "; "
}

// Estimate is the value, and its interval in the same unit: "1.2 s", "[1.1, 1.35]".
func Estimate(v *record.Verdict) (value, ends string) {
	if v.Value == nil {
		return "∞", EndsText(*v.Interval)
	}
	scale := unit.Scale(*v.Value, v.Unit)
	return unit.Format(*v.Value, unitWords(v.Unit)),
		EndsText(stats.Interval{Lo: scale * v.Interval.Lo, Hi: scale * v.Interval.Hi})
}

const notMeasured = "not measured: no request has this metric"

func setNeed(v *record.Verdict, need int) {
	if v.Need = need; need > 0 {
		v.Why += fmt.Sprintf("; needs %s more requests", unit.Count(need))
	}
}

// Leaning is the probability from which an open verdict leans.
const Leaning = 0.8

// Lean is what an UNDECIDED verdict looks like: "likely PASS (p = 0.93)"; empty without a lean.
func Lean(v *record.Verdict) string {
	switch {
	case v.Within == nil:
		return ""
	case *v.Within >= Leaning:
		return "likely PASS (" + Probability(*v.Within) + ")"
	case *v.Within <= 1-Leaning:
		return "likely FAIL (" + Probability(1-*v.Within) + ")"
	}
	return ""
}

// Probability is "p = 0.93".
func Probability(p float64) string {
	if p > 0.99 {
		return "p > 0.99"
	}
	return fmt.Sprintf("p = %.2f", p)
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

func (e *Measured) judgeMean(v *record.Verdict, o *observed, confidence float64) {
	l := o.limit
	switch {
	case o.failed > 0:
		decide(v, stats.Fail, fmt.Sprintf("%d requests %s, and rank as infinite: the mean has no value", o.failed,
			o.missing()))
		return
	case len(o.values) == 0:
		decide(v, stats.Undecided, notMeasured)
		return
	}
	interval := func(values []float64) stats.Interval {
		return stats.MeanInterval(values, confidence, rand.New(rand.NewPCG(record.Seed, 2)))
	}
	n, mean, iv := len(o.values), stat.Mean(o.values, nil), interval(o.values)
	v.Value, v.Observed, v.Interval = &mean, n, &iv
	decide(v, iv.Against(l.Value), fmt.Sprintf("mean %s ms %s (%s %%, n=%d)", unit.Brief(mean, 4), EndsText(iv),
		unit.Brief(100*confidence, 4), n))
	low, high := endsOf(e.effects, l.Metric, v.Class)
	switch {
	case v.Verdict == stats.Pass && !high.untouched() &&
		interval(high.values(o.requests, o.values)).Against(l.Value) != stats.Pass:
		openBy(v, &high)
	case v.Verdict == stats.Fail && !low.untouched() &&
		interval(low.values(o.requests, o.values)).Against(l.Value) != stats.Fail:
		openBy(v, &low)
	case v.Verdict == stats.Undecided && math.IsInf(iv.Lo, 0):
		setNeed(v, max(n, fewestOfMean-n)) // the window is too short to show the dependence
	case v.Verdict == stats.Undecided:
		if !math.IsInf(iv.Hi, 0) {
			v.Within = new(meanWithin(mean, l.Value, iv, confidence))
		}
		if lean := Lean(v); lean != "" {
			v.Why += "; " + lean
		}
		setNeed(v, meanNeed(n, mean, l.Value, iv))
	}
}

// meanWithin is the probability that a mean is within a limit: the interval's reach towards it, as of a normal
// distribution.
func meanWithin(mean, limit float64, iv stats.Interval, confidence float64) float64 {
	normal := distuv.UnitNormal
	reach := iv.Hi - mean
	if mean > limit {
		reach = mean - iv.Lo
	}
	return normal.CDF((limit - mean) / reach * normal.Quantile((1+confidence)/2))
}

const fewestOfMean = 30

// EndsText is an interval: "[30.1, 33]"; an end that the window does not bound is a dash.
func EndsText(iv stats.Interval) string {
	end := func(x float64) string {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return "–"
		}
		return unit.Brief(x, 4)
	}
	return "[" + end(iv.Lo) + ", " + end(iv.Hi) + "]"
}

// meanNeed is the number of further requests with which the interval leaves the limit; 0 if above ten million.
func meanNeed(n int, mean, limit float64, iv stats.Interval) int {
	reach := iv.Hi - mean
	if mean > limit {
		reach = mean - iv.Lo
	}
	total := math.Ceil(float64(n) * math.Pow(reach/(mean-limit), 2)) // +Inf if mean = limit
	if !(total <= 1e7) {
		return 0
	}
	return max(1, int(total)-n)
}
