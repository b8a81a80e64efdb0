package stats

import (
	"cmp"
	"math"
	"slices"
)

// FalseDiscovery adjusts the p-values of tests, so that of those below the level at most this share are false
// on average: Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57, 1995; of positively
// dependent tests too (Benjamini, Yekutieli, Annals of Statistics 29, 2001). If nothing differs, the
// probability of even one is at most the level, as with Holm. A NaN stays NaN and does not count. The result
// is in the order of p.
func FalseDiscovery(p []float64) []float64 {
	adjusted := slices.Clone(p)
	order := fromLeast(p)
	least := 1.0
	for k, i := range slices.Backward(order) {
		least = min(least, float64(len(order))/float64(k+1)*p[i])
		adjusted[i] = least
	}
	return adjusted
}

func fromLeast(p []float64) []int {
	var order []int
	for i, x := range p {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}
