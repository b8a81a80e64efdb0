package workload

import (
	"math"
	"time"
)

func (a *Arrival) cumulative(rate, t float64) float64 {
	switch a.Process {
	case "ramp":
		over := float64(a.Over)
		return a.climb(math.Min(t, over)) + a.To*math.Max(t-over, 0)
	case "step":
		return a.stepped(t)
	case "sinusoid":
		period := float64(a.Period)
		return rate * (t - a.Amplitude*period/(2*math.Pi)*math.Sin(2*math.Pi*t/period))
	}
	return rate * t
}

// Arriving is the expected number of requests (of first turns, with conversations) in [from, to) of the row's
// time; 0 with an infinite rate.
func (w *Workload) Arriving(from, to time.Duration) float64 {
	if w.Rate.IsInf() {
		return 0
	}
	return w.Arrival.cumulative(float64(w.Rate), to.Seconds()) - w.Arrival.cumulative(float64(w.Rate), from.Seconds())
}

// inverse is the inverse function of cumulative: the time in seconds at which n arrivals are expected. A
// process with one arrival a second, mapped through inverse, is this process (Çinlar 1975, Introduction to
// Stochastic Processes, section 4.7).
func (a *Arrival) inverse(rate, n float64) float64 {
	switch a.Process {
	case "ramp":
		over := float64(a.Over)
		if all := a.climb(over); n > all {
			return over + (n-all)/a.To
		}
		return a.climbed(n)
	case "step":
		return a.unstepped(n)
	case "sinusoid":
		period := float64(a.Period)
		whole, part := math.Modf(n / (rate * period))
		return period * (whole + kepler(a.Amplitude, part))
	}
	return n / rate
}

func (a *Arrival) climb(t float64) float64 {
	over := float64(a.Over)
	if k := math.Log(a.To / a.From); a.Shape == "exponential" && k != 0 {
		return a.From * over / k * math.Expm1(k*t/over)
	}
	return a.From*t + (a.To-a.From)/over*t*t/2
}

func (a *Arrival) climbed(n float64) float64 {
	if n == 0 {
		return 0
	}
	over := float64(a.Over)
	if k := math.Log(a.To / a.From); a.Shape == "exponential" && k != 0 {
		return over / k * math.Log1p(n*k/(a.From*over))
	}
	// This form of the root avoids a difference of two nearly equal numbers.
	slope := (a.To - a.From) / over
	return 2 * n / (a.From + math.Sqrt(math.Max(a.From*a.From+2*slope*n, 0)))
}

// cycle is the number of arrivals and the duration in seconds of all steps.
func (a *Arrival) cycle() (n, span float64) {
	for _, s := range a.Steps {
		n += s.Rate * float64(s.For)
		span += float64(s.For)
	}
	return n, span
}

func (a *Arrival) stepped(t float64) (n float64) {
	all, span := a.cycle()
	if a.Repeat {
		cycles := math.Floor(t / span)
		n, t = cycles*all, t-cycles*span
	}
	for _, s := range a.Steps {
		part := math.Min(t, float64(s.For))
		n += s.Rate * part
		t -= part
	}
	return n + a.Steps[len(a.Steps)-1].Rate*t // t is 0 here if the steps repeat
}

// unstepped is the latest time at which stepped is n: an arrival that falls into a pause comes at its end.
func (a *Arrival) unstepped(n float64) (t float64) {
	all, span := a.cycle()
	if a.Repeat {
		cycles := math.Floor(n / all)
		t, n = cycles*span, max(0, n-cycles*all) // the product is rounded, so the difference can be negative
	}
	for i, s := range a.Steps {
		if part := s.Rate * float64(s.For); n >= part && (a.Repeat || i < len(a.Steps)-1) {
			n -= part
			t += float64(s.For)
			continue
		}
		return t + n/s.Rate
	}
	return t // rounding left a remainder beyond the last cycle
}

// kepler solves y − a/2π·sin 2πy = part for y between 0 and 1, by Newton's method within brackets, since the
// slope is zero at both ends for a = 1.
func kepler(a, part float64) float64 {
	if part == 0 {
		return 0
	}
	low, high, y := 0.0, 1.0, part
	for range 100 {
		sin, cos := math.Sincos(2 * math.Pi * y)
		off := y - a/(2*math.Pi)*sin - part
		if off > 0 {
			high = y
		} else {
			low = y
		}
		next := y - off/(1-a*cos)
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-y) < 1e-15 {
			return next
		}
		y = next
	}
	return y
}
