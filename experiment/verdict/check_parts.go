package verdict

import (
	"bench/experiment/record"
	"bench/experiment/unit"
)

// uneven: answers of different lengths alone bring some percent.
const uneven = 0.25

func checkParts(e *Measured) checkResult {
	if len(e.Workers) == 0 || e.Spec.Requests == 0 {
		return unasked
	}
	counted, beside := 0, 0
	for _, r := range e.Records {
		switch {
		case r.Phase == record.PhaseWindow:
			counted++
		case e.Window.HasBeside(r):
			beside++
		}
	}
	// up to one per request in flight is at the edge
	if float64(beside) <= max(float64(e.Spec.Concurrency), uneven*float64(counted)) {
		return passed()
	}
	return caution(`write duration = "60s" in place of requests: then all workers end at one time`,
		"workers were not equally fast: %s requests beside the %s that count arrived in the window; percentiles weigh the workers alike, the load did not",
		unit.Count(beside), unit.Count(counted)).
		touching(unbounded(record.Unknown, firstToken, lastToken, betweenIt))
}
