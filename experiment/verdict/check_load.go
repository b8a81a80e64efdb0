package verdict

import (
	"math"

	"bench/experiment/unit"
)

// checkRate fails if fewer requests completed in the window than arrived.
func checkRate(e *Measured) checkResult {
	if e.AllFailed() || e.Spec.Rate == 0 || e.Spec.Rate.IsInf() || e.Summary.Requests.Planned < 20 || e.Summary.DurationS <= 0 {
		return noData
	}
	if e2e := e.Summary.E2E; e2e != nil && float64(e.Window.StartUs-e.firstArrival())/1e3 < e2e.Min {
		return noData // the window began before the first answer can end
	}
	n := float64(e.Summary.Requests.Planned)
	asked := n / e.Summary.DurationS
	missing := max(0.1, 2/math.Sqrt(n)) + e.disturbed.share(e.Window) // chance, of Poisson arrivals and departures
	if got := e.Summary.Throughput.RequestsPerS; got < (1-missing)*asked {
		return failed("lower the rate: above the highest sustained rate, latency grows with the length of the row",
			"the server did not sustain the rate: %s of %s requests/s completed", unit.Brief(got, 3), unit.Brief(asked, 3))
	}
	return passed()
}

// firstArrival is the start of the load, µs.
func (e *Measured) firstArrival() int64 {
	first := e.Window.StartUs
	for _, r := range e.Records {
		if !r.Arrival.IsZero() {
			first = min(first, r.Arrival.Us())
		}
	}
	return first
}

// checkConcurrency fails if the mean concurrency of a closed loop is below the requested one.
func checkConcurrency(e *Measured) checkResult {
	if e.Spec.Concurrency == 0 {
		return noData
	}
	n, c := e.Spec.Concurrency, e.Summary.Concurrency
	if c.Max <= n && (e.Summary.Requests.Planned == 0 || e.Summary.ErrorRate > tolerated) {
		return noData // requests that fail at once leave workers idle
	}
	if c.Max > n {
		return failed("this is a defect of bench: report it with the request records", "%d requests were in flight, requested %d", c.Max, n)
	}
	if e.Spec.Rate == 0 && !e.Spec.HasConversations() && c.Mean < (0.9-e.disturbed.share(e.Window))*float64(n) { // users think between their turns
		return failed("the client can't keep its workers busy: give it more cores, or make the answers longer",
			"mean concurrency %s, requested %d", unit.Brief(c.Mean, 3), n)
	}
	return passed()
}

// checkWarmup fails if the window contains the ramp-up.
func checkWarmup(e *Measured) checkResult {
	if e.Spec.Rate.IsInf() {
		return noData
	}
	if e.Summary.Requests.Warmup == 0 {
		return failed(`write warmup = "10s"`, "no warm-up: the window contains the ramp-up")
	}
	return passed()
}
