package verdict

import (
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

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
	least      float64  // of all values, or gaps
	most       float64
	plain      bool // the order of the requests means nothing: all arrived at once, or each to an idle server
}

func (o *observed) onlyFailed() bool {
	return o.limit.Metric != "error_rate" && o.failed == len(o.requests)
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

func (o *observed) standsAt(d *end, v stats.Verdict, confidence float64) bool {
	if d.untouched() {
		return true
	}
	over := o.overAt(d)
	return over == o.over || o.decideAt(over, confidence).Verdict == v
}

func (o *observed) counts(low, high *end) *stats.Exceedances {
	c := &stats.Exceedances{Over: o.over, Least: o.over, Most: o.over, N: float64(len(o.requests)), Time: 1, Allowed: 1 - o.p}
	if !o.plain {
		c.Time = o.order.Correlation(o.limit.Value, o.most, o.p)
	}
	if !low.untouched() {
		c.Least = min(c.Least, o.overAt(low))
	}
	if !high.untouched() {
		c.Most = max(c.Most, o.overAt(high))
	}
	return c
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
		case l.Metric == "ttfo" && r.Unanswered(): // nor must reasoning that never ends
			x, has = math.Inf(1), true
			o.failed++
			o.unanswered++
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

// observeGaps counts in requests: the gaps of one depend on each other. A failed one has the mean number of gaps.
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
