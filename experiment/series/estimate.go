package series

import (
	"math"

	"bench/experiment"
	"bench/experiment/stats"
)

// Estimate is the highest load that meets the SLO by all points of a series together. ok is false for one load, and
// where the points show neither end.
func (s *Series) Estimate() (b stats.Bracket, ok bool) {
	if s.Twin != nil && s.Twin.Rejected == "" && s.Twin.Outside == "" {
		return s.Twin.Bracket, s.Twin.Best != nil
	}
	k, all := s.asSearch(false)
	if k == nil {
		return b, false
	}
	b = k.Algorithm().Between(all)
	return b, b.Best != nil
}

// asSearch takes the points of a series as the probes of a search, or of their own one; nil: they are of one load.
// anyLimits takes points without a verdict, too.
func (s *Series) asSearch(anyLimits bool) (*experiment.Search, []stats.Probe) {
	k := &experiment.Search{Axis: s.Axis, Goal: experiment.GoalSLO, Min: math.Inf(1),
		Tolerance: experiment.DefaultTolerance}
	var all []stats.Probe
	loads := map[float64]bool{}
	for i := range s.Points {
		p := &s.Points[i]
		load := s.load(p.Rows[0])
		if !p.Valid || p.SLO == "" && !anyLimits || math.IsInf(load, 1) || load <= 0 || p.Rows[0].Spec.IsColdStart() {
			continue
		}
		k.Min, k.Max, loads[load] = min(k.Min, load), max(k.Max, load), true
		for _, r := range p.Rows {
			all = append(all, probe(k, r))
		}
	}
	if len(loads) < 2 {
		return nil, nil
	}
	const beyond = 2 // beside the points the estimate ends there
	k.Min, k.Max = k.Min/beyond, k.Max*beyond
	if s.Axis == "concurrency" {
		k.Min, k.Max = max(1, math.Floor(k.Min)), math.Ceil(k.Max)
	}
	if search := s.Points[0].Rows[0].Spec.Search; search != nil {
		return search, all
	}
	return k, all
}
