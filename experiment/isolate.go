package experiment

import (
	"math"
	"slices"

	"bench/experiment/workload"
)

// A row with isolate = true runs its mix, and each class alone at its share of the rate. The ratio of a class's
// percentiles is the interference from the other classes: what separate server pools, or a fair scheduler, would save.

func (s *Spec) checkIsolate(bad func(key, problem, hint string)) {
	switch {
	case !s.Isolate:
	case len(s.Mix) < 2:
		bad("isolate", "a row without classes has none to run alone",
			"write two [[row.mix]] tables or more, or leave isolate out")
	case !s.Timed() || s.Arrival.Rate() != 0:
		bad("isolate", "a class alone gets its share of the rate, but the row has no constant rate",
			"write rate = 4, or leave isolate out")
	}
}

func (s *Spec) IsolatedPoints() []Spec {
	if !s.Isolate {
		return nil
	}
	total := 0.0
	for _, c := range s.Mix {
		total += c.Weight
	}
	var out []Spec
	for _, c := range s.Mix {
		alone := *s
		share := c.Weight / total
		alone.Alone, alone.Isolate, alone.Mix = c.Name, false, []workload.Class{c}
		alone.Rate = workload.Rate(float64(s.Rate) * share)
		if s.Requests > 0 {
			alone.Requests = max(1, int(math.Round(float64(s.Requests)*share)))
		}
		alone.Point = append(slices.Clone(s.Point), Axis{"alone", c.Name})
		out = append(out, alone)
	}
	return out
}
