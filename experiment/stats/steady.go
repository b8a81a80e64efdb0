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

// Overloaded reports whether latencies by arrival show a server that does not keep up with the rate: they rise
// from eighth to eighth of the window, and nearly all of the last quarter are over the limit of the p-quantile
// (below p90 over four times the limit, since a queue is often above its median). Such a series depends on itself
// over its whole length, so that no count of exceedances decides it. However they depend, a process with a share of
// 1-p over the limit has a last quarter like that in at most (1-p)/0.95 of its windows (Markov's inequality), and rises
// in fewer. +Inf is a failed request.
func Overloaded(values []float64, limit, p float64) bool {
	clear := 12
	if p < farTail {
		limit, clear = 4*limit, 26
	}
	return EndsOver(values, limit) && rises(values, clear)
}

func FarOver(values []float64, limit, p float64) bool {
	return p >= farTail && EndsOver(values, 3*limit)
}

const farTail = 0.9

// NearlyAll is the share of the last quarter of the values that EndsOver asks for.
const NearlyAll = 0.95

// EndsOver reports whether nearly all of the last quarter of the values are over the limit. It needs 32 values.
func EndsOver(values []float64, limit float64) bool {
	const fewest = 32
	last, over := values[len(values)-len(values)/4:], 0
	for _, x := range last {
		if x > limit {
			over++
		}
	}
	return len(values) >= fewest && float64(over) >= NearlyAll*float64(len(last))
}

// rises reports whether the medians of the eighths rise, by Kendall's score: 28 if each is above all before it;
// independent values reach 26 once in 5,040, and 12 once in 14. Fewer than 32 values do not show it.
func rises(values []float64, clear int) bool {
	const eighths = 8
	n, medians := len(values), make([]float64, eighths)
	if n < 4*eighths {
		return false
	}
	for i := range medians {
		part := slices.Sorted(slices.Values(values[i*n/eighths : (i+1)*n/eighths]))
		medians[i] = part[len(part)/2]
	}
	score := 0
	for i, a := range medians {
		for _, b := range medians[i+1:] {
			if math.IsInf(b, 1) { // time-outs only hide how far it rose
				score++
			} else {
				score += cmp.Compare(b, a)
			}
		}
	}
	return score >= clear
}
