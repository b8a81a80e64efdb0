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
	low, _ := e.endsOf(l.Metric)
	at := o.values
	if !low.untouched() {
		at = low.values(o.requests, o.values)
	}
	switch {
	case slices.Contains(ofQueue, l.Metric) && e.Spec.HasConstantRate() && stats.Overloaded(at, l.Value, o.p):
		return counted + "; overload: latency rises through the window and ends over the limit"
	case long && stats.FarOver(at, l.Value, o.p):
		return counted + "; nearly all of the last quarter by more than three times"
	}
	return ""
}
