package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// InOrder is a latency (or another figure) of successive requests, with what verdicts and intervals of its
// percentiles need. Requests of one queue or batch resemble their neighbours, so that n of them are worth fewer
// independent ones. Two rules make every interval and every verdict of a row:
//
//   - Bounded values are judged by their size (bySections), in a tail also by counts: no queue without a bound is part
//     of them.
//   - Values of an open queue are judged by counting alone (below): the window may lack the times when the queue is
//     long, which no size of the others shows.
//
// Counting: for a percentile with a share q of the requests above it,
//
//   - its autocorrelation time is the larger one of the exceedances of the sample's own percentile and of the
//     percentile with 2.5 q above it, and at least a share of the time of the ranks. The sample's own percentile
//     always has exceedances, where a limit may have none; its neighbour has more of them, so that its time is less
//     noisy.
//   - A window that happens to be calm also seems to forget quickly. An upper end therefore takes more than the
//     excess of the time over 1: 2.5 times in a window of 50 times, less in longer ones; and 0.4 of the nominal risk.
//   - A window shorter than 35 times the longer one of the ranks' autocorrelation time and the requests in flight (60
//     for a percentile in the middle) does not show the dependence: it has no upper end. Where there is any, a lower
//     end takes 15 (25) times.
//
// The numbers were chosen by simulation, and tested on other processes: benchmarks/statistics.md.
type InOrder struct {
	// Bounded: no queue without a bound is part of the values, so that they can't rise and fall over the whole
	// window: a closed loop sent the requests, or they are token times, which a full batch bounds.
	Bounded bool
	// Alone: the requests do not depend on each other, as each met an idle server, or their order means nothing, as
	// all arrived at once.
	Alone bool
	// InFlight is the mean number of requests in an open loop's server, which share its batch; 0 = unknown.
	InFlight float64

	// exceedances returns, for each request, how much of its values is above the level with a share q of all
	// values above it, less the mean; and that mean, which ties can make different from q.
	exceedances func(q float64) (residuals []float64, share float64)
	n           int
	sorted      ranked
	sectionAt   func(i int, p float64) float64 // the p-quantile of one of the successive sections
	ranks       func() []float64               // of a figure of each request
	values      []float64                      // one of each request; nil = many of each
	memory      float64                        // autocorrelation time of the ranks; 0 = not computed yet
	levels      map[float64]level              // by the share above
	like        *InOrder                       // has the same dependence; nil = none has
	last        *asked                         // nil: no interval was asked for
	rising      *bool                          // nil: not computed yet
}

// asked is an interval, kept since many limits are judged by the same one.
type asked struct {
	p, confidence float64
	interval      Interval
}

// DependLike takes the dependence from other values of the same requests: from the measured ones, where these are what
// a disturbance leaves possible.
func (s *InOrder) DependLike(measured *InOrder) { s.like = measured }

type level struct {
	time   float64 // autocorrelation time
	spread float64 // variance of a request's share above, as a share of that of all or nothing
}

const (
	failCare           = 1.1     // factor of the excess of the time over 1
	calmCare, calm     = 1.4, 50 // more of it for an upper end, in windows up to that many times long
	strict             = 0.4     // share of the nominal risk that an upper end takes, and both ends by sections
	middle             = 0.1     // share above from which a percentile is in the middle
	neighbour          = 2.5
	ofRanks            = 0.35 // smallest time, as a share of the ranks'
	ofRanksMiddle      = 0.65
	floor, floorMiddle = 35, 60
	low, lowMiddle     = 15, 25 // of a lower end
)

// NewInOrder takes one value of each request, by arrival; +Inf for a failed one. It keeps the values.
func NewInOrder(values []float64) *InOrder {
	order := argsort(values)
	sorted := make([]float64, len(values))
	for k, i := range order {
		sorted[k] = values[i]
	}
	above := func(q float64) ([]float64, float64) {
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
	var parts [sections]ascending
	sectionAt := func(i int, p float64) float64 {
		if n := len(values); parts[i] == nil {
			parts[i] = sortedCopy(values[i*n/sections : (i+1)*n/sections])
		}
		return quantile(parts[i], p)
	}
	return &InOrder{exceedances: above, n: len(values), values: values, sorted: ascending(sorted), sectionAt: sectionAt,
		ranks: func() []float64 { return ranksIn(order, values) }, levels: map[float64]level{}}
}

func (s *InOrder) rankTime() float64 {
	if s.like != nil {
		return s.like.rankTime()
	}
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
	if s.like != nil {
		return s.like.level(q)
	}
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

func (s *InOrder) weight(p float64) weight { return s.weightOf(p, float64(s.n)) }

// weightOf is the weight in a window of n requests with the same dependence.
func (s *InOrder) weightOf(p, n float64) weight {
	q := min(p, 1-p)
	own := s.level(1 - p)
	if s.Alone {
		return weight{pass: own.spread, fail: own.spread}
	}
	least, memory := fewestTimes(p), s.rankTime()
	excess := excessOf(s.timeAt(p), float64(s.n))
	care := failCare + calmCare*math.Sqrt(min(1, calm*memory/n))
	w := weight{pass: own.spread * (1 + excess*care), fail: own.spread * (1 + excess*failCare),
		fewest: least * max(memory, s.InFlight)}
	switch {
	case q > middle:
		w.fewestFail = lowMiddle * (memory - 1)
	case !s.Bounded:
		w.fewestFail = low * (memory - 1)
	}
	return w
}

// excessOf is the excess over 1 of an autocorrelation time from n values, less what independent ones also show.
func excessOf(time, n float64) float64 { return max(0, time-1-2/math.Sqrt(n)) }

// FewestForShare is the smallest number of requests, none of which failed, with which a share of failed ones passes.
func FewestForShare(limit, confidence float64) int {
	return first(farthest, func(n int) bool { return math.Pow(1-limit, float64(n)) <= (1-confidence)/2 })
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

// Interval is the two-sided interval of the p-quantile of the process that made the values. An end is infinite if the
// window does not bound the percentile.
func (s *InOrder) Interval(p, confidence float64) Interval {
	if size := s.sorted.size(); size == 0 || math.IsNaN(s.sorted.at(0)) || !(p > 0 && p < 1 && confidence > 0 &&
		confidence < 1) {
		return unbounded()
	}
	if s.last != nil && s.last.p == p && s.last.confidence == confidence {
		return s.last.interval
	}
	iv := s.byCounts(s.weight(p), p, s.upperRisk(confidence), (1-confidence)/2)
	if s.Bounded && !s.Alone {
		if by, ok := s.bySections(p, confidence); ok {
			if min(p, 1-p) <= middle { // the narrower one; a median of nearly equal values counts are too sure of
				by = Interval{max(iv.Lo, by.Lo), min(iv.Hi, by.Hi)}
			}
			iv = by
		}
	}
	s.last = &asked{p, confidence, iv}
	return iv
}

// byCounts is between two order statistics: the lowest value that passes as a limit, and the highest one that fails.
func (s *InOrder) byCounts(w weight, p, upperRisk, lowerRisk float64) Interval {
	iv, size, n := unbounded(), s.sorted.size(), float64(s.n)
	requests := func(values int) float64 { return float64(values) * n / float64(size) }
	if n >= w.fewest {
		most := sort.Search(size, func(k int) bool {
			return !w.passes(n, math.Ceil(requests(k)-1e-9), p, upperRisk)
		}) - 1
		if most >= 0 {
			iv.Hi = s.sorted.at(size - 1 - most)
		}
	}
	if least := sort.Search(size+1, func(k int) bool { return w.fails(n, requests(k), p, lowerRisk) }); least >= 1 &&
		least <= size {
		iv.Lo = s.sorted.at(size - least)
	}
	return iv
}

// far bounds by ten times the values of a window in which nothing rises, and bounded ones by twice: they do not go that
// far, however the requests depend on each other.
func (s *InOrder) far(iv Interval, p, confidence float64) Interval {
	far, grows := 10.0, false
	if s.Bounded {
		far = 2
	} else {
		grows = s.grows()
	}
	if s.values == nil || s.Alone || s.n < MinSamples(p, confidence) {
		return iv
	}
	least, most := s.values[0], s.values[0]
	for _, x := range s.values {
		least, most = min(least, x), max(most, x)
	}
	if most > 0 && !grows {
		iv.Hi = min(iv.Hi, far*most)
	}
	if least > 0 {
		iv.Lo = max(iv.Lo, least/far)
	}
	return iv
}

func (s *InOrder) grows() bool {
	if s.rising == nil {
		s.rising = new(rises(s.values, 12))
	}
	return *s.rising
}

// Quantile is the p-quantile of the values themselves.
func (s *InOrder) Quantile(p float64) float64 { return quantile(s.sorted, p) }

// Effective is the number of independent requests that these are worth at the p-quantile, for a PASS.
func (s *InOrder) Effective(p float64) float64 { return float64(s.n) / s.weight(p).pass }

// needed is the number of requests that makes the p-quantile Sound, if the dependence stays.
func (s *InOrder) needed(p float64) int {
	const times = 100 // of the ranks' autocorrelation
	w := s.weight(p)
	return int(math.Ceil(max(times*s.rankTime(), fewestTimes(p), w.fewest, float64(soundSamples(p))*w.pass)))
}
