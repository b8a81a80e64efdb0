package compare

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/stats"
)

// Alarm is a level that is not the one of the previous nights: the last night, or each of the last two or
// three, lies beyond the limits that those give, on one side; or a change-point has fewer than ten nights
// after it.
type Alarm struct {
	Since  time.Time `json:"since"` // the first of its nights
	Run    string    `json:"run"`   // of that night
	Nights int       `json:"nights"`
	X      float64   `json:"x"`      // mean of its nights; of a change-point, the median
	Before float64   `json:"before"` // median of the nights before
	// the limits of an outlier; wider for fewer nights; absent: a change-point
	Expected *stats.Interval `json:"expected,omitempty"`
	Size     float64         `json:"size"` // against Before, as in Change
	Worse    bool            `json:"worse"`
	// PerNight is the slope of a drift, as Size; absent: the level changed at once.
	PerNight float64 `json:"per_night,omitempty"`
}

// TestSimulationAlarms has what these values bring about.
const (
	// of an outlier by chance per night: of one figure (one a year), and of all figures of a group together
	alarmRisk    = 0.012
	alarmRiskAll = 0.04
	mostInRow    = 3  // largest number of nights in an outlier
	baseline     = 60 // largest number of previous nights
	leastNights  = 10 // smallest number of them
	// smallest distance of the furthest night: a few equal nights do not prove that there is none
	leastSpread = 2e-3
	// freshExcess is by how much the log-likelihood ratio must exceed its limit, with ln(number of figures): the limit
	// is for one history that is looked at once, and for nights that are not skewed.
	freshExcess = 1.5
	mostQuiet   = 100 // latest nights in which past alarms are sought
)

type watch struct {
	figure figure
	trend  *Trend
	valid  []int     // indices of the valid nights
	values []float64 // of these, on the scale of comparison
	risk   float64   // of an outlier by chance
	live   int       // number of figures
}

func (w *watch) alarm(n int) *Alarm {
	if d := w.trend.Drift; d != nil && n == len(w.values) {
		return &Alarm{Since: d.Since, Run: d.Run, Nights: n, X: d.After, Before: d.Before, Size: d.Size, Worse: d.Worse,
			PerNight: d.PerNight}
	}
	start := 0
	for i := range w.trend.Changes {
		c := &w.trend.Changes[i]
		at, _ := slices.BinarySearch(w.valid, c.At)
		if n <= at {
			break
		}
		start = at
		if n-at >= min(c.since, stats.LeastBetweenChanges) && n-at <= leastNights && w.shows(c) {
			return &Alarm{Since: c.Date, Run: c.Run, Nights: n - at, X: c.After, Before: c.Before,
				Size: c.Size, Worse: c.Worse}
		}
	}
	a, ok := outlier(w.values[start:n], w.risk)
	if !ok {
		return nil
	}
	first := w.trend.Nights[w.valid[n-a.Nights]]
	a.Size = w.figure.Change(a.X - a.Before)
	a.Since, a.Run, a.Worse = first.At, first.Run, WorseBy(w.trend.Metric, a.Size) > 0
	a.X, a.Before = w.figure.unscale(a.X), w.figure.unscale(a.Before)
	a.Expected = &stats.Interval{Lo: w.figure.unscale(a.Expected.Lo), Hi: w.figure.unscale(a.Expected.Hi)}
	return &a
}

func (w *watch) shows(c *Change) bool {
	step := math.Abs(w.figure.scale(c.After) - w.figure.scale(c.Before))
	return step > leastSpread && c.excess > freshExcess+math.Log(float64(max(1, w.live)))
}

// quietNights are the nights without an alarm for the worse before the last night.
type quietNights struct {
	watched int // first night that could raise an alarm; past the last: none could
	alarm   int // last night with one; -1: none
}

func (w *watch) quiet(nights int) quietNights {
	q := quietNights{nights, -1}
	night := func(n int) int { return w.trend.Nights[w.valid[n-1]].night } // after n values
	if len(w.values) > leastNights {
		q.watched = night(leastNights + 1)
	}
	for n := len(w.values); n > leastNights && night(n) >= nights-mostQuiet; n-- {
		if a := w.alarm(n); a != nil && a.Worse {
			q.alarm = night(n)
			break
		}
	}
	return q
}

// outlier tests whether the last value, each of the last two or each of the last three lie beyond the
// limits of the values before, on one side. The tests share the risk. One night shows only an enormous
// step, since nights with heavy tails look like it; that several nights in a row are far out is rare
// whatever their tails.
func outlier(values []float64, risk float64) (Alarm, bool) {
	for nights := 1; nights <= mostInRow; nights++ {
		n := len(values) - nights
		if n < leastNights {
			return Alarm{}, false
		}
		limits := stats.OutlierLimits(values[max(0, n-baseline):n], nights, risk/mostInRow, leastSpread)
		if last := values[n:]; slices.Min(last) > limits.Hi || slices.Max(last) < limits.Lo {
			return Alarm{Nights: nights, X: stat.Mean(last, nil), Before: (limits.Lo + limits.Hi) / 2,
				Expected: &limits}, true
		}
	}
	return Alarm{}, false
}
