package series

import (
	"cmp"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// PointCost is the cost of one point of a series.
type PointCost struct {
	Point     int         `json:"point"`                  // index in the series' points
	Cost      record.Cost `json:"cost"`                   // of the repeat with the median cost, the higher of two
	AtMaxLoad bool        `json:"at_max_load_within_slo"` // the point is the series' max load within the SLO
}

// Costs are the costs of the valid points that meet the SLO (or have none), by ascending load.
func (s *Series) Costs() []PointCost {
	var out []PointCost
	for i := range s.Points {
		p := &s.Points[i]
		if !p.Valid || (p.SLO != "" && p.SLO != stats.Pass) {
			continue
		}
		if c := MedianCost(p.Rows); c != nil {
			out = append(out, PointCost{Point: i, Cost: *c, AtMaxLoad: s.MaxLoadWithinSLO.Point != nil && *s.MaxLoadWithinSLO.Point == i})
		}
	}
	return out
}

// MedianCost is the median cost of a point's repeats; nil: a repeat has none.
func MedianCost(rows []*record.Row) *record.Cost {
	costs := make([]*record.Cost, 0, len(rows))
	for _, r := range rows {
		if r.Cost == nil {
			return nil
		}
		costs = append(costs, r.Cost)
	}
	slices.SortFunc(costs, func(a, b *record.Cost) int { return cmp.Compare(a.USDPerMillion, b.USDPerMillion) })
	return costs[len(costs)/2]
}
