package stats

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// InOrder is a latency (or another figure) of successive requests, with what verdicts and intervals of its
// percentiles need. Requests of one queue or batch resemble their neighbours, so that n of them are worth
// fewer independent ones; the same numbers serve every verdict, interval, grade and forecast of a row.
//
// For a percentile with a share q of the requests above it:
//
//   - Its autocorrelation time is the larger one of the exceedances of the sample's own percentile and of the
//     percentile with 2.5 q above it, and at least a share of the time of the ranks. The sample's own
//     percentile always has exceedances, where a limit may have none; its neighbour has more of them, so that
//     its time is less noisy.
//   - A window that happens to be calm also seems to forget quickly. A PASS and the upper end of an interval
//     therefore take more than twice the excess of the time over 1; a FAIL and a lower end hardly more than the
//     excess.
//   - A window shorter than 30 times the ranks' autocorrelation time (50 for a percentile in the middle) does
//     not show the dependence: it has no PASS and no upper end. Where there is any, a FAIL and a lower end take
//     half as long, but for a tail of bounded values.
//
// The numbers were chosen by simulation: docs/statistics.md has the table and its limits.
type InOrder struct {
	// Bounded: no queue without a bound is part of the values, so that they can't rise and fall over the whole
	// window: a closed loop sent the requests, or they are token times, which a full batch bounds.
	Bounded bool

	// exceedances returns, for each request, how much of its values is above the level with a share q of all
	// values above it, less the mean; and that mean, which ties can make different from q.
	exceedances func(q float64) (residuals []float64, share float64)
	n           int
	ranks       func() []float64  // of a figure of each request
	values      []float64         // one of each request; nil = many of each
	memory      float64           // autocorrelation time of the ranks; 0 = not computed yet
	levels      map[float64]level // by the share above
}

type level struct {
	time   float64 // autocorrelation time
	spread float64 // variance of a request's share above, as a share of that of all or nothing
}

const (
	passCare, failCare = 2.25, 1.1 // factors of the excess of the time over 1
	middle             = 0.1       // share above from which a percentile is in the middle
	neighbour          = 2.5
	ofRanks            = 0.35 // smallest time, as a share of the ranks'
	ofRanksMiddle      = 0.65
	floor, floorMiddle = 30, 50
)

// NewInOrder takes one value of each request, by arrival; +Inf for a failed one. It keeps the values.
func NewInOrder(values []float64) *InOrder {
	var sorted []float64
	above := func(q float64) ([]float64, float64) {
		if sorted == nil {
			sorted = slices.Sorted(slices.Values(values))
		}
		least := levelAbove(sorted, q)
		out, sum := make([]float64, len(values)), 0.0
		for i, x := range values {
			if x >= least {
				out[i] = 1
				sum++
			}
		}
		return centred(out, sum/float64(len(out))), sum / float64(len(out))
	}
	return &InOrder{exceedances: above, n: len(values), values: values, ranks: func() []float64 { return ranks(values) }, levels: map[float64]level{}}
}

func (s *InOrder) rankTime() float64 {
	if s.memory == 0 {
		s.memory = DependenceOf(s.ranks()).Time
	}
	return s.memory
}

// levelAbove is the smallest value that counts as above the level: as many values as possible are at least
// that, and nearly a share q.
func levelAbove(sorted []float64, q float64) float64 {
	n := len(sorted)
	x := sorted[min(n-1, max(0, n-1-int(q*float64(n))))]
	from, to := sort.SearchFloat64s(sorted, x), sort.Search(n, func(i int) bool { return sorted[i] > x })
	if to == n || math.Abs(float64(n-from)-q*float64(n)) < math.Abs(float64(n-to)-q*float64(n)) {
		return x
	}
	return sorted[to]
}

func centred(values []float64, mean float64) []float64 {
	for i := range values {
		values[i] -= mean
	}
	return values
}

func (s *InOrder) level(q float64) level {
	if l, ok := s.levels[q]; ok {
		return l
	}
	residuals, share := s.exceedances(q)
	l := level{time: DependenceOf(residuals).Time, spread: 1}
	if whole := share * (1 - share); whole > 0 {
		// Many values in each request average out, which is worth at most a hundred requests.
		if x := stat.PopVariance(residuals, nil) / whole; math.Abs(x-1) > 1e-9 {
			l.spread = max(0.01, x)
		}
	}
	s.levels[q] = l
	return l
}

// fewestTimes is the number of the ranks' autocorrelation times in the shortest window with a PASS.
func fewestTimes(p float64) float64 {
	if min(p, 1-p) > middle {
		return floorMiddle
	}
	return floor
}

// GradeAtBest is the grade of the p-quantile of n requests that do not depend on each other.
func GradeAtBest(n int, p float64) Grade {
	effective := float64(n)
	if effective < fewestTimes(p) {
		effective = 0
	}
	return GradeOf(n, effective, p)
}

// weight is what n requests are worth at a percentile: n/pass independent ones for a PASS, n/fail for a FAIL.
type weight struct {
	pass, fail float64
	fewest     float64 // requests that a PASS takes at least
	fewestFail float64 // requests that a FAIL takes at least
}

func (s *InOrder) timeAt(p float64) float64 {
	time, memory := s.level(1-p).time, s.rankTime()
	if min(p, 1-p) > middle {
		return max(time, ofRanksMiddle*memory)
	}
	return max(time, s.level(neighbour*(1-p)).time, ofRanks*memory)
}

func (s *InOrder) weight(p float64) weight {
	q := min(p, 1-p)
	own := s.level(1 - p)
	time, least, memory := s.timeAt(p), fewestTimes(p), s.rankTime()
	excess := excessOf(time, float64(s.n))
	w := weight{pass: own.spread * (1 + excess*passCare), fail: own.spread * (1 + excess*failCare), fewest: least * memory}
	if q > middle || !s.Bounded {
		w.fewestFail = least / 2 * (memory - 1)
	}
	return w
}

// excessOf is the excess over 1 of an autocorrelation time from n values, less what independent ones also show.
func excessOf(time, n float64) float64 { return max(0, time-1-2/math.Sqrt(n)) }

type Decision struct {
	Verdict Verdict
	// Effective is the number of independent requests that these are worth for the verdict, or for a PASS if it
	// is undecided.
	Effective float64
	// Need is the number of requests to add for a verdict if the share over the limit and the dependence stay:
	// for Pass if the share is below the allowed one, else for Fail. 0 = decided, or ten million do not decide.
	Need int
}

// Decide checks whether the p-quantile is within a limit that `over` requests exceed; a request with a part of
// its values above it counts as that part. Each of Pass and Fail is wrong with a probability of at most about
// 1-confidence. For independent requests it is MLPerf LoadGen's rule (Decide).
func (s *InOrder) Decide(over, p, confidence float64) Decision {
	if s.n == 0 {
		return Decision{Verdict: Undecided}
	}
	w, n, risk := s.weight(p), float64(s.n), 1-confidence
	switch {
	case w.passes(n, math.Ceil(over-1e-9), p, risk):
		return Decision{Verdict: Pass, Effective: n / w.pass}
	case w.fails(n, math.Floor(over+1e-9), p, risk):
		return Decision{Verdict: Fail, Effective: n / w.fail}
	}
	return Decision{Verdict: Undecided, Effective: n / w.pass, Need: w.need(n, over, p, risk)}
}

// passes reports whether so few requests over the limit have a probability of at most risk if a share of 1-p
// were over it.
func (w weight) passes(n, over, p, risk float64) bool {
	if n < w.fewest {
		return false
	}
	mean, dispersion := n*(1-p), p*w.pass
	// Rare exceedances that come in clusters; far from 0 both forms agree, and this one is dear.
	if 1-p <= middle && dispersion > 1 && mean < 1e5 {
		return clusteredAtMost(int(over), mean, dispersion) <= risk
	}
	return atLeastShare((n-over)/w.pass, n/w.pass, p) <= risk
}

func (w weight) fails(n, over, p, risk float64) bool {
	return n >= w.fewestFail && atLeastShare(over/w.fail, n/w.fail, 1-p) <= risk
}

func atLeastShare(k, n, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(k, n-k+1, p)
}

func (w weight) need(n, over, p, risk float64) int {
	if k := int(over); w.pass == 1 && w.fail == 1 && float64(k) == over {
		_, need := Decide(int(n), k, p, 1-risk)
		return max(need, int(math.Ceil(w.fewest-n)))
	}
	share := over / n
	decided := func(more int) bool {
		x := n + float64(more)
		if share < 1-p {
			return w.passes(x, math.Ceil(share*x-1e-9), p, risk)
		}
		return share > 1-p && w.fails(x, math.Floor(share*x+1e-9), p, risk)
	}
	if more := first(decided); more < math.MaxInt {
		return more
	}
	return 0
}

// interval is the interval of the p-quantile of the process that made the values, which sorted has in ascending
// order. It is between two order statistics: the lowest value that passes as a limit, and the highest one that
// fails, each with half of the risk. An end is infinite if the window does not bound the percentile.
func (s *InOrder) interval(sorted ranked, p, confidence float64) Interval {
	iv := unbounded()
	size := sorted.size()
	if size == 0 || math.IsNaN(sorted.at(0)) || !(p > 0 && p < 1 && confidence > 0 && confidence < 1) {
		return iv
	}
	w, n, tail := s.weight(p), float64(s.n), (1-confidence)/2
	requests := func(values int) float64 { return float64(values) * n / float64(size) }
	if n >= w.fewest {
		most := sort.Search(size, func(k int) bool { return !w.passes(n, math.Ceil(requests(k)-1e-9), p, tail) }) - 1
		if most >= 0 {
			iv.Hi = sorted.at(size - 1 - most)
		}
	}
	if least := sort.Search(size+1, func(k int) bool { return w.fails(n, requests(k), p, tail) }); least >= 1 && least <= size {
		iv.Lo = sorted.at(size - least)
	}
	return iv
}

// DecideFar is Decide, but values that are all far from the limit decide like independent ones. least and most are
// the extreme values.
func (s *InOrder) DecideFar(limit, least, most, over, p, confidence float64) Decision {
	d := s.Decide(over, p, confidence)
	if d.Verdict != Undecided || !s.farFrom(limit, least, most) {
		return d
	}
	v, need := Decide(s.n, int(math.Ceil(over-1e-9)), p, confidence)
	return Decision{Verdict: v, Need: need, Effective: float64(s.n)}
}

// farFrom reports whether all values are far from a limit: below a tenth of it (bounded values: half) or above ten
// times the limit (twice), or three times their own range above it; bounded values also as far below it. A queue
// that grows slowly begins far below its limit too.
func (s *InOrder) farFrom(limit, least, most float64) bool {
	width := 3 * (most - least)
	if s.Bounded {
		return most <= limit/2 || least > 2*limit || limit-most >= width || least-limit >= width
	}
	return most <= limit/10 && !rises(s.values, 12) || least > 10*limit || least-limit >= width
}

// Effective is the number of independent requests that these are worth at the p-quantile, for a PASS.
func (s *InOrder) Effective(p float64) float64 { return float64(s.n) / s.weight(p).pass }

// needed is the number of requests that makes the p-quantile Sound, if the dependence stays.
func (s *InOrder) needed(p float64) int {
	const times = 100 // of the ranks' autocorrelation, from which verdicts keep their promise
	return int(math.Ceil(max(times*s.rankTime(), fewestTimes(p), float64(soundSamples(p))*s.weight(p).pass)))
}
