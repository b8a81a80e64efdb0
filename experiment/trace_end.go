package experiment

import (
	"fmt"
	"time"

	"bench/experiment/unit"
)

func (s *Spec) TraceEndHint() string {
	if s.ReplaysSessions() && s.Arrival.Process != "trace" {
		return "make warmup shorter, or write repeat = true in [row.trace]"
	}
	return "make warmup shorter"
}

func (s *Spec) checkTraceEnd(bad func(key, problem, hint string)) {
	most, span, ends := s.AtMost()
	warmup := time.Duration(s.Warmup.Time)
	if !ends {
		return
	}
	switch {
	case s.Warmup.Requests >= most:
		bad("warmup", fmt.Sprintf("the trace has %s, all within the warm-up of %d: the window would have none",
			unit.Plural(most, "request"), s.Warmup.Requests), s.TraceEndHint())
	case span < warmup:
		bad("warmup",
			fmt.Sprintf("the trace ends after %s and %v, within the warm-up of %v: the window would have no request",
				unit.Plural(most, "request"), span.Round(time.Millisecond), warmup), s.TraceEndHint())
	}
}

// LeftByWarmup is the number of requests of a trace that the warm-up leaves; known is false if the server's speed
// decides it, or if the trace does not end. At a rate it is the expected number.
func (s *Spec) LeftByWarmup() (n int, known bool) {
	most, _, ends := s.AtMost()
	if !ends || s.Warmup.Time > 0 && (!s.Timed() || s.ReplaysSessions()) {
		return 0, false
	}
	sent := s.Arriving(0, time.Duration(s.Warmup.Time)) * s.RequestsPerArrival()
	return max(0, most-max(s.Warmup.Requests, int(sent))), true
}
