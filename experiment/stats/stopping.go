package stats

import "math"

// Verdict says whether a limit on a percentile is met.
type Verdict string

// Pass and Fail are certain to the confidence asked for; Undecided means that the sample is too small to tell.
const (
	Pass      Verdict = "PASS"
	Fail      Verdict = "FAIL"
	Undecided Verdict = "UNDECIDED"
)

// Decide says whether the p-quantile lies within a limit that `over` of n requests exceeded (0 ≤ over ≤ n), so that a share
// of 1-p may. Pass is the rule of MLPerf LoadGen's early stopping (loadgen/early_stopping.cc in mlcommons/inference;
// MLPerf's confidence is 0.99): were the share over the limit as large as allowed, so few would be over with a
// probability of at most 1-confidence. Fail is the same test turned round: were the share only as large as allowed, so many
// would be over with at most that probability. Anything else is Undecided.
//
// need is the number of requests to add to these n for a verdict if the share over the limit stays as it is: for Pass
// when fewer are over than allowed, else for Fail. It is 0 when the verdict is there already, and also when the share is so
// close to the allowed one that ten million requests would not tell.
//
// The verdict holds for one look. Asking after every request, and stopping at the first answer, is wrong more
// often than 1-confidence says.
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

// EarlyStopTotal is the smallest number of requests with which t of them over the limit still Pass: h+t for the
// smallest h with I_p(h, t+1) ≤ 1-confidence. It is 0 for p or confidence outside (0, 1), where no number is right.
func EarlyStopTotal(t int, p, confidence float64) int {
	if !(p > 0 && p < 1 && confidence > 0 && confidence < 1) {
		return 0
	}
	h := first(func(h int) bool { return passes(h+t, t, p, confidence) })
	if h == math.MaxInt {
		return 0
	}
	return h + t
}

// passTotal is the number of requests after which `over` of n, kept up and rounded up, Pass; 0 if never. With t over the
// limit the sample can have grown to ⌊t·n/over⌋, so the first t for which that is enough gives the number.
func passTotal(n, over int, p, confidence float64) int {
	if over == 0 {
		return EarlyStopTotal(0, p, confidence)
	}
	t, ok := firstOver(n, over, func(t int) bool { return passes(t*n/over, t, p, confidence) })
	if !ok {
		return 0
	}
	return max(EarlyStopTotal(t, p, confidence), (t-1)*n/over+1)
}

// failTotal is the number of requests after which `over` of n, kept up and rounded down, Fail; 0 if never. The t-th
// request over the limit comes at ⌈t·n/over⌉ at the latest, and there the share is highest.
func failTotal(n, over int, p, confidence float64) int {
	total := func(t int) int { return (t*n + over - 1) / over }
	t, ok := firstOver(n, over, func(t int) bool { return fails(total(t), t, p, confidence) })
	if !ok {
		return 0
	}
	return total(t)
}

// firstOver is the smallest number over the limit, above the one seen, for which the verdict is reached; false
// if that takes more than farthest requests.
func firstOver(n, over int, decided func(t int) bool) (t int, ok bool) {
	room := int(float64(over) / float64(n) * farthest)
	more := first(func(m int) bool { return over+m > room || decided(over+m) })
	return over + more, over+more <= room
}
