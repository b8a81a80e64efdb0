package forecast

import (
	"fmt"
	"math"
	"time"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// widthAtSaturation is the width of a search's answer times the root of the requests sent, where the limit is near
// saturation: simulated, benchmarks/search has the table. It is smaller where the limit is far from saturation.
const widthAtSaturation = 18

// widthText says how wide the answer of a search will be if its budget is too short for the tolerance; empty: it is not.
func widthText(s *experiment.Spec) string {
	k := s.Search
	if k == nil || k.Axis != "rate" || k.Goal != experiment.GoalSLO {
		return ""
	}
	seconds := time.Duration(k.MaxTime()).Seconds()
	width := func(rate float64) float64 { return min(1, widthAtSaturation/math.Sqrt(rate*seconds)) }
	middle := math.Sqrt(k.Min * k.Max)
	if width(middle) <= float64(k.Tolerance) {
		return ""
	}
	long := time.Duration(math.Pow(widthAtSaturation/float64(k.Tolerance), 2)/middle) * time.Second
	return fmt.Sprintf("%s: within %s the answer is about %.0f %% wide if it is near saturation at %s/s; for %s write budget = %q",
		s.Name, unit.Clock(time.Duration(k.MaxTime())), 100*width(middle), unit.Brief(middle, 3), k.Tolerance, workload.Seconds(long.Round(time.Minute).Seconds()))
}
