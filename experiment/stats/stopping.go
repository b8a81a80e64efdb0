package stats

import "math"

type Verdict string

// Pass and Fail hold with the requested confidence; Undecided means that the sample is too small.
const (
	Pass      Verdict = "PASS"
	Fail      Verdict = "FAIL"
	Undecided Verdict = "UNDECIDED"
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
func Decide(n, over int, p, confidence float64) (v Verdict, need int) {
	switch {
	case passes(n, over, p, confidence):
		return Pass, 0
	case fails(n, over, p, confidence):
		return Fail, 0
	case float64(over) < (1-p)*float64(n) || over == 0:
		return Undecided, max(0, passTotal(n, over, p, confidence)-n)
	default:
		return Undecided, max(0, failTotal(n, over, p, confidence)-n)
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
