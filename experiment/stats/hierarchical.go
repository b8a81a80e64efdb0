package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Repeat is one figure of one repeat, on the scale of the comparison, and its sampling variance.
type Repeat struct {
	Value  float64
	Within float64 // variance of Value over resampled blocks of its requests; 0 = unknown
}

// Contrast is the difference between two sets of repeats.
type Contrast struct {
	Difference float64 // mean of the second − mean of the first
	SE         float64
	DF         int     // degrees of freedom from the repeats; 0: neither side has repeats
	Spread     float64 // standard deviation of a repeat
	P          float64 // two-sided; NaN if DF is 0
}

// Compare tests the difference of two sets of repeats. The unit is the repeat, since requests of one repeat
// share their machine, caches and load: treating them as independent finds differences that the next repeat
// does not show. The variance of repeats is pooled over both sides (it is one under the null hypothesis), and
// is at least the variance within repeats, so that two repeats that are close by accident do not hide it. The
// test is Student's with the repeats' degrees of freedom. A bootstrap of so few repeats gives intervals that
// are too short (T. Hesterberg, The American Statistician 69(4), 2015), and one that resamples requests
// within resampled repeats counts their variance twice (A. Davison and D. Hinkley, "Bootstrap Methods and
// their Application", 1997, section 3.8).
//
// If neither side has repeats, SE is from the variance within repeats, which is less than the truth, and P is
// NaN.
func Compare(base, changed []Repeat) Contrast {
	if len(base) == 0 || len(changed) == 0 {
		return Contrast{P: math.NaN(), SE: math.NaN(), Difference: math.NaN(), Spread: math.NaN()}
	}
	a, squaresA, withinA := describeRepeats(base)
	b, squaresB, withinB := describeRepeats(changed)
	c := Contrast{Difference: b - a, DF: len(base) + len(changed) - 2, P: math.NaN()}
	n, m := float64(len(base)), float64(len(changed))
	between := 0.0
	if c.DF > 0 {
		between = (squaresA + squaresB) / float64(c.DF)
	}
	varianceA, varianceB := max(between, withinA), max(between, withinB)
	c.SE = math.Sqrt(varianceA/n + varianceB/m)
	c.Spread = math.Sqrt((varianceA*n + varianceB*m) / (n + m))
	if c.DF > 0 {
		c.P = c.p()
	}
	return c
}

func describeRepeats(rs []Repeat) (mean, squares, within float64) {
	for _, r := range rs {
		mean += r.Value / float64(len(rs))
		within += r.Within / float64(len(rs))
	}
	for _, r := range rs {
		squares += (r.Value - mean) * (r.Value - mean)
	}
	return mean, squares, within
}

// RepeatsInterval is the mean of repeats with its interval, by their spread as in Compare. For a single
// repeat it uses the variance within it, and is unbounded if that is unknown.
func RepeatsInterval(repeats []Repeat, confidence float64) (mean float64, within Interval) {
	mean, squares, inside := describeRepeats(repeats)
	c := Contrast{Difference: mean, DF: len(repeats) - 1}
	variance := inside
	if c.DF > 0 {
		variance = max(variance, squares/float64(c.DF))
	} else if inside == 0 {
		return mean, unbounded()
	}
	c.SE = math.Sqrt(variance / float64(len(repeats)))
	return mean, c.Interval(confidence)
}

func (c Contrast) p() float64 {
	switch {
	case c.Difference == 0:
		return 1
	case c.SE == 0:
		return 0
	}
	return min(1, 2*student(c.DF).Survival(math.Abs(c.Difference)/c.SE))
}

func student(df int) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: float64(df)} }

// Interval covers the difference with the given confidence. Without repeats it uses the variance within
// repeats alone.
func (c Contrast) Interval(confidence float64) Interval {
	half := c.SE * quantileOfT(1-(1-confidence)/2, c.DF)
	if math.IsNaN(half) {
		return unbounded()
	}
	return Interval{c.Difference - half, c.Difference + half}
}

// quantileOfT is the quantile of Student's t, or of the normal distribution for 0 degrees of freedom.
func quantileOfT(p float64, df int) float64 {
	if df <= 0 {
		return distuv.UnitNormal.Quantile(p)
	}
	return student(df).Quantile(p)
}

// Detectable is the smallest detectable difference: the one that such data would show, at this level, with
// the given power; +Inf without repeats.
func (c Contrast) Detectable(level, power float64) float64 {
	if c.DF <= 0 {
		return math.Inf(1)
	}
	return (quantileOfT(1-level/2, c.DF) + quantileOfT(power, c.DF)) * c.SE
}

// mostRepeats is the limit of RepeatsFor.
const mostRepeats = 1000

// RepeatsFor is the number of repeats on each side that show a difference, at this level, with the given
// power, if repeats have this standard deviation; 0 if it is above mostRepeats.
func RepeatsFor(difference, spread, level, power float64) int {
	for n := 2; n <= mostRepeats; n++ {
		c := Contrast{DF: 2*n - 2, SE: spread * math.Sqrt(2/float64(n))}
		if c.Detectable(level, power) <= difference {
			return n
		}
	}
	return 0
}
