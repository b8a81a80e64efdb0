// Package loadgentest is MLPerf LoadGen's early stopping, for independent requests: the judge of package stats is held
// against it. It shares no code with that package.
package loadgentest

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Decide checks whether the p-quantile is within a limit that `over` of n requests exceeded (0 ≤ over ≤ n),
// so that a share of 1-p may exceed it. Pass is the rule of MLPerf LoadGen's early stopping
// (loadgen/early_stopping.cc in mlcommons/inference; MLPerf's confidence is 0.99): if the true share over the
// limit were as large as allowed, a number as small as `over` would have a probability of at most
// 1-confidence. Fail is the reverse: if the true share were only as large as allowed, a number as large as
// `over` would have at most that probability. Anything else is Undecided.
//
// need is the number of requests to add for a verdict if the share over the limit stays the same: for Pass if
// it is below the allowed share, else for Fail. It is 0 if the verdict is decided, and also if the share is
// so close to the allowed one that ten million requests would not decide.
//
// The verdict is valid for one look. To ask after every request and stop at the first verdict is wrong more
// often than 1-confidence.
func Decide(n, over int, p, confidence float64) (verdict string, need int) {
	switch {
	case passes(n, over, p, confidence):
		return "PASS", 0
	case fails(n, over, p, confidence):
		return "FAIL", 0
	case float64(over) < (1-p)*float64(n) || over == 0:
		return "UNDECIDED", max(0, passTotal(n, over, p, confidence)-n)
	default:
		return "UNDECIDED", max(0, failTotal(n, over, p, confidence)-n)
	}
}

func passes(n, over int, p, confidence float64) bool {
	return atLeast(n-over, n, p) <= 1-confidence
}

func fails(n, over int, p, confidence float64) bool {
	return atLeast(over, n, 1-p) <= 1-confidence
}

// earlyStopTotal is the smallest number of requests that Pass with t of them over the limit: h+t for the
// smallest h with I_p(h, t+1) ≤ 1-confidence. It is 0 for p or confidence outside (0, 1), where there is no
// such number.
func earlyStopTotal(t int, p, confidence float64) int {
	if !(p > 0 && p < 1 && confidence > 0 && confidence < 1) {
		return 0
	}
	h := first(func(h int) bool { return passes(h+t, t, p, confidence) })
	if h == math.MaxInt {
		return 0
	}
	return h + t
}

// passTotal is the number of requests that Pass if the share over/n stays the same, rounded up; 0 if none
// does. With t over the limit the sample can have grown to ⌊t·n/over⌋, so the first t for which that is
// enough determines the number.
func passTotal(n, over int, p, confidence float64) int {
	if over == 0 {
		return earlyStopTotal(0, p, confidence)
	}
	t, ok := firstOver(n, over, func(t int) bool { return passes(t*n/over, t, p, confidence) })
	if !ok {
		return 0
	}
	return max(earlyStopTotal(t, p, confidence), (t-1)*n/over+1)
}

// failTotal is the number of requests that Fail if the share over/n stays the same, rounded down; 0 if none
// does. Request t over the limit comes at ⌈t·n/over⌉ at the latest, where the share is highest.
func failTotal(n, over int, p, confidence float64) int {
	total := func(t int) int { return (t*n + over - 1) / over }
	t, ok := firstOver(n, over, func(t int) bool { return fails(total(t), t, p, confidence) })
	if !ok {
		return 0
	}
	return total(t)
}

// firstOver is the smallest number over the limit, above the present one, that is decided; false if that
// takes more than farthest requests.
func firstOver(n, over int, decided func(t int) bool) (t int, ok bool) {
	room := int(float64(over) / float64(n) * farthest)
	more := first(func(m int) bool { return over+m > room || decided(over+m) })
	return over + more, over+more <= room
}

// atLeast is P(K ≥ k) for K ~ Binomial(n, p), by the regularised incomplete beta function: I_p(k, n-k+1).
func atLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// first is the smallest positive number that is ok, if all above it are, too; math.MaxInt beyond farthest.
func first(ok func(n int) bool) int {
	high := 1
	for !ok(high) {
		if high > farthest {
			return math.MaxInt
		}
		high *= 2
	}
	low := high / 2
	return low + 1 + sort.Search(high-low-1, func(i int) bool { return ok(low + 1 + i) })
}

// farthest is the largest number of requests that a search considers.
const farthest = 10_000_000
