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
