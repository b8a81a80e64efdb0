package stats

import (
	"cmp"
	"slices"
)

type Point struct{ Cost, Gain float64 }

// Frontier returns the indexes of the points that no other point dominates, by ascending Cost. Equal points are all
// returned; a point with a NaN or an infinity never is.
func Frontier(points []Point) []int {
	order := make([]int, 0, len(points))
	for i, p := range points {
		if isFinite(p.Cost) && isFinite(p.Gain) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := points[i], points[j]
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(b.Gain, a.Gain), cmp.Compare(i, j))
	})
	frontier := []int{} // never nil, so that it is a list in JSON
	for _, i := range order {
		if len(frontier) > 0 {
			last := points[frontier[len(frontier)-1]]
			if points[i] != last && points[i].Gain <= last.Gain {
				continue
			}
		}
		frontier = append(frontier, i)
	}
	return frontier
}

func isFinite(x float64) bool { return finite(x) != nil }
