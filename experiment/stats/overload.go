package stats

import (
	"cmp"
	"math"
	"slices"
)

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
