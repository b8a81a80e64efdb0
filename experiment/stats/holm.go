package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p-values of a family of tests, so that the probability of even one false alarm stays below
// the level: S. Holm, Scandinavian Journal of Statistics 6, 1979. A NaN is a test that could not be made; it
// stays NaN and does not count for the family. The result is in the order of p.
func Holm(p []float64) []float64 {
	adjusted := slices.Clone(p)
	order := fromLeast(p)
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(order)-k)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}

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
