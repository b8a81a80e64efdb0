package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// varianceBetween is the variance of the mean of a run, with as many repeats as those of base, that the runs show:
// the recursive residuals of the earlier ones and of base, and the spread of changed. If the base scatters otherwise
// than the runs before it, those say nothing on the next run.
func varianceBetween(earlier, base, changed [][]Repeat, within variance) variance {
	window := len(base)
	own := varianceOf(recursiveResiduals(MeansOfRuns(base), window))
	all := varianceOf(recursiveResiduals(MeansOfRuns(slices.Concat(earlier, base)), window))
	if len(earlier) > 0 {
		older := varianceOf(recursiveResiduals(MeansOfRuns(earlier), window))
		n, m := repeatsPerRun(earlier), repeatsPerRun(base)
		older.v = max(0, older.v-within.v/n) + within.v/m
		switch {
		case differ(own, older):
			all = own
		case n != m:
			all = own.with(older)
		}
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

// Levels of the test whether two variances differ. A base that is calm by accident must not be taken for one that
// is calm.
const (
	louderLevel = 0.02
	calmerLevel = 0.002
)

func differ(own, older variance) bool {
	if own.df < leastRunDF || older.df < leastRunDF {
		return false
	}
	if older.v == 0 {
		return own.v > 0
	}
	f := distuv.F{D1: own.df, D2: older.df}
	return f.Survival(own.v/older.v) < louderLevel || f.CDF(own.v/older.v) < calmerLevel
}

func varianceOf(residuals []float64) variance {
	if len(residuals) == 0 {
		return variance{}
	}
	n := float64(len(residuals))
	return variance{floats.Dot(residuals, residuals) / n, n * independent(residuals)}
}

// A residual further out than farOut robust standard deviations is an accident, which counts as that far out, or a
// step, after which the level stays: that one is left out, and the next residuals are from it on. Else a step that
// is over would hide the next one for as long as the history has it.
const (
	farOut         = 4.0
	leastToScale   = 9      // number of residuals from which their median gives a scale
	medianOfNormal = 0.6745 // of |x|, in standard deviations
)

// recursiveResiduals are the deviations of each run's mean from that of up to window runs before it, over their
// standard deviation in units of that of one run.
func recursiveResiduals(means []float64, window int) []float64 {
	plain := residuals(means, window, math.Inf(1))
	if len(plain) < leastToScale {
		return plain
	}
	sizes := make([]float64, len(plain))
	for i, r := range plain {
		sizes[i] = math.Abs(r)
	}
	slices.Sort(sizes)
	return residuals(means, window, farOut*Quantile(sizes, 0.5)/medianOfNormal)
}

func residuals(means []float64, window int, limit float64) (out []float64) {
	from, stepped := 0, false
	for i := 1; i < len(means); i++ {
		n := min(i-from, window)
		r := (means[i] - stat.Mean(means[i-n:i], nil)) / math.Sqrt(1+1/float64(n))
		far := math.Abs(r) > limit
		if stepped && !far { // the level stayed
			out = out[:len(out)-1]
		}
		if far {
			r, from = math.Copysign(limit, r), i
		}
		out, stepped = append(out, r), far
	}
	return out
}

// independent is how many degrees of freedom of a variance each of successive residuals is worth: Σρ² counts for
// a variance as Σρ does for a mean (M. Bartlett, JRSS Supplement 8, 1946). Residuals that remember only the
// previous one are taken.
func independent(residuals []float64) float64 {
	if len(residuals) < leastToScale {
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
