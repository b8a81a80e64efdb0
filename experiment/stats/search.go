package stats

import (
	"math"
	"strconv"
)

// Search finds the load up to which a condition holds (Next, Between). It runs one load after the other. The next load
// is a function of the runs so far, in any order, so that an interrupted search can resume.
type Search struct {
	Min, Max  float64
	Tolerance float64 // largest gap between the ends of the answer, as a share of the lower one
	Whole     bool    // loads are integers
}

type Bracket struct {
	Low  *float64 `json:"low"`  // the condition holds up to it; null = not known of any load of the range
	High *float64 `json:"high"` // it does not hold from there; null = it may hold at every load of the range
	// estimate of the threshold; absent: no probe bounds it, or it is too uncertain
	Best *float64 `json:"best,omitempty"`
}

func (s Search) Close(a, b float64) bool {
	return b <= a*(1+s.Tolerance) || s.Whole && b-a <= 1
}

// allowed is the load of a run nearest to x: in the range, with four digits, since loads are part of file names.
func (s Search) allowed(x float64) float64 {
	if s.Whole {
		x = math.Round(x)
	} else if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64); err == nil { // finite
		x = y
	}
	return min(max(x, s.Min), s.Max)
}

// Round rounds an end of a bracket to four digits, outward: up for the upper end.
func (s Search) Round(x float64, up bool) float64 {
	if s.Whole {
		return math.Round(x)
	}
	y := s.allowed(x)
	step := math.Pow(10, math.Floor(math.Log10(x))-3)
	switch {
	case math.Abs(y-x) < 1e-9*x:
	case up && y < x:
		y = s.allowed(y + step)
	case !up && y > x:
		y = s.allowed(y - step)
	}
	return y
}

type Flow struct {
	Arrived, Ended float64 // requests
	Window         float64 // s
	Stay           float64 // mean time of a request in the server, s
}

const stays = 5 // requests' mean times in the server, in the shortest window that shows a steady state

// Steady reports whether a window can show the steady state of its load: it is long beside a request, and nearly as
// many requests ended as arrived. Latencies of a server that still fills up are too low.
func (f Flow) Steady() bool { return f.Ended >= 0.9*f.Arrived && f.Window >= stays*f.Stay }
