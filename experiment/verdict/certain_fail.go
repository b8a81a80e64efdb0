package verdict

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/stats"
)

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
	queues := slices.Contains(ofQueue, l.Metric) && e.Spec.HasConstantRate()
	const overload = "latency rises through the window and ends over the limit"
	switch {
	case queues && stats.Overloaded(lowest.values, l.Value, o.p):
		return counted + "; overload: " + overload
	case long && stats.FarOver(lowest.values, l.Value, o.p):
		return counted + "; nearly all of the last quarter by more than three times"
	}
	if there, busy := e.withoutHost(); busy && queues {
		low, _ := there.endsOf(l.Metric)
		if stats.Overloaded(low.values(o.requests, o.values), l.Value, o.p) {
			return counted + "; overload on a busy host: " + overload
		}
	}
	return ""
}
