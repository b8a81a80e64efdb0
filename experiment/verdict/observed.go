package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// observed are the values of a limit's metric in the window: as measured, or at an end of what findings leave possible.
type observed struct {
	limit      experiment.Limit
	requests   []*record.Record // that have the metric, or failed
	values     []float64        // of them; +Inf if failed; for error_rate 0 or 1; nil for itl
	order      *stats.InOrder
	p          float64
	over       float64 // requests over the limit; for itl the share of gaps, times the requests
	failed     int     // requests without a value that rank as infinite: failed, or unanswered
	unanswered int
	value      *float64 // nil = +∞
	brief      bool     // the verdict alone is asked for
}

func (o *observed) missing() string {
	switch o.unanswered {
	case 0:
		return "failed"
	case o.failed:
		return "without an answer"
	}
	return "failed or without an answer"
}

func (o *observed) decide(confidence float64) stats.Decision {
	if o.limit.Metric == "error_rate" {
		return o.order.DecideShare(o.limit.Value, confidence)
	}
	if o.brief {
		return o.order.Verdict(o.limit.Value, o.p, confidence)
	}
	return o.order.Decide(o.limit.Value, o.p, confidence)
}

// sight is what of an observation the limit does not change.
type sight struct {
	metric, stat string
	requests     int     // of the window, whose first ones they are
	add          float64 // of the end
}

// observe takes requests in the order of their arrival.
func (e *Measured) observe(l experiment.Limit, window []*record.Record, at *end) *observed {
	key := sight{l.Metric, l.Stat, len(window), at.add}
	if o := e.seen[key]; o != nil {
		return o.under(l)
	}
	o := e.observeAnew(l, window, at)
	if e.seen != nil {
		o.brief, e.seen[key] = true, o
	}
	return o
}

// under is the same observation under another limit.
func (o *observed) under(l experiment.Limit) *observed {
	out := *o
	if out.limit = l; o.order != nil {
		out.over = o.order.Over(l.Value) * float64(len(o.requests))
	}
	if l.Metric != "itl" { // whole requests
		out.over = math.Round(out.over)
	}
	return &out
}

func (e *Measured) observeAnew(l experiment.Limit, window []*record.Record, at *end) *observed {
	o := &observed{limit: l, p: 1 - l.Value}
	if l.Stat != "" {
		o.p, _ = l.P()
	}
	if l.Metric == "itl" {
		o.observeGaps(window, at)
	} else {
		o.observeValues(window, at, e.Spec.Streams())
	}
	if o.order != nil {
		o.order.Bounded = record.ModeOf(&e.Spec).Bounded(l.Metric)
		o.order.Alone = e.Spec.Rate.IsInf() || e.Spec.IsColdStart()
		if !o.order.Bounded {
			o.order.InFlight = record.InFlight(window)
		}
	}
	return o
}

func (o *observed) at(e *Measured, window []*record.Record, d *end) *observed {
	if d.untouched() {
		return o
	}
	moved := e.observe(o.limit, window, d)
	moved.order.DependLike(o.order)
	return moved
}

func (o *observed) observeValues(window []*record.Record, at *end, stream bool) {
	for _, r := range window {
		x, has := r.Latency(o.limit.Metric, stream)
		switch {
		case o.limit.Metric == "error_rate":
			x, has = 0, true
			if !r.OK() {
				x = 1
				o.failed++
			}
		case !r.OK():
			x, has = math.Inf(1), true // time-outs must not improve a percentile
			o.failed++
		case o.limit.Metric == "ttfo" && r.Unanswered(): // nor must reasoning that never ends
			x, has = math.Inf(1), true
			o.failed++
			o.unanswered++
		}
		if has {
			o.requests, o.values = append(o.requests, r), append(o.values, x)
		}
	}
	if len(o.values) == 0 {
		return
	}
	limit := o.limit.Value
	if o.limit.Metric == "error_rate" {
		limit = 0.5
	} else {
		o.values = at.values(o.requests, o.values)
	}
	for _, x := range o.values {
		if x > limit {
			o.over++
		}
	}
	o.order = stats.NewInOrder(o.values)
	if o.limit.Metric == "error_rate" {
		o.value = new(float64(o.failed) / float64(len(o.values)))
		return
	}
	o.setValue(o.order.Quantile(o.p))
}

func (o *observed) setValue(x float64) {
	if !math.IsInf(x, 0) && !math.IsNaN(x) {
		o.value = &x
	}
}

// observeGaps counts in requests: the gaps of one depend on each other. A failed one has the mean number of gaps.
func (o *observed) observeGaps(window []*record.Record, at *end) {
	var means []float64
	gapsOf := 0
	for _, r := range window {
		if r.OK() && r.Gaps.Len() == 0 {
			continue
		}
		o.requests = append(o.requests, r)
		if !r.OK() {
			o.failed++
			means = append(means, math.Inf(1))
			continue
		}
		gapsOf += r.Gaps.Len()
		means = append(means, float64(r.Last.Us()-r.First.Us())/float64(r.Gaps.Len()))
	}
	if len(o.requests) == 0 {
		return
	}
	free := at.values(o.requests, means) // infinite: all gaps can be anything
	each := max(1, gapsOf/max(1, len(o.requests)-o.failed))
	gaps := func(i int, yield func(us int64, times int)) {
		r := o.requests[i]
		switch {
		case !r.OK():
			yield(math.MaxInt64, each)
		case math.IsInf(free[i], 1):
			yield(math.MaxInt64, r.Gaps.Len())
		case math.IsInf(free[i], -1):
			yield(0, r.Gaps.Len())
		default:
			for us := range r.Gaps.All() {
				yield(int64(math.Round(at.value(r, float64(us)/record.UsPerMs)*record.UsPerMs)), 1)
			}
		}
	}
	var all stats.Counts
	over, total := 0, 0
	for i := range o.requests {
		gaps(i, func(us int64, times int) {
			total += times
			if float64(us)/record.UsPerMs > o.limit.Value {
				over += times
			}
			for range times {
				all.Add(us)
			}
		})
	}
	o.over = float64(over) * float64(len(o.requests)) / float64(total)
	sorted := all.Sorted(record.UsPerMs)
	o.setValue(sorted.Quantile(o.p))
	pooled := stats.Pooled{Unit: record.UsPerMs, Requests: len(o.requests)}
	pooled.Begin(sorted)
	for i := range o.requests {
		pooled.Request()
		gaps(i, pooled.Gaps)
	}
	o.order = pooled.InOrder()
}

// certainFail takes the values as measured and at the low end of what findings leave possible.
func (e *Measured) certainFail(o, lowest *observed) string {
	const longEnd = 3e6 // µs of the last quarter: less can be one stall
	l, n := o.limit, len(o.values)
	// An itl has no one value of a request; the order of a burst means nothing.
	if n == 0 || e.Spec.Rate.IsInf() || e.Spec.IsColdStart() {
		return ""
	}
	counted := o.counted()
	long := float64(o.requests[n-1].Arrival.Us()-o.requests[n-n/4-1].Arrival.Us()) >= longEnd
	failed := math.MaxFloat64
	if l.Metric == "error_rate" {
		failed = 0.5
	}
	if o.p > 0.75 && stats.EndsOver(o.values, failed) {
		return fmt.Sprintf("%d of %d %s, nearly all of the last quarter", o.failed, n, o.missing())
	}
	if l.Metric == "error_rate" {
		return ""
	}
	const overload = "latency rises through the window and ends over the limit"
	switch {
	case e.overloaded(o, lowest.values):
		return counted + "; overload: " + overload
	case long && stats.FarOver(lowest.values, l.Value, o.p):
		return counted + "; nearly all of the last quarter by more than three times"
	}
	idle := slices.DeleteFunc(slices.Clone(e.effects), func(x check.Effect) bool { return x.Host })
	if len(idle) < len(e.effects) { // the values that it had on this machine: without what other work did to it
		low, _ := endsOf(idle, l.Metric, "")
		if e.overloaded(o, low.values(o.requests, o.values)) {
			return counted + "; overload on a busy host: " + overload
		}
	}
	return ""
}

// ofQueue are the latencies that contain a wait for the server.
var ofQueue = slices.Concat(metric.Spanning(metric.ToFirstToken), metric.Spanning(metric.ToLastToken),
	[]string{"ttfo", "cap_wait"})

// overloaded reports whether the server does not keep up with the arrivals: their latency grows past the limit.
func (e *Measured) overloaded(o *observed, values []float64) bool {
	return slices.Contains(ofQueue, o.limit.Metric) && e.Spec.HasConstantRate() &&
		stats.Overloaded(values, o.limit.Value, o.p)
}

func openBy(v *record.Verdict, d *end) {
	v.OpenedBy = d.codes
	decide(v, stats.Undecided, fmt.Sprintf("%s as measured (%s), undecided because of %s", v.Verdict, v.Why,
		strings.Join(d.causes, "; ")))
}

// valueText is the percentile at an end of what findings leave possible.
func (o *observed) valueText(v *record.Verdict) string {
	if v.Value == nil || o.value == nil || v.Unit != "ms" {
		return ""
	}
	return fmt.Sprintf("; %s as measured, %s if all of it is the finding's", unit.Format(*v.Value, v.Unit),
		unit.Format(*o.value, v.Unit))
}

// holdOpen takes the need from a limit that more requests cannot decide: they would show that the measured values
// miss it, and a finding leaves it possible that the true ones meet it. Of a finding on a number of requests, or with
// lowered values, a longer row shows more.
func (o *observed) holdOpen(v *record.Verdict, lowest *observed, low *end) {
	allowed := (1 - o.p) * float64(len(o.requests))
	if low.untouched() || low.requests > 0 || o.over <= allowed || lowest.over > allowed {
		return
	}
	why, _, _ := strings.Cut(v.Why, "; needs ")
	v.Need, v.OpenedBy = 0, low.codes
	v.Why = fmt.Sprintf("%s; more requests cannot decide it because of %s%s", why, strings.Join(low.causes, "; "),
		lowest.valueText(v))
}
