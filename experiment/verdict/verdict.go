// Package verdict judges a measured row: whether its figures can be trusted, and which limits of its SLO it
// meets.
//
// Measured.Conclude is the whole: it summarizes the records, makes the checks, whose failures are findings with
// effects on figures, and decides each limit as PASS, FAIL or UNDECIDED. One procedure decides all of them (at
// the end of the window, or at looks while a row runs), with the dependence between requests, and at both ends
// of what the findings leave possible. Everything is a function of the row's spec, records and samples: nothing
// here sends, reads a file or takes the time.
package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// confidence of a PASS or a FAIL: MLPerf LoadGen's.
const confidence = 0.99

func decide(v *record.Verdict, verdict stats.Verdict, why string) {
	v.Verdict, v.Why = string(verdict), why
}

// judgeLimit decides one limit at the end of the row. window is the row's, in order; s summarizes the row, or the
// class.
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

// judgeRequests decides a limit on a percentile or a mean of the requests: at looks if the row can end early, and
// at its end.
func (e *Measured) judgeRequests(v *record.Verdict, q question, window []*record.Record) {
	looks, k := stats.Looks{Risk: 1 - confidence}, 1
	if EndsEarly(&e.Spec) {
		for ; looks.At(k) < len(window); k++ {
			if e.judgeLook(v, q, window[:looks.At(k)], k) {
				v.Why += fmt.Sprintf("; look %d, after %s requests", k, unit.Count(looks.At(k)))
				return
			}
		}
		if e.Spec.Search == nil {
			e.judgeAt(v, q, window, looks.Confidence(k))
			return
		}
	}
	e.judgeAt(v, q, window, confidence)
	if e.Spec.Search != nil && v.Verdict == string(stats.Fail) { // the looks have spent the risk of a FAIL
		e.judgeAt(v, q, window, looks.Confidence(k))
	}
}

// judgeLook decides at look k, whose window has its number of requests, and reports whether that ends the row for
// this limit. A probe of a search ends when it fails: its length is part of the answer when it passes.
func (e *Measured) judgeLook(v *record.Verdict, q question, window []*record.Record, k int) bool {
	e.judgeAt(v, q, window, stats.Looks{Risk: 1 - confidence}.Confidence(k))
	return v.Verdict == string(stats.Fail) || v.Verdict == string(stats.Pass) && e.Spec.Search == nil
}

// judgeAt decides once.
func (e *Measured) judgeAt(v *record.Verdict, q question, window []*record.Record, confidence float64) {
	l := q.limit
	window = filter(window, q.about)
	v.Value, v.Need, v.Observed, v.Effective = nil, 0, len(window), 0
	if why := e.certainFail(l, window); why != "" {
		decide(v, stats.Fail, why)
		v.Value = observe(l, window, e.Spec.Streams()).value
		return
	}
	if l.Stat == "mean" {
		e.judgeMean(v, l, window, confidence)
		return
	}
	o := observe(l, window, e.Spec.Streams())
	if v.Value = o.value; len(o.requests) == 0 {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	o.order.Bounded = e.Spec.Rate == 0 || l.Metric == "tpot" || l.Metric == "itl"
	o.plain = e.Spec.Rate.IsInf() || e.Spec.IsColdStart()
	v.Observed = len(o.requests)
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
		why += fmt.Sprintf(" (%d of them failed)", o.failed)
	}
	v.Effective = d.Effective
	decide(v, d.Verdict, why)
	if worth := max(1, math.Floor(d.Effective)); worth < 0.9*float64(len(o.requests)) {
		v.Why += fmt.Sprintf("; correlated: they count as %s", unit.Count(int(worth)))
	}
	low, high := e.endsOf(l.Metric)
	switch {
	case d.Verdict == stats.Pass && !o.standsAt(&high, stats.Pass, confidence):
		openBy(v, &high)
	case d.Verdict == stats.Fail && !o.standsAt(&low, stats.Fail, confidence):
		openBy(v, &low)
	case d.Verdict == stats.Undecided:
		setNeed(v, d.Need)
	}
}

const notMeasured = "not measured: no request has this metric"

// openBy makes a verdict UNDECIDED that does not hold at one end of what the findings leave possible.
func openBy(v *record.Verdict, d *end) {
	decide(v, stats.Undecided, fmt.Sprintf("%s as measured (%s), undecided because of %s", v.Verdict, v.Why, strings.Join(d.causes, "; ")))
}

// observed is what the requests of a window show about a limit on a share of them.
type observed struct {
	limit    experiment.Limit
	requests []*record.Record // that have the metric, or failed
	values   []float64        // of them; +Inf if failed; for error_rate 0 or 1; nil for itl
	order    *stats.InOrder
	p        float64
	over     float64 // requests over the limit; for itl the share of gaps, times the requests
	failed   int
	value    *float64 // nil = +∞
	least    float64  // of all values, or gaps
	most     float64
	plain    bool // the order of the requests means nothing: all arrived at once, or each to an idle server
}

// decide decides as measured.
func (o *observed) decide(confidence float64) stats.Decision {
	if o.limit.Metric == "error_rate" || o.plain {
		return o.decideAt(o.over, confidence)
	}
	return o.order.DecideFar(o.limit.Value, o.least, o.most, o.over, o.p, confidence)
}

func (o *observed) decideAt(over, confidence float64) stats.Decision {
	if !o.plain {
		return o.order.Decide(over, o.p, confidence)
	}
	n := len(o.requests)
	v, need := stats.Decide(n, int(math.Ceil(over-1e-9)), o.p, confidence)
	return stats.Decision{Verdict: v, Need: need, Effective: float64(n)}
}

// standsAt reports whether a verdict is the same at one end of what the findings leave possible.
func (o *observed) standsAt(d *end, v stats.Verdict, confidence float64) bool {
	if d.untouched() {
		return true
	}
	over := o.overAt(d)
	return over == o.over || o.decideAt(over, confidence).Verdict == v
}

func observe(l experiment.Limit, window []*record.Record, stream bool) *observed {
	o := &observed{limit: l, p: 1 - l.Value}
	if l.Stat != "" {
		o.p, _ = l.P()
	}
	if l.Metric == "itl" {
		o.observeGaps(window)
		return o
	}
	for _, r := range window {
		x, has := r.Latency(l.Metric, stream)
		switch {
		case l.Metric == "error_rate":
			x, has = 0, true
			if !r.OK() {
				x = 1
				o.failed++
			}
		case !r.OK():
			x, has = math.Inf(1), true // time-outs must not improve a percentile
			o.failed++
		}
		if has {
			o.requests, o.values = append(o.requests, r), append(o.values, x)
		}
	}
	if len(o.values) == 0 {
		return o
	}
	o.order, o.over = stats.NewInOrder(o.values), o.count(o.values)
	if l.Metric == "error_rate" {
		o.value = new(float64(o.failed) / float64(len(o.values)))
		return o
	}
	sorted := slices.Sorted(slices.Values(o.values))
	o.least, o.most = sorted[0], sorted[len(sorted)-1]
	o.setValue(stats.QuantileWithMissing(sorted[:len(sorted)-o.failed], o.failed, o.p))
	return o
}

func (o *observed) setValue(x float64) {
	if !math.IsInf(x, 0) && !math.IsNaN(x) {
		o.value = &x
	}
}

// count is the number of values over the limit.
func (o *observed) count(values []float64) (over float64) {
	limit := o.limit.Value
	if o.limit.Metric == "error_rate" {
		limit = 0.5
	}
	for _, x := range values {
		if x > limit {
			over++
		}
	}
	return over
}

// overAt is the number of requests over the limit at one end of what the findings leave possible.
func (o *observed) overAt(d *end) float64 {
	if o.limit.Metric != "itl" {
		return o.count(d.values(o.requests, o.values))
	}
	over, gaps, finite := 0.0, 0, 0
	for i, share := range d.gapShares(o.requests, o.limit.Value) {
		if r := o.requests[i]; r.OK() {
			over, gaps, finite = over+share*float64(r.Gaps.Len()), gaps+r.Gaps.Len(), finite+1
		}
	}
	return over*float64(finite)/float64(max(1, gaps)) + float64(o.failed)
}

// observeGaps counts in requests, not in gaps: the gaps of one request depend on each other. A failed request
// counts as the mean number of gaps of the others, all infinite.
func (o *observed) observeGaps(window []*record.Record) {
	var gaps stats.Counts
	over := 0
	o.least = math.Inf(1)
	for _, r := range window {
		if r.OK() && r.Gaps.Len() == 0 {
			continue
		}
		o.requests = append(o.requests, r)
		if !r.OK() {
			o.failed++
			o.most = math.Inf(1)
			continue
		}
		for us := range r.Gaps.All() {
			gaps.Add(us)
			ms := float64(us) / record.UsPerMs
			o.least, o.most = min(o.least, ms), max(o.most, ms)
			if ms > o.limit.Value {
				over++
			}
		}
	}
	finite := len(o.requests) - o.failed
	if finite == 0 {
		o.order, o.over = stats.NewInOrder(slices.Repeat([]float64{math.Inf(1)}, o.failed)), float64(o.failed)
		if o.failed == 0 {
			o.order = nil
		}
		return
	}
	each := max(1, gaps.N()/finite)
	o.over = float64(over)*float64(finite)/float64(gaps.N()) + float64(o.failed)
	o.setValue(gaps.Sorted(record.UsPerMs).QuantileWithMissing(o.failed*each, o.p))
	for range o.failed * each {
		gaps.Add(math.MaxInt64)
	}
	pooled := stats.Pooled{Unit: record.UsPerMs, Requests: len(o.requests)}
	pooled.Begin(gaps.Sorted(record.UsPerMs))
	for _, r := range o.requests {
		pooled.Request()
		if !r.OK() {
			pooled.Gaps(math.MaxInt64, each)
			continue
		}
		for us := range r.Gaps.All() {
			pooled.Gap(us)
		}
	}
	o.order = pooled.InOrder()
}

// certainFail is why a limit fails without a count of requests: the end of the window shows a server that does
// not keep up with its rate, has broken down, or is far slower than the limit. Empty = nothing of that.
func (e *Measured) certainFail(l experiment.Limit, window []*record.Record) string {
	const longEnd = 3e6 // µs of the last quarter: less can be one stall
	// An itl has no one value of a request; a mean fails by its interval; the order of a burst means nothing.
	if l.Metric == "itl" || l.Stat == "mean" || e.Spec.Rate.IsInf() || e.Spec.IsColdStart() || len(window) == 0 {
		return ""
	}
	o := observe(l, window, e.Spec.Streams())
	n := len(o.values)
	counted := fmt.Sprintf("%s of %d over the limit, %s %% allowed", unit.Brief(o.over, 4), n, unit.Brief((1-o.p)*100, 3))
	long := n > 0 && float64(o.requests[n-1].Arrival.Us()-o.requests[n-n/4-1].Arrival.Us()) >= longEnd
	failed := math.MaxFloat64
	if l.Metric == "error_rate" {
		failed = 0.5
	}
	if o.p > 0.75 && stats.EndsOver(o.values, failed) {
		return fmt.Sprintf("%d of %d failed, nearly all of the last quarter", o.failed, n)
	}
	if l.Metric == "error_rate" {
		return ""
	}
	low, _ := e.endsOf(l.Metric)
	at := o.values
	if !low.untouched() {
		at = low.values(o.requests, o.values)
	}
	fromArrival := slices.Contains([]string{"ttft", "ttft_from_send", "ttfe", "e2e", "e2e_from_send", "cap_wait"}, l.Metric)
	switch {
	case fromArrival && e.Spec.HasConstantRate() && stats.Overloaded(at, l.Value, o.p):
		return counted + "; overload: latency rises through the window and ends over the limit"
	case long && stats.FarOver(at, l.Value, o.p):
		return counted + "; nearly all of the last quarter by more than three times"
	}
	return ""
}

// setNeed sets the number of further requests that a decision needs; 0 = none, or more would not help.
func setNeed(v *record.Verdict, need int) {
	if v.Need = need; need > 0 {
		v.Why += fmt.Sprintf("; need %s more requests", unit.Count(need))
	}
}

// judgeMean compares the interval of the mean over requests, by arrival, with the limit.
func (e *Measured) judgeMean(v *record.Verdict, l experiment.Limit, window []*record.Record, confidence float64) {
	o := observe(experiment.Limit{Key: l.Key, Metric: l.Metric, Stat: "p50", Value: l.Value}, window, e.Spec.Streams())
	switch {
	case o.failed > 0:
		decide(v, stats.Fail, fmt.Sprintf("%d requests failed and rank as infinite: the mean has no value", o.failed))
		return
	case len(o.values) == 0:
		decide(v, stats.Undecided, notMeasured)
		return
	}
	interval := func(values []float64) stats.Interval {
		return stats.MeanInterval(values, confidence, rand.New(rand.NewPCG(record.Seed, 2)))
	}
	n, mean, iv := len(o.values), stat.Mean(o.values, nil), interval(o.values)
	v.Value, v.Observed = &mean, n
	decide(v, against(iv, l.Value), fmt.Sprintf("mean %s ms %s (%s %%, n=%d)", unit.Brief(mean, 4), intervalText(iv), unit.Brief(100*confidence, 4), n))
	low, high := e.endsOf(l.Metric)
	switch {
	case v.Verdict == string(stats.Pass) && !high.untouched() && against(interval(high.values(o.requests, o.values)), l.Value) != stats.Pass:
		openBy(v, &high)
	case v.Verdict == string(stats.Fail) && !low.untouched() && against(interval(low.values(o.requests, o.values)), l.Value) != stats.Fail:
		openBy(v, &low)
	case v.Verdict == string(stats.Undecided) && math.IsInf(iv.Lo, 0):
		setNeed(v, max(n, fewestOfMean-n)) // the window is too short to show the dependence
	case v.Verdict == string(stats.Undecided):
		setNeed(v, meanNeed(n, mean, l.Value, iv))
	}
}

// fewestOfMean is the number of requests below which a mean has no interval.
const fewestOfMean = 30

// against is the verdict on a limit that a figure with this interval must not exceed.
func against(iv stats.Interval, limit float64) stats.Verdict {
	switch {
	case iv.Hi <= limit:
		return stats.Pass
	case iv.Lo > limit:
		return stats.Fail
	}
	return stats.Undecided
}

func intervalText(iv stats.Interval) string {
	end := func(x float64) string {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return "–"
		}
		return unit.Brief(x, 4)
	}
	return "[" + end(iv.Lo) + ", " + end(iv.Hi) + "]"
}

// meanNeed is the number of further requests that would move the interval off the limit, if mean and spread
// stay; 0 if that takes more than ten million, or the interval has no end there.
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

// judgeCertainErrors decides limits on the error rate that need no statistics.
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
