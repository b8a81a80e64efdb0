package workload

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Observed compares a sequence of arrivals, planned or sent, with its arrival process. All but the rates is
// measured in unit time, in which the process has one arrival a second at every moment. A ramp that was sent
// as planned is thus as regular as a constant rate.
type Observed struct {
	Arrivals  int     `json:"arrivals"`
	Fixed     bool    `json:"fixed,omitempty"` // the plan fixed their number: the rate has no standard error
	RatePerS  float64 `json:"rate_per_s"`
	AskedPerS float64 `json:"asked_per_s"` // expected rate of the process in the same time
	// standard deviation of the gaps over their mean; 0 for fewer than two gaps
	GapCV      float64 `json:"gap_cv"`
	GapCVAsked float64 `json:"gap_cv_asked"`
	// nil: the gaps have no continuous distribution, or there are fewer than 20
	Gaps *Fit `json:"gaps,omitempty"`
	// for windows of 1 s and 30 s, if there are at least two windows
	Dispersion []Dispersion `json:"dispersion,omitempty"`
}

// Fit is the Kolmogorov–Smirnov distance between the gaps and the distribution of the process.
type Fit struct {
	Distance float64 `json:"ks_distance"`
	Limit    float64 `json:"ks_limit"` // exceeded by at most 1 of 100 true samples of this size
}

// Dispersion is the variance of the number of arrivals in windows of one length, over its mean. It is 1 for
// Poisson arrivals in every window; regular arrivals have less, bursts more.
type Dispersion struct {
	WindowS  float64  `json:"window_s"` // mean length; windows have equal unit time
	Windows  int      `json:"windows"`
	Index    float64  `json:"index"`
	Expected *float64 `json:"expected"`  // nil: no closed form is known (gamma)
	StdError float64  `json:"std_error"` // of the index of Poisson arrivals, for this number of windows
}

var dispersionWindows = []time.Duration{time.Second, 30 * time.Second}

const fewestGaps = 20 // for a meaningful Kolmogorov–Smirnov distance

// Observe describes the arrivals in [from, to) of the row's time. Times may be unsorted and may lie outside
// of that. The workload must have a finite rate.
func (w *Workload) Observe(times []time.Duration, from, to time.Duration) Observed {
	p := processOf(w)
	units := p.unitTimes(times, from, to)
	o := Observed{Arrivals: len(units), GapCVAsked: p.gapCV()}
	if to <= from {
		return o
	}
	span := (to - from).Seconds()
	o.RatePerS, o.AskedPerS = float64(len(units))/span, w.Arriving(from, to)/span
	var gaps []float64
	if n := len(units) - 1; n > 0 {
		gaps = floats.SubTo(make([]float64, n), units[1:], units[:n])
	}
	if mean, std := stat.MeanStdDev(gaps, nil); len(gaps) >= 2 && mean > 0 {
		o.GapCV = std / mean
	}
	if distribution := p.gapDistribution(); distribution != nil && len(gaps) >= fewestGaps {
		// Smirnov 1948
		o.Gaps = &Fit{Distance: ksDistance(gaps, distribution), Limit: 1.63 / math.Sqrt(float64(len(gaps)))}
	}
	start := p.cumulative(p.rate, from.Seconds())
	for _, window := range dispersionWindows {
		if n := int(span / window.Seconds()); n >= 2 && o.AskedPerS > 0 {
			o.Dispersion = append(o.Dispersion, p.dispersion(units, start, o.AskedPerS, window.Seconds(), n))
		}
	}
	return o
}

// Fix states that the plan fixed the number of arrivals in the window. Exponential gaps that were divided by
// their own mean come closer to their distribution than free ones: the limit is that of Stephens 1974, EDF
// Statistics for Goodness of Fit and Some Comparisons, table 1A, case of an unknown scale. For gamma gaps the
// limit of free gaps stays, which fewer true samples exceed.
func (o *Observed) Fix() {
	o.Fixed = true
	if o.Gaps != nil && o.GapCVAsked == 1 {
		root := math.Sqrt(float64(o.Arrivals - 1))
		o.Gaps.Limit = 1.308/(root+0.26+0.5/root) + 0.2/(root*root)
	}
}

// process is an arrival process with the rate and the burstiness of its row.
type process struct {
	*Arrival
	rate, burstiness float64
}

func processOf(w *Workload) process { return process{&w.Arrival, float64(w.Rate), w.Burstiness} }

// timed reports whether arrivals have times: not in a closed loop, nor if all requests are sent at once.
func (p process) timed() bool { return p.rate > 0 && !math.IsInf(p.rate, 1) }

func (p process) unitTimes(times []time.Duration, from, to time.Duration) []float64 {
	var units []float64
	for _, at := range times {
		if at >= from && at < to {
			units = append(units, p.cumulative(p.rate, at.Seconds()))
		}
	}
	slices.Sort(units)
	return units
}

func (p process) dispersion(units []float64, start, rate, seconds float64, n int) Dispersion {
	d := Dispersion{WindowS: seconds, Windows: n, StdError: math.Sqrt(2 / float64(n-1)),
		Expected: p.expectedIndex(rate * seconds)}
	counts := make([]float64, n)
	for _, u := range units {
		if i := int((u - start) / (rate * seconds)); i < n {
			counts[i]++
		}
	}
	if mean, variance := stat.MeanVariance(counts, nil); mean > 0 {
		d.Index = variance / mean
	}
	return d
}

// expectedIndex is the index of dispersion of windows with this mean number of arrivals; nil if unknown.
func (p process) expectedIndex(mean float64) *float64 {
	batch := float64(p.batch())
	switch p.law() {
	case poisson:
		return &batch
	case constant:
		_, part := math.Modf(mean / batch) // this share of the windows has one batch more than the others
		return new(batch * batch * part * (1 - part) / mean)
	}
	return nil
}

// gapCV is the expected coefficient of variation of the gaps. In a batch all gaps but one are 0.
func (p process) gapCV() float64 {
	square := 1.0
	switch p.law() {
	case constant:
		square = 0
	case gamma:
		square = 1 / p.burstiness
	}
	batch := float64(p.batch())
	return math.Sqrt(batch*(1+square) - 1)
}

// gapDistribution is the distribution function of the gaps in unit time; nil if it is not continuous.
func (p process) gapDistribution() func(float64) float64 {
	if p.batch() > 1 {
		return nil
	}
	switch p.law() {
	case poisson:
		return distuv.Exponential{Rate: 1}.CDF
	case gamma:
		return distuv.Gamma{Alpha: p.burstiness, Beta: p.burstiness}.CDF
	}
	return nil
}

// law is the process of the gaps; gamma of burstiness 1 is Poisson.
func (p process) law() string {
	if gaps := p.gaps(); gaps != gamma || p.burstiness != 0 && p.burstiness != 1 {
		return gaps
	}
	return poisson
}

func ksDistance(samples []float64, cdf func(float64) float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	n, d := float64(len(sorted)), 0.0
	for i, x := range sorted {
		f := cdf(x)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}
