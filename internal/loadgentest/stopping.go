// Package loadgentest is the rule of MLPerf LoadGen's early stopping, for independent requests: the judge of package
// stats is held against it. It shares no code with that package.
package loadgentest

import "gonum.org/v1/gonum/mathext"

// Decide checks whether the p-quantile is within a limit that `over` of n requests exceeded (0 ≤ over ≤ n),
// so that a share of 1-p may exceed it. Pass is the rule of MLPerf LoadGen's early stopping
// (loadgen/early_stopping.cc in mlcommons/inference; MLPerf's confidence is 0.99): if the true share over the
// limit were as large as allowed, a number as small as `over` would have a probability of at most
// 1-confidence. Fail is the reverse: if the true share were only as large as allowed, a number as large as
// `over` would have at most that probability. Anything else is Undecided.
//
// The verdict is valid for one look. To ask after every request and stop at the first verdict is wrong more
// often than 1-confidence.
func Decide(n, over int, p, confidence float64) (verdict string) {
	switch {
	case atLeast(n-over, n, p) <= 1-confidence:
		return "PASS"
	case atLeast(over, n, 1-p) <= 1-confidence:
		return "FAIL"
	}
	return "UNDECIDED"
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
