package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (e *Measured) judgeMean(v *record.Verdict, o *observed, confidence float64) {
	l := o.limit
	switch {
	case o.failed > 0:
		decide(v, stats.Fail, fmt.Sprintf("%d requests %s, and rank as infinite: the mean has no value", o.failed,
			o.missing()))
		return
	case len(o.values) == 0:
		decide(v, stats.Undecided, notMeasured)
		return
	}
	interval := func(values []float64) stats.Interval {
		return stats.MeanInterval(values, confidence, rand.New(rand.NewPCG(record.Seed, 2)))
	}
	n, mean, iv := len(o.values), stat.Mean(o.values, nil), interval(o.values)
	v.Value, v.Observed, v.Interval = &mean, n, &iv
	decide(v, iv.Against(l.Value), fmt.Sprintf("mean %s ms %s (%s %%, n=%d)", unit.Brief(mean, 4), EndsText(iv),
		unit.Brief(100*confidence, 4), n))
	low, high := e.endsOf(l.Metric, v.Class)
	switch {
	case v.Verdict == stats.Pass && !high.untouched() &&
		interval(high.values(o.requests, o.values)).Against(l.Value) != stats.Pass:
		openBy(v, &high)
	case v.Verdict == stats.Fail && !low.untouched() &&
		interval(low.values(o.requests, o.values)).Against(l.Value) != stats.Fail:
		openBy(v, &low)
	case v.Verdict == stats.Undecided && math.IsInf(iv.Lo, 0):
		setNeed(v, max(n, fewestOfMean-n)) // the window is too short to show the dependence
	case v.Verdict == stats.Undecided:
		if !math.IsInf(iv.Hi, 0) {
			v.Within = new(meanWithin(mean, l.Value, iv, confidence))
		}
		if lean := Lean(v); lean != "" {
			v.Why += "; " + lean
		}
		setNeed(v, meanNeed(n, mean, l.Value, iv))
	}
}

// meanWithin is the probability that a mean is within a limit: the interval's reach towards it, as of a normal
// distribution.
func meanWithin(mean, limit float64, iv stats.Interval, confidence float64) float64 {
	normal := distuv.UnitNormal
	reach := iv.Hi - mean
	if mean > limit {
		reach = mean - iv.Lo
	}
	return normal.CDF((limit - mean) / reach * normal.Quantile((1+confidence)/2))
}

const fewestOfMean = 30

// EndsText is an interval: "[30.1, 33]"; an end that the window does not bound is a dash.
func EndsText(iv stats.Interval) string {
	end := func(x float64) string {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return "–"
		}
		return unit.Brief(x, 4)
	}
	return "[" + end(iv.Lo) + ", " + end(iv.Hi) + "]"
}

// meanNeed is the number of further requests with which the interval leaves the limit; 0 if above ten million.
func meanNeed(n int, mean, limit float64, iv stats.Interval) int {
	reach := iv.Hi - mean
	if mean > limit {
		reach = mean - iv.Lo
	}
	total := math.Ceil(float64(n) * math.Pow(reach/(mean-limit), 2)) // +Inf if mean = limit
	if !(total <= 1e7) {
		return 0
	}
	return max(1, int(total)-n)
}
