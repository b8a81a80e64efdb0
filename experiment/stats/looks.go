package stats

import (
	"cmp"
	"math"
	"slices"
)

// Looks are the moments at which a row that runs until it is decided may be looked at: after FirstLook requests, and after
// each doubling. Deciding at every request, with the confidence of one look, would be wrong far more often than
// that confidence says. Here the risk is spent across the looks: the k-th takes 1/(k·(k+1)) of it, which together is all
// of it, however many there are.
type Looks struct {
	Risk float64 // of a wrong decision over all looks; 0.01 = 1 %
}

// FirstLook is after so many requests: fewer decide next to nothing.
const FirstLook = 64

// At is the number of requests at look k, counted from 1.
func (Looks) At(k int) int { return FirstLook << (k - 1) }

// Confidence is that of look k alone.
func (l Looks) Confidence(k int) float64 { return 1 - l.Risk/float64(k*(k+1)) }

// DecideInOrder is Decide for requests that depend on each other: values are theirs, in the order of their time, a failed one
// +Inf. time is the autocorrelation time that it took for them (OverrunTime), or 1 where that could change nothing.
func DecideInOrder(values []float64, limit, p, confidence float64) (v Verdict, time float64) {
	n, over := len(values), 0
	for _, x := range values {
		if !(x <= limit) {
			over++
		}
	}
	if DecideDependent(n, over, 1, p, confidence) == Undecided { // a fortiori when they are worth less
		return Undecided, 1
	}
	time = OverrunTime(values, limit)
	return DecideDependent(n, over, time, p, confidence), time
}

// DecideDependent is Decide for n requests that are worth n/time independent ones, and so are those over the limit. It rounds to
// the side of not deciding.
func DecideDependent(n, over int, time, p, confidence float64) Verdict {
	worth := func(count int) float64 { return float64(count) / max(1, time) }
	switch {
	case passes(int(worth(n)), int(math.Ceil(worth(over))), p, confidence):
		return Pass
	case fails(int(math.Ceil(worth(n))), int(worth(over)), p, confidence):
		return Fail
	}
	return Undecided
}

// OverrunTime is the autocorrelation time to take for requests over a limit. Those over it may be too few to tell whether
// they come in bursts, so the values themselves are asked too, by their ranks: a server whose slow requests come together has
// latencies that go up and down together. What few values tell of their own memory is uncertain, by about √(10·time/n) of
// it (Sokal, "Monte Carlo Methods in Statistical Mechanics", 1997, section 3), and two such errors are added.
func OverrunTime(values []float64, limit float64) float64 {
	over := make([]float64, len(values))
	for i, x := range values {
		if !(x <= limit) {
			over[i] = 1
		}
	}
	time := max(DependenceOf(over).Time, DependenceOf(ranks(values)).Time)
	return time * (1 + 2*math.Sqrt(10*time/float64(len(values))))
}

// ranks are the places of the values in ascending order; equal values share the mean of their places.
func ranks(values []float64) []float64 {
	order := argsort(values)
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

// argsort is the indexes of the values in ascending order of these.
func argsort(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}
