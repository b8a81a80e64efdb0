package verdict

import (
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func checkRate(e *Measured) checkResult {
	if e.AllFailed() || e.Summary.FailedShare() > tolerated || !e.Spec.Timed() || e.Summary.Requests.Stayed() < 20 ||
		e.Summary.DurationS <= 0 {
		return noData
	}
	if e2e := e.Summary.E2E; e2e != nil && float64(e.Window.StartUs-e.firstArrival())/1e3 < e2e.Min {
		return noData // the window began before the first answer can end
	}
	n := float64(e.Summary.Requests.Stayed())
	asked := n / e.Summary.DurationS
	missing := max(0.1, 2/math.Sqrt(n)) + e.disturbed.share(e.Window) // chance, of Poisson arrivals and departures
	if got := e.Summary.Throughput.RequestsPerS; got < (1-missing)*asked {
		return caution("lower the rate: above the highest sustained rate, latency grows with the length of the row",
			"the server did not sustain the rate: %s of %s requests/s completed", unit.Brief(got, 3),
			unit.Brief(asked, 3)).
			touching(unbounded(record.Lowered, firstToken, lastToken))
	}
	return passed()
}

func (e *Measured) firstArrival() int64 {
	first := e.Window.StartUs
	for _, r := range e.Records {
		if !r.Arrival.IsZero() {
			first = min(first, r.Arrival.Us())
		}
	}
	return first
}

func checkConcurrency(e *Measured) checkResult {
	if e.Spec.Concurrency == 0 {
		return noData
	}
	n, c := e.Spec.Concurrency, e.Summary.Concurrency
	if !e.Spec.ReplaysSessions() && c.Max <= n && (e.Summary.Requests.Planned == 0 ||
		e.Summary.FailedShare() > tolerated) {
		return noData // requests that fail at once leave workers idle
	}
	most, what := c.Max, "requests"
	if e.Spec.ReplaysSessions() { // of which one can have several requests in flight
		most, what = e.Sessions.InFlight, "sessions"
	}
	if most > n {
		return invalid("this is a defect of bench: report it with the request records",
			"%d %s were in flight, requested %d", most, what, n)
	}
	// users think between their turns
	if e.Spec.Closed() && !e.Spec.HasConversations() && c.Mean < (0.9-e.disturbed.share(e.Window))*float64(n) {
		return caution("the client can't keep its workers busy: give it more cores, or make the answers longer",
			"mean concurrency %s, requested %d: the point counts as concurrency %[1]s", unit.Brief(c.Mean, 3),
			n).touching(e.thinned())
	}
	return passed()
}

// thinned is the effect of workers that wait for the client on the load of a closed loop; none within 2 %.
func (e *Measured) thinned() []effect {
	if e.whole != nil {
		return e.whole.thinned()
	}
	const turnaround = 1.02
	asked, mean := float64(e.Spec.Concurrency), e.Summary.Concurrency.Mean
	if e.Spec.Open() || e.Spec.HasConversations() || mean <= 0 || asked <= turnaround*mean {
		return nil
	}
	return byFactor(record.Lowered, asked/mean, []string{record.MetricConcurrency})
}

func checkWarmup(e *Measured) checkResult {
	const hint, text = `write warmup = "10s"`, "no warm-up: the window contains the ramp-up"
	switch {
	case e.Spec.Rate.IsInf():
		return noData
	case e.Summary.Requests.Warmup > 0:
		return passed()
	case checkSteady(e).severity != "":
		return caution(hint, text)
	}
	return note(hint, text)
}
