package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// varianceBetween is the variance of the mean of a run, with as many repeats as those of base, that the runs show:
// the recursive residuals of nights, and the spread of changed.
func varianceBetween(base, changed, nights [][]Repeat, within variance, c center) variance {
	all := varianceOf(recursiveResiduals(MeansOfRuns(nights), len(base), c))
	if n, m := repeatsPerRun(nights), repeatsPerRun(base); n != m {
		all.v = max(0, all.v-within.v/n) + within.v/m
	}
	if len(changed) > 1 {
		all = all.with(variance{stat.Variance(MeansOfRuns(changed), nil), float64(len(changed) - 1)})
	}
	return all
}

func (a variance) with(b variance) variance {
	if a.df+b.df == 0 {
		return a
	}
	return variance{(a.v*a.df + b.v*b.df) / (a.df + b.df), a.df + b.df}
}

func varianceOf(residuals []float64) variance {
	if len(residuals) == 0 {
		return variance{}
	}
	n := float64(len(residuals))
	return variance{floats.Dot(residuals, residuals) / n, n * independent(residuals)}
}

// A residual further out than farOut robust standard deviations is an odd run, which counts as that far out and not for
// the next ones, or a step, if the next run stays there: that one is left out, and the next residuals are from it on.
// Else a step that is over would hide the next one for as long as the history has it.
const (
	farOut         = 3.0
	leastToScale   = 6      // number of residuals from which their median gives a scale
	medianOfNormal = 0.6745 // of |x|, in standard deviations
)

// recursiveResiduals are the deviations of each run's mean from the center of up to window runs before it, over their
// standard deviation in units of that of one run.
func recursiveResiduals(means []float64, window int, c center) []float64 {
	plain := residuals(means, window, c, math.Inf(1))
	if len(plain) < leastToScale {
		return plain
	}
	sizes := make([]float64, len(plain))
	for i, r := range plain {
		sizes[i] = math.Abs(r)
	}
	typical := Median(sizes)
	if typical == 0 { // half of the runs are equal: nothing is far out
		return plain
	}
	return residuals(means, window, c, farOut*typical/medianOfNormal)
}

func residuals(means []float64, window int, c center, limit float64) (out []float64) {
	if len(means) == 0 {
		return nil
	}
	level := means[:1:1] // the runs since the last step, without odd ones
	for i := 1; i < len(means); i++ {
		last := level[max(0, len(level)-window):]
		before := c.of(last)
		r := (means[i] - before) / math.Sqrt(1+1/c.runs(len(last)))
		switch {
		case math.Abs(r) <= limit:
			out, level = append(out, r), append(level, means[i])
		case i+1 < len(means) && math.Abs(means[i+1]-means[i]) < math.Abs(means[i+1]-before):
			level = means[i : i+1 : i+1]
		default:
			out = append(out, math.Copysign(limit, r))
		}
	}
	return out
}

// leastToCorrelate is the number of residuals from which their autocorrelation counts.
const leastToCorrelate = 9

// independent is how many degrees of freedom of a variance each of successive residuals is worth: Σρ² counts for
// a variance as Σρ does for a mean (M. Bartlett, JRSS Supplement 8, 1946). Residuals that remember only the
// previous one are taken.
func independent(residuals []float64) float64 {
	if len(residuals) < leastToCorrelate {
		return 1
	}
	squares, products := 0.0, 0.0
	for i, r := range residuals {
		squares += r * r
		if i > 0 {
			products += r * residuals[i-1]
		}
	}
	if squares == 0 {
		return 1
	}
	rho := min(max(0, products/squares), mostMemory)
	return (1 - rho*rho) / (1 + rho*rho)
}
