package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Pairs are two measurements of each of many units, such as the two answers to one request, in time order. Units of
// one cluster (a conversation) can depend on each other, as can those that are near in time.
type Pairs struct {
	A, B    []float64
	Cluster []int // of each unit
}

// LeastPairs is the number of pairs, and LeastGroups that of clusters, below which nothing is tested.
const (
	LeastPairs  = 30
	LeastGroups = 5
)

// RatioOfMeans is the logarithm of mean(B) ÷ mean(A), linearized: what each unit adds to it is b/ΣB − a/ΣA (Cochran,
// "Sampling Techniques", 3rd edition, sections 6.3 and 6.4). A unit with large values weighs as much as its values.
func RatioOfMeans(p Pairs) Contrast {
	sumA, sumB := floats.Sum(p.A), floats.Sum(p.B)
	if !(sumA > 0 && sumB > 0) {
		return unknownContrast()
	}
	added := make([]float64, len(p.A))
	for i := range added {
		added[i] = p.B[i]/sumB - p.A[i]/sumA
	}
	return p.contrast(math.Log(sumB/sumA), added)
}

// DifferenceOfShares is the mean of B − A, of values 0 and 1. Its variance has one more unit that differs: none in n
// does not prove that none ever will.
func DifferenceOfShares(p Pairs) Contrast {
	n := float64(len(p.A))
	difference := (floats.Sum(p.B) - floats.Sum(p.A)) / n
	added := make([]float64, len(p.A))
	for i := range added {
		added[i] = (p.B[i] - p.A[i] - difference) / n
	}
	c := p.contrast(difference, added)
	c.SE = math.Sqrt(c.SE*c.SE + 1/(n*n))
	c.P = c.p()
	return c
}

// RatioOfQuantiles is the logarithm of the ratio of the share-quantiles of B and A, each by Harrell and Davis ("A New
// Distribution-Free Quantile Estimator", Biometrika 69, 1982): a weighted mean of the order statistics around it. A
// single order statistic would be the same request on both sides if requests differ more from each other than the
// servers do: its linearization cancels, and shows no variance.
func RatioOfQuantiles(p Pairs, share float64) Contrast {
	b, addedB := harrellDavis(p.B, share)
	a, addedA := harrellDavis(p.A, share)
	if math.IsNaN(a+b) || p.atOnce(share) {
		return unknownContrast()
	}
	floats.Sub(addedB, addedA)
	return p.contrast(b-a, addedB)
}

// atOnce reports whether the values of a side at the quantile and farther out are of a few moments only, such as of one
// stall: nothing shows how much the next one would differ.
func (p *Pairs) atOnce(share float64) bool {
	tail := max(share, 1-share)
	for _, values := range [][]float64{p.A, p.B} {
		limit := Quantile(slices.Sorted(slices.Values(values)), 2*tail-1)
		if share < 0.5 {
			limit = Quantile(slices.Sorted(slices.Values(values)), 2*share)
		}
		var groups [momentsOfTail]float64
		for i, x := range values {
			if share >= 0.5 && x >= limit || share < 0.5 && x <= limit {
				groups[i*momentsOfTail/len(values)]++
			}
		}
		sum, squares := 0.0, 0.0
		for _, n := range groups {
			sum, squares = sum+n, squares+n*n
		}
		if sum*sum < leastMoments*squares {
			return true
		}
	}
	return false
}

// momentsOfTail is the number of equal parts of the time in which values of a tail can be; leastMoments is the effective
// number (Kish) in which they must be.
const (
	momentsOfTail = 30
	leastMoments  = 4
)

func (p *Pairs) contrast(difference float64, added []float64) Contrast {
	v, df := clusteredVariance(added, p.Cluster)
	c := Contrast{Difference: difference, SE: math.Sqrt(v), DF: df, Source: SpreadOfPairs, P: math.NaN(), Spread: math.NaN()}
	if df > 0 {
		c.P, c.Spread = c.p(), c.SE*math.Sqrt(float64(len(added)))
	}
	return c
}

func unknownContrast() Contrast {
	return Contrast{Difference: math.NaN(), SE: math.NaN(), P: math.NaN(), Spread: math.NaN(), Source: SpreadOfPairs}
}
