package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Decision is the verdict on a limit of the p-quantile, by its interval.
type Decision struct {
	Verdict  Verdict  // PASS: the whole interval is within the limit; FAIL: it is beyond it
	Interval Interval // of the percentile
	Within   float64  // probability that the percentile is within the limit, as the interval has it
	// Need is the number of requests to add for a verdict if estimate and dependence stay; 0 = decided, or more than
	// 20 times as many as there are: the percentile is too near to the limit.
	Need int
}

const farthestNeed = 20

// Decide checks whether the p-quantile is within a limit, by its two-sided interval.
func (s *InOrder) Decide(limit, p, confidence float64) Decision {
	d := s.Verdict(limit, p, confidence)
	if s.n == 0 {
		return d
	}
	iv := s.Interval(p, confidence)
	d.Within = s.within(limit, p, iv, confidence)
	if d.Verdict == Undecided {
		d.Need = s.need(limit, p, iv, confidence)
	}
	return d
}

// Verdict is a decision without what an open one needs, which takes most of the time.
func (s *InOrder) Verdict(limit, p, confidence float64) Decision {
	if s.n == 0 {
		return Decision{Verdict: Undecided, Interval: unbounded(), Within: 0.5}
	}
	iv := s.Interval(p, confidence)
	if v := iv.Against(limit); v != Undecided {
		return Decision{Verdict: v, Interval: iv}
	}
	if far := s.far(iv, p, confidence); far.Against(limit) != Undecided {
		return Decision{Verdict: far.Against(limit), Interval: far}
	}
	return Decision{Verdict: Undecided, Interval: iv}
}

// Against is Pass if all of the interval is within the limit, Fail if it is beyond.
func (iv Interval) Against(limit float64) Verdict {
	switch {
	case iv.Hi <= limit:
		return Pass
	case iv.Lo > limit:
		return Fail
	}
	return Undecided
}

// DecideShare checks whether at most a share of the requests fails; their values are 0, or 1 if failed.
func (s *InOrder) DecideShare(limit, confidence float64) Decision {
	share, worth := s.Over(0), 1/s.weight(1-limit).pass
	at := func(n int) Interval { return ShareInterval(share, float64(n)*worth, confidence) }
	n := float64(s.n) * worth
	iv := at(s.n)
	d := Decision{Verdict: iv.Against(limit), Interval: iv,
		Within: mathext.RegIncBeta(n*share+0.5, n*(1-share)+0.5, limit)}
	if d.Verdict == Undecided {
		d.Need = s.worthwhile(float64(first(func(n int) bool { return at(n).Against(limit) != Undecided })))
	}
	return d
}

// within is by counts; of bounded values whose interval ends, it takes the logarithm of the percentile for normal about
// the estimate, on each side as wide as the interval.
func (s *InOrder) within(limit, p float64, iv Interval, confidence float64) float64 {
	estimate := quantile(s.sorted, 0, p)
	end, z := iv.Hi, distuv.UnitNormal.Quantile((1+confidence)/2)
	if limit < estimate {
		end = iv.Lo
	}
	if share := math.Log(limit/estimate) / math.Abs(math.Log(end/estimate)); s.Bounded && !math.IsNaN(share) &&
		end > 0 && !math.IsInf(end, 0) {
		return distuv.UnitNormal.CDF(z * share)
	}
	n := float64(s.n) / s.weight(p).pass // Jeffreys' posterior of the share over the limit
	over := n * s.Over(limit)
	return mathext.RegIncBeta(over+0.5, n-over+0.5, 1-p)
}

// Over is the share of the values over the limit.
func (s *InOrder) Over(limit float64) float64 {
	n := s.sorted.size()
	return float64(n-sort.Search(n, func(i int) bool { return s.sorted.at(i) > limit })) / float64(n)
}

// need is by counts; of bounded values whose interval ends, by its width, which falls with the root of the number of
// requests.
func (s *InOrder) need(limit, p float64, iv Interval, confidence float64) int {
	n, estimate := float64(s.n), quantile(s.sorted, 0, p)
	end := iv.Hi
	if limit < estimate {
		end = iv.Lo
	}
	total := n * math.Pow(math.Log(end/estimate)/math.Log(limit/estimate), 2)
	if !s.Bounded || math.IsInf(end, 0) || end <= 0 || math.IsInf(estimate, 0) || estimate <= 0 {
		total = s.fewestForEnd(limit, p, confidence)
	}
	return s.worthwhile(total)
}

func (s *InOrder) worthwhile(total float64) int {
	if more := math.Ceil(total) - float64(s.n); more >= 1 && more <= farthestNeed*float64(s.n) {
		return int(more)
	}
	return 0
}

func (s *InOrder) fewestForEnd(limit, p, confidence float64) float64 {
	n, over, risk := float64(s.n), s.Over(limit), s.upperRisk(confidence)
	total := first(func(total int) bool {
		x := float64(total)
		w := s.weightOf(p, x)
		if over < 1-p {
			return x > n && w.passes(x, math.Ceil(over*x-1e-9), p, risk)
		}
		return x > n && w.fails(x, math.Floor(over*x+1e-9), p, (1-confidence)/2)
	})
	if total == math.MaxInt {
		return math.Inf(1)
	}
	return float64(total)
}

func (s *InOrder) upperRisk(confidence float64) float64 {
	if s.Alone {
		return (1 - confidence) / 2
	}
	return strict * (1 - confidence) / 2
}
