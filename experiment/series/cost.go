package series

import (
	"cmp"
	"slices"

	"bench/experiment/record"
)

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
