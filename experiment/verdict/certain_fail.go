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
	const overload = "latency rises through the window and ends over the limit"
	switch {
	case e.overloaded(o, lowest.values):
		return counted + "; overload: " + overload
	case long && stats.FarOver(lowest.values, l.Value, o.p):
		return counted + "; nearly all of the last quarter by more than three times"
	}
	if there, busy := e.withoutHost(); busy {
		low, _ := there.endsOf(l.Metric, "")
		if e.overloaded(o, low.values(o.requests, o.values)) {
			return counted + "; overload on a busy host: " + overload
		}
	}
	return ""
}

// overloaded reports whether the server does not keep up with the arrivals: their latency grows past the limit.
func (e *Measured) overloaded(o *observed, values []float64) bool {
	return slices.Contains(ofQueue, o.limit.Metric) && e.Spec.HasConstantRate() &&
		stats.Overloaded(values, o.limit.Value, o.p)
}
