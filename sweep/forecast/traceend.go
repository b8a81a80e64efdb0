package forecast

import (
	"fmt"
	"time"

	"bench/experiment"
	"bench/experiment/unit"
)

// traceEndText warns that a trace can end within the warm-up, where only the server's speed decides it; empty: it can't,
// or the speed shows that it doesn't.
func traceEndText(s *experiment.Spec, d *durations) string {
	whole, _, ends := s.AtMost()
	if _, known := s.LeftByWarmup(); !ends || known || s.Repeat > 1 {
		return ""
	}
	warmup := time.Duration(s.Warmup.Time)
	trace := fmt.Sprintf("%s: the trace ends after %s: ", s.Label(), unit.Plural(whole, "request"))
	if rate := d.rate(s); rate > 0 {
		took := time.Duration(float64(whole) / rate * float64(time.Second))
		if took > warmup {
			return ""
		}
		return trace + fmt.Sprintf("at the speed of earlier rows within %s, in the warm-up of %v: the window would have none; %s",
			unit.Clock(took), warmup, s.TraceEndHint())
	}
	return trace + fmt.Sprintf("if all are answered within the warm-up of %v, the window has none; %s", warmup, s.TraceEndHint())
}
