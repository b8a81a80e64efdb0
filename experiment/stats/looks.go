package stats

import (
	"cmp"
	"math"
	"slices"
)

// Looks are the moments at which a row with until = "decided" may be evaluated: after firstLook requests, and
// after each doubling. Deciding after every request with the confidence of one look would be wrong far more
// often than that confidence states. Instead the risk is divided among the looks: look k takes 1/(k·(k+1)) of
// it, which sums to at most all of it.
type Looks struct {
	Risk float64 // of a wrong decision over all looks; 0.01 = 1 %
}

// firstLook is the number of requests at the first look: fewer seldom decide.
const firstLook = 64

// At is the number of requests at look k, counted from 1.
func (Looks) At(k int) int { return firstLook << (k - 1) }

// Confidence is the confidence of look k alone.
func (l Looks) Confidence(k int) float64 { return 1 - l.Risk/float64(k*(k+1)) }

// DecideInOrder is Decide for requests that depend on each other. values are in time order, with +Inf for a
// failed request. time is the autocorrelation time used (OverrunTime), or 1 if the result does not depend on
// it.
func DecideInOrder(values []float64, limit, p, confidence float64) (v Verdict, time float64) {
	n, over := len(values), 0
	for _, x := range values {
		if !(x <= limit) {
			over++
		}
	}
	if DecideDependent(n, over, 1, p, confidence) == Undecided { // dependent requests decide even less
		return Undecided, 1
	}
	time = OverrunTime(values, limit)
	return DecideDependent(n, over, time, p, confidence), time
}

// DecideDependent is Decide for n requests, over of them above the limit, that are worth n/time and over/time
// independent ones. It rounds towards Undecided.
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

// OverrunTime is the autocorrelation time of exceeding a limit. The requests above it may be too few to show
// whether they come in bursts, so the ranks of the values are used too: if slow requests come together,
// latencies rise and fall together. An autocorrelation time from few values has a relative error of about
// √(10·time/n) (Sokal, "Monte Carlo Methods in Statistical Mechanics", 1997, section 3); two such errors are
// added.
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

// ranks returns the ranks of the values in ascending order; equal values get the mean of their ranks.
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

// argsort returns the indexes that sort values in ascending order.
func argsort(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}
