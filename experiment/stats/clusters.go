package stats

import "math"

// clusteredAtMost is P(K ≤ k) for a number K of requests over a limit that come in clusters: the number of
// clusters is Poisson, their sizes are geometric (Pólya and Aeppli: Johnson, Kemp and Kotz, "Univariate
// Discrete Distributions", 3rd edition, section 9.7). mean is K's, dispersion its variance over its mean, above
// 1. Such a K is 0 far more often than a Poisson number with mean/dispersion events: a queue with few requests
// over the limit has few, large clusters, not many small ones.
func clusteredAtMost(k int, mean, dispersion float64) float64 {
	const huge = 1e200
	if k < 0 {
		return 0
	}
	stay := (dispersion - 1) / (dispersion + 1) // probability that a cluster has one more request
	starts := mean * (1 - stay)                 // mean number of clusters
	// P(K=0) = exp(−starts) and a recursion in two terms, scaled so that nothing overflows.
	before, now := 0.0, 1.0
	sum, scale := now, -starts
	for i := 1; i <= k; i++ {
		x := float64(i)
		next := ((2*stay*(x-1)+starts*(1-stay))*now - stay*stay*(x-2)*before) / x
		if i == 1 {
			next = starts * (1 - stay)
		}
		before, now = now, next
		if sum += now; sum > huge {
			before, now, sum, scale = before/huge, now/huge, sum/huge, scale+math.Log(huge)
		}
	}
	return min(1, math.Exp(math.Log(sum)+scale))
}
