package stats

import (
	"cmp"
	"math"
	"slices"
)

// MSER5 is the number of values at the beginning that belong to a warm-up that was too short: those without
// which the standard error of the mean of the rest is smallest, in batches of five (White, "An Effective
// Truncation Heuristic for Bias Reduction in Simulation Output", Simulation 69(6), 1997; White, Cobb and
// Spratt, Winter Simulation Conference 2000). It is at most half of the values; a half means that no steady
// part was found. ok is false for fewer than 50 values.
func MSER5(values []float64) (cut int, ok bool) {
	const batch, fewest = 5, 10
	m := len(values) / batch
	if m < fewest {
		return 0, false
	}
	means := make([]float64, m)
	for i := range means {
		for _, x := range values[i*batch : (i+1)*batch] {
			means[i] += x / batch
		}
	}
	// Sums over the batches from d on, relative to their overall mean, so that squares stay small.
	centre := 0.0
	for _, y := range means {
		centre += y / float64(m)
	}
	sum, squares, best, at := 0.0, 0.0, math.Inf(1), 0
	for d := m - 1; d >= 0; d-- {
		y := means[d] - centre
		sum, squares = sum+y, squares+y*y
		if rest := float64(m - d); d <= m/2 {
			if e := (squares - sum*sum/rest) / (rest * rest); e <= best { // of equal ones, the shorter cut
				best, at = e, d
			}
		}
	}
	return at * batch, true
}

type Trend struct {
	Change float64 `json:"change"` // over the whole length, as a share of the median; from the median of all slopes
	P      float64 `json:"p"`      // probability that a series without a trend shows one as clear
}

// trendBlocks is the number of blocks that are compared: few enough to be nearly independent, enough for a
// small P.
const trendBlocks = 20

// BlockTrend tests for a trend in values in time order, by the means of 20 blocks. ok is false for fewer than
// 100 values.
func BlockTrend(values []float64) (t Trend, ok bool) {
	if len(values) < 5*trendBlocks {
		return Trend{}, false
	}
	return TrendOf(blockMeans(values, trendBlocks)), true
}

// TrendOf tests for a trend in nearly independent values, with Mann and Kendall's test and Theil and Sen's
// slope (Kendall, "Rank Correlation Methods", 1970; Sen, Journal of the American Statistical Association 63,
// 1968). Both use ranks or medians, so that a few outliers do not make a trend.
func TrendOf(values []float64) Trend {
	n := len(values)
	score := 0
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, a := range values {
		for j := i + 1; j < n; j++ {
			score += cmp.Compare(values[j], a)
			slopes = append(slopes, (values[j]-a)/float64(j-i))
		}
	}
	slices.Sort(slopes)
	t := Trend{P: kendallP(score, values)}
	sorted := slices.Sorted(slices.Values(values))
	if centre := Quantile(sorted, 0.5); centre != 0 {
		t.Change = Quantile(slopes, 0.5) * float64(n-1) / math.Abs(centre)
	}
	return t
}

// kendallP is two-sided, by the normal approximation with the correction for ties and continuity: correct to
// a few per cent from ten values on.
func kendallP(score int, values []float64) float64 {
	pairs := func(n float64) float64 { return n * (n - 1) * (2*n + 5) }
	variance := pairs(float64(len(values)))
	for _, times := range tally(values) {
		variance -= pairs(float64(times))
	}
	if variance <= 0 || score == 0 {
		return 1
	}
	z := (math.Abs(float64(score)) - 1) / math.Sqrt(variance/18)
	return math.Erfc(z / math.Sqrt2)
}

func tally(values []float64) map[float64]int {
	times := map[float64]int{}
	for _, x := range values {
		times[x]++
	}
	return times
}
