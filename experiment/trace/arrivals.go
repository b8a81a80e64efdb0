package trace

import (
	"math"
	"slices"
	"time"
)

// Arrivals describes the arrivals of a trace, after Options.Speed.
type Arrivals struct {
	PerS     float64 `json:"per_s"`      // mean; 0 = all have the same timestamp
	PeakPerS int     `json:"peak_per_s"` // maximum within one second of the trace's clock
	// GapCV is the standard deviation of the gaps over their mean: 1 for a Poisson process, 0 for a constant
	// one; null below two gaps.
	GapCV *float64 `json:"gap_cv"`
	// Dispersion is the variance of the number of requests in windows of this length over its mean: 1 for a
	// Poisson process; null below two windows.
	Dispersion1s  *float64 `json:"dispersion_1s"`
	Dispersion30s *float64 `json:"dispersion_30s"`
	SameTime      float64  `json:"same_time"` // share of requests with the timestamp of the previous one
	// StepS is the step to which timestamps are rounded; 0 = none found. A step is found if requests share
	// timestamps and the other gaps are multiples of one length.
	StepS float64 `json:"step_s"`
}

type arrivals struct {
	n        int
	last     time.Duration
	gaps     moments
	second   windows
	half     windows // of 30 s
	same     int
	positive []time.Duration // the first gaps above zero
}

// maxPositive is the number of gaps that are examined for a step.
const maxPositive = 1 << 16

func newArrivals() *arrivals {
	return &arrivals{second: windows{width: time.Second}, half: windows{width: 30 * time.Second}}
}

func (a *arrivals) add(at time.Duration) {
	if a.n > 0 {
		gap := at - a.last
		a.gaps.add(gap.Seconds(), 1)
		if gap == 0 {
			a.same++
		} else if len(a.positive) < maxPositive {
			a.positive = append(a.positive, gap)
		}
	}
	a.n, a.last = a.n+1, at
	a.second.add(at)
	a.half.add(at)
}

func (a *arrivals) result() *Arrivals {
	r := &Arrivals{PeakPerS: a.second.most, Dispersion1s: a.second.counts.dispersion(),
		Dispersion30s: a.half.counts.dispersion()}
	if a.last > 0 {
		r.PerS = float64(a.n) / a.last.Seconds()
	}
	if a.gaps.n >= 2 && a.gaps.mean() > 0 {
		r.GapCV = new(math.Sqrt(a.gaps.variance()) / a.gaps.mean())
	}
	if a.n > 1 {
		r.SameTime = float64(a.same) / float64(a.n-1)
	}
	if r.SameTime >= quantisedShare {
		r.StepS = step(a.positive).Seconds()
	}
	return r
}

// A step is found if this share of requests has equal timestamps, and this share of the other gaps are its multiples.
const (
	quantisedShare = 0.02
	stepFit        = 0.95
	stepTolerance  = 0.01 // share of the step
	fewestGaps     = 20
)

// step is the length of which the gaps are multiples, or 0. Real gaps vary a little: of those of 3 s some are 2.999 s.
func step(gaps []time.Duration) time.Duration {
	if len(gaps) < fewestGaps {
		return 0
	}
	sorted := slices.Sorted(slices.Values(gaps))
	q := sorted[len(sorted)/50]
	fit := 0
	for _, g := range sorted {
		times := math.Round(float64(g) / float64(q))
		if times >= 1 && math.Abs(float64(g)-times*float64(q)) <= stepTolerance*float64(q) {
			fit++
		}
	}
	if float64(fit) < stepFit*float64(len(sorted)) {
		return 0
	}
	return commonest(sorted, q)
}

func commonest(sorted []time.Duration, q time.Duration) (best time.Duration) {
	tolerance := time.Duration(stepTolerance * float64(q))
	run, most := 0, 0
	for i, g := range sorted {
		if run++; i > 0 && sorted[i-1] != g {
			run = 1
		}
		if run > most && g >= q-tolerance && g <= q+tolerance {
			best, most = g, run
		}
	}
	return best
}

type windows struct {
	width  time.Duration
	index  int64 // of the current window
	count  int
	most   int
	counts moments // of earlier windows
}

func (w *windows) add(at time.Duration) {
	if i := int64(at / w.width); i != w.index {
		w.counts.add(float64(w.count), 1)
		w.counts.add(0, float64(i-w.index-1))
		w.index, w.count = i, 0
	}
	w.count++
	w.most = max(w.most, w.count)
}

type moments struct{ n, sum, squares float64 }

func (m *moments) add(x, times float64) {
	m.n += times
	m.sum += x * times
	m.squares += x * x * times
}

func (m *moments) mean() float64 { return m.sum / m.n }

func (m *moments) variance() float64 { return max(m.squares/m.n-m.mean()*m.mean(), 0) }

// dispersion is variance over mean; nil below two numbers.
func (m *moments) dispersion() *float64 {
	if m.n < 2 || m.sum == 0 {
		return nil
	}
	return new(m.variance() / m.mean())
}
