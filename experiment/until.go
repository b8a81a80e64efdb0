package experiment

import (
	"fmt"
	"slices"
	"time"

	"bench/experiment/workload"
)

// The looks of a row with until = "decided" are of the first n requests by arrival, once all of them have ended: the
// fast ones alone would show a better server.

const (
	UntilDecided     = "decided" // the row ends when its SLO is decided
	untilInterrupted = "stopped" // the row runs until it is interrupted
)

func (s *Spec) UntilInterrupted() bool { return s.Until == untilInterrupted }

// A row of at least one of these sizes does not keep its records in memory.
const (
	spoolsFrom         = workload.Span(30 * time.Minute)
	spoolsFromRequests = 20_000 // of about 2 KB in memory
	spoolsFastest      = 0.05   // s: a worker's requests take no less
)

func (s *Spec) SpoolsRecords() bool {
	could := max(float64(s.Requests), s.ExpectedRequests(),
		float64(s.Concurrency)*time.Duration(s.Duration).Seconds()/spoolsFastest)
	return s.UntilInterrupted() || s.Duration >= spoolsFrom || could >= spoolsFromRequests
}

func (s *Spec) checkUntil(bad func(key, problem, hint string)) {
	switch {
	case s.Until == "":
	case s.UntilInterrupted():
		if s.Open() || s.IsConversation() || s.IsColdStart() {
			bad("until", `until = "stopped" needs a closed loop of single requests`,
				"write concurrency = 8, and remove rate, session and kind")
		}
	case s.Until != UntilDecided:
		bad("until", fmt.Sprintf("unknown until %q", s.Until), `write until = "decided" or "stopped", or leave it out`)
	case !s.decidable():
		bad("until", "the row has no limit that more requests could decide",
			`write [slo] and below it ttft_p95 = "1s"; a throughput or a price is decided at the end`)
	case s.Rate.IsInf():
		bad("until", `rate = "inf" sends all requests at once: the row can't end early`,
			"write a finite rate, or leave until out")
	case s.IsConversation() || s.IsColdStart():
		bad("until", "until needs arrival times that do not depend on the answers",
			"leave it out; requests or duration end the row")
	}
}

func (s *Spec) decidable() bool {
	if slices.ContainsFunc(s.SLO.Limits, Limit.Decidable) {
		return true
	}
	return slices.ContainsFunc(s.Mix, func(c workload.Class) bool {
		return len(c.SLO) > 0 && slices.ContainsFunc(s.ClassSLO(c).Limits, Limit.Decidable)
	})
}

// Decidable reports whether more requests can decide the limit; no number of them proves an error rate of 0.
func (l Limit) Decidable() bool {
	return l.Stat != "" || l.Metric == "error_rate" && l.Value > 0 && l.Value < 1
}
