package experiment

import (
	"math"
	"slices"

	"bench/experiment/workload"
)

// A row with isolate = true runs its mix, and each class of it alone at its share of the rate: what a class's p99 has more
// in the mix is what it suffers from the others, which pools of their own would spare it.

func (s *Spec) checkIsolate(bad func(key, problem, hint string)) {
	switch {
	case !s.Isolate:
	case len(s.Mix) < 2:
		bad("isolate", "there are no classes to run alone", "write two [[row.mix]] tables or more, or leave isolate out")
	case s.Rate == 0 || s.Rate.IsInf() || s.Arrival.Rate() != 0:
		bad("isolate", "a class alone has its share of the rate, and the row has none to share", "write rate = 4, or leave isolate out")
	}
}

// Isolated are the points at which each class runs alone; none where the row does not ask for them.
func (s *Spec) Isolated() []Spec {
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
