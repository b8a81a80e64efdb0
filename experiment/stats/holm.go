package stats

import "slices"

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
