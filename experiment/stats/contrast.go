package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

type Contrast struct {
	Difference float64 // mean of the second set's runs − mean of the first set's
	se         float64
	DF         float64 // degrees of freedom of SE
	Spread     float64 // standard deviation of a run's mean; of pairs, of their difference
	Source     string  // of Spread
	P          float64 // two-sided; NaN: nothing shows or assumes a spread
}

// RepeatsInterval is the mean of the repeats of one run with its interval, by their spread and at least the
// variance within them. For a single repeat it uses the variance within it, and is unbounded if that is
// unknown.
func RepeatsInterval(repeats []Repeat, confidence float64) (mean float64, within Interval) {
	mean, squares, inside := describeRepeats(repeats)
	c := Contrast{Difference: mean, DF: float64(len(repeats) - 1)}
	variance := inside
	if c.DF > 0 {
		variance = max(variance, squares/c.DF)
	} else if inside == 0 {
		return mean, unbounded()
	}
	c.se = math.Sqrt(variance / float64(len(repeats)))
	return mean, c.Interval(confidence)
}

func (c Contrast) p() float64 {
	switch {
	case c.DF <= 0:
		return math.NaN()
	case c.Difference == 0:
		return 1
	case c.se == 0:
		return 0
	}
	return min(1, 2*student(c.DF).Survival(math.Abs(c.Difference)/c.se))
}

// PBeyond is the two-sided P of the hypothesis that the difference is at most least, either way: not 0, but small. It
// is that of the part beyond least, which is the largest over the hypothesis but for the far tail.
func (c Contrast) PBeyond(least float64) float64 {
	c.Difference = math.Copysign(max(0, math.Abs(c.Difference)-least), c.Difference)
	return c.p()
}

func student(df float64) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: df} }

// Interval covers the difference with the given confidence. Without degrees of freedom it takes the variance
// for known.
func (c Contrast) Interval(confidence float64) Interval {
	half := c.se * quantileOfT(1-(1-confidence)/2, c.DF)
	if math.IsNaN(half) {
		return unbounded()
	}
	return Interval{c.Difference - half, c.Difference + half}
}

// quantileOfT is the quantile of Student's t, or of the normal distribution for 0 degrees of freedom.
func quantileOfT(p, df float64) float64 {
	if df <= 0 {
		return distuv.UnitNormal.Quantile(p)
	}
	return student(df).Quantile(p)
}

// Detectable is the smallest detectable difference: the one that such data would show, at this level, with
// the given power; +Inf without degrees of freedom.
func (c Contrast) Detectable(level, power float64) float64 {
	if c.DF <= 0 {
		return math.Inf(1)
	}
	return (quantileOfT(1-level/2, c.DF) + quantileOfT(power, c.DF)) * c.se
}

const mostRuns = 1000

// RunsFor is the number of runs on each side that show a difference, at this level, with the given power, if
// the means of runs have this standard deviation; 0 if it is above mostRuns.
func RunsFor(difference, spread, level, power float64) int {
	return leastOf(difference, level, power, func(n int) Contrast {
		return Contrast{DF: float64(2*n - 2), se: spread * math.Sqrt(2/float64(n))}
	})
}

func PairsFor(difference, spread, level, power float64) int {
	return leastOf(difference, level, power, func(n int) Contrast {
		return Contrast{DF: float64(n - 1), se: spread / math.Sqrt(float64(n))}
	})
}

func leastOf(difference, level, power float64, of func(n int) Contrast) int {
	n := 2 + sort.Search(mostRuns-1, func(more int) bool {
		return of(2+more).Detectable(level, power) <= difference
	})
	if n > mostRuns {
		return 0
	}
	return n
}

type Spread struct {
	Std float64 `json:"std"` // of the population (ddof 1)
	CV  float64 `json:"cv"`  // Std over the mean; 0 if the mean is 0
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

func SpreadOf(values []float64) *Spread {
	if len(values) < 2 {
		return nil
	}
	mean, std := stat.MeanStdDev(values, nil)
	s := &Spread{Std: std, Min: values[0], Max: values[0]}
	if mean != 0 {
		s.CV = std / math.Abs(mean)
	}
	for _, x := range values {
		s.Min, s.Max = min(s.Min, x), max(s.Max, x)
	}
	return s
}

// Same is the p-value of values that all measure the same thing, each with its own standard error: Cochran's
// Q against chi-squared ("The Combination of Estimates from Different Experiments", Biometrics 10, 1954). ok
// is false for fewer than two values, or an error that is not positive and finite.
func Same(values, errors []float64) (p float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	weights := make([]float64, len(values))
	for i, e := range errors {
		if !(e > 0) || math.IsInf(e, 0) {
			return 0, false
		}
		weights[i] = 1 / (e * e)
	}
	mean, q := stat.Mean(values, weights), 0.0
	for i, x := range values {
		q += weights[i] * (x - mean) * (x - mean)
	}
	return mathext.GammaIncRegComp(float64(len(values)-1)/2, q/2), true
}

// Difference is the interval of b − a from the intervals of two independent figures, of the same confidence:
// Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008
// (their method of variance estimates recovery). It assumes no distribution beyond what the intervals assume.
func Difference(a, b float64, ofA, ofB Interval) Interval {
	d := b - a
	return Interval{
		Lo: d - math.Hypot(b-ofB.Lo, ofA.Hi-a),
		Hi: d + math.Hypot(ofB.Hi-b, a-ofA.Lo),
	}
}
