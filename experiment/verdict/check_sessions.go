package verdict

import (
	"fmt"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/unit"
)

func checkSessions(e *Measured) checkResult {
	s := e.Sessions
	switch {
	case s == nil:
		return unasked
	case s.Started == 0:
		return noData
	case s.Cut == 0 || !s.LacksLong("p50"):
		return passed()
	}
	hint := "make duration longer, or sessions shorter"
	if s.Time != nil {
		hint = fmt.Sprintf("make duration longer: a completed session took %s s at p50, and ten times that cuts one in ten",
			unit.Brief(s.Time.P50, 3))
	}
	return caution(hint, "the row ended in %s of %s: session times are of the shorter ones",
		unit.Count(s.Cut), unit.Plural(s.Started, "session")).
		touching(unbounded(record.Lowered, []string{metric.SessionTime}))
}
