package forecast

import (
	"fmt"
	"math"
	"time"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// shortText says up to which load bursts move a probe by more than the tolerance of its search; empty: they do
// not, or there are none.
//
// A probe of n requests has exactly its load, but the load of either half of its window still varies by a
// relative standard error of cv/√n, with the gaps' coefficient of variation cv: 1/√n for Poisson arrivals, of
// which Binomial(n, ½) fall into one half. A queue sees these halves, and so does its percentile.
func shortText(s *experiment.Spec) string {
	k := s.Search
	if k == nil || k.Axis != "rate" {
		return ""
	}
	square := 1.0 // of cv
	switch s.Arrival.Process {
	case "", "poisson":
	case "gamma":
		if s.Burstiness > 0 {
			square = 1 / s.Burstiness
		}
	default:
		return ""
	}
	enough := square / math.Pow(float64(k.Tolerance), 2) // requests
	at := func(rate float64) float64 {
		n := float64(s.Requests)
		if byTime := rate * time.Duration(s.Duration).Seconds(); n == 0 || byTime > 0 && byTime < n {
			n = byTime
		}
		return n
	}
	if at(k.Min) >= enough {
		return ""
	}
	below := k.Max
	if at(k.Max) >= enough {
		below = enough / time.Duration(s.Duration).Seconds()
	}
	needed := fmt.Sprintf("requests = %.0f", math.Ceil(enough))
	if s.Requests == 0 {
		longer := time.Duration(math.Ceil(enough/k.Min)) * time.Second
		needed = fmt.Sprintf("duration = %q", workload.Seconds(longer.Seconds()))
	}
	return fmt.Sprintf("%s: up to %s/s bursts vary the load of half a probe by more than the tolerance (%s); write %s",
		s.Name, unit.Brief(below, 3), k.Tolerance, needed)
}
