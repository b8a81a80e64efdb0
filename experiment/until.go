package experiment

import (
	"fmt"
	"slices"
	"time"

	"bench/experiment/workload"
)

// A row with until = "decided" is looked at while it runs, and ends when its SLO is decided. It is looked at after
// doubling numbers of requests, of which each look spends a part of the risk of one (stats.Looks), and always at the first n
// by arrival, when all of these are over: the fast ones alone would be a better server than there is.

// Values of the key until.
const (
	UntilDecided     = "decided"
	untilInterrupted = "stopped" // the row has no end of its own
)

// Endless says that the row ends when it is told to, and not before.
func (s *Spec) Endless() bool { return s.Until == untilInterrupted }

// A window so long, or of so many requests, does not keep its records in memory while it runs.
const (
	spoolsFrom         = workload.Span(30 * time.Minute)
	spoolsFromRequests = 100_000
)

// Spools says that the records are read again from where they were written, at the end, since there may be very many of them.
func (s *Spec) Spools() bool {
	return s.Endless() || s.Duration >= spoolsFrom || max(float64(s.Requests), s.InWindow()) >= spoolsFromRequests
}

// checkUntil refuses what could never be decided, or not while it runs.
func (s *Spec) checkUntil(bad func(key, problem, hint string)) {
	switch {
	case s.Until == "":
	case s.Endless():
		s.checkEndless(bad)
	case s.Until != UntilDecided:
		bad("until", fmt.Sprintf("unknown until %q", s.Until), `write until = "decided" or "stopped", or leave it out`)
	case !s.decidable():
		bad("until", "there is no limit that more requests could decide", `write [slo] and below it ttft_p95 = "1s"; a throughput or a price is judged at the end`)
	case s.Rate.IsInf():
		bad("until", "all requests are sent at once: none is left to save", "write a finite rate, or leave until out")
	case s.Session != nil || s.Cold():
		bad("until", "until looks at the first requests by arrival, and here the answers decide who comes first", "leave it out; requests or duration end the row")
	}
}

// checkEndless refuses what such a row can't have.
func (s *Spec) checkEndless(bad func(key, problem, hint string)) {
	if s.Rate > 0 || s.Session != nil || s.Cold() {
		bad("until", `until = "stopped" is for closed loops of single requests`, "write concurrency = 8, and remove rate, session and kind")
	}
}

// decidable says whether more requests can decide any limit of the row or of a class of it.
func (s *Spec) decidable() bool {
	if slices.ContainsFunc(s.SLO.Limits, Limit.Decidable) {
		return true
	}
	return slices.ContainsFunc(s.Mix, func(c workload.Class) bool {
		return len(c.SLO) > 0 && slices.ContainsFunc(s.ClassSLO(c).Limits, Limit.Decidable)
	})
}

// looksAt says whether more requests can decide a limit. A throughput or a price is one figure of the whole window, and that
// nothing ever fails no number of requests proves: such limits are judged at the end, and do not keep a row going.
func (l Limit) Decidable() bool {
	return l.Stat != "" || l.Metric == "error_rate" && l.Value > 0 && l.Value < 1
}
