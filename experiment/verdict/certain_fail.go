package verdict

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (e *Measured) certainFail(o *observed) string {
	const longEnd = 3e6 // µs of the last quarter: less can be one stall
	l, n := o.limit, len(o.values)
	// An itl has no one value of a request; the order of a burst means nothing.
	if n == 0 || e.Spec.Rate.IsInf() || e.Spec.IsColdStart() {
		return ""
	}
	counted := fmt.Sprintf("%s of %d over the limit, %s %% allowed", unit.Brief(o.over, 4), n, unit.Brief((1-o.p)*100, 3))
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
	at := e.lowestOf(o)
	queues := slices.Contains(ofQueue, l.Metric) && e.Spec.HasConstantRate()
	const overload = "latency rises through the window and ends over the limit"
	switch {
	case queues && stats.Overloaded(at, l.Value, o.p):
		return counted + "; overload: " + overload
	case long && stats.FarOver(at, l.Value, o.p):
		return counted + "; nearly all of the last quarter by more than three times"
	}
	if there, busy := e.withoutHost(); busy && queues && stats.Overloaded(there.lowestOf(o), l.Value, o.p) {
		return counted + "; overload on a busy host: " + overload
	}
	return ""
}

func (e *Measured) lowestOf(o *observed) []float64 {
	low, _ := e.endsOf(o.limit.Metric)
	if low.untouched() {
		return o.values
	}
	return low.values(o.requests, o.values)
}
