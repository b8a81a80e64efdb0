package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Repeat is one figure of one repeat, on the scale of the comparison, and its sampling variance.
type Repeat struct {
	Value  float64
	Within float64 // variance of Value over resampled blocks of its requests; 0 = unknown
}

// RunSpread is what the standard deviation between runs is taken for, as long as the runs can't show it.
type RunSpread struct {
	SD float64 // on the scale of the comparison; 0: runs are alike
	// OfRepeats is a multiple of the standard deviation between repeats, in place of SD if it is less; 0, or no run has
	// two: SD counts.
	OfRepeats float64
	DF        float64 // degrees of freedom that it is worth
	Source    string  // empty = SpreadAssumed
}

// AssumedSpread is no measurement: it is meant to be large, so that a difference between two single runs is called one
// only if servers, nodes and neighbours rarely make it. It is a share of the figure, for the scale of logarithms.
var AssumedSpread = RunSpread{SD: 0.02, DF: 4}

const (
	SpreadOfRuns    = "runs"    // of the two sides
	SpreadOfHistory = "history" // and of nights before
	SpreadOfPairs   = "pairs"
	SpreadOfMachine = "machine" // too few runs: other runs on the same machine count
	SpreadOfRepeats = "repeats" // too few runs: RunSpread.OfRepeats counts
	SpreadAssumed   = "assumed" // too few runs: RunSpread.SD counts
)

// SpreadOfMany is the spread between runs of several series in order of time, which need not have the same level. They
// can share their nights: the longest gives the degrees of freedom. ok is false for too few runs.
func SpreadOfMany(series [][][]Repeat) (s RunSpread, ok bool) {
	const window = 5
	var sum variance
	for _, runs := range series {
		v := varianceOf(recursiveResiduals(MeansOfRuns(runs), window, byMedians))
		sum, s.DF = sum.with(v), max(s.DF, v.df)
	}
	s.SD, s.Source = math.Sqrt(sum.v), SpreadOfMachine
	return s, s.DF >= leastRunDF
}

// leastRunDF is the number of degrees of freedom from which the runs alone give the spread between runs.
const leastRunDF = 3

// CompareRuns tests the difference of two sets of runs, each with its repeats. The unit is the run: all
// repeats of a run share its server, its machine and its neighbours, so that five repeats of one night say
// nothing on the next night (T. Kalibera and R. Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013,
// section 5). The test is Student's, on the means of the runs.
//
// The spread between runs is that of their recursive residuals: the deviations of each run from the mean of as many
// previous ones as base has (R. Brown, J. Durbin and J. Evans, "Techniques for Testing the Constancy of Regression
// Relationships over Time", JRSS B 37, 1975). If runs are alike they are the sample variance, and if the level drifts
// they contain the drift, as the difference does. nights, in order of time and with those of base, show it in place of
// base alone, and then medians take the place of means: an odd night moves neither the base nor the spread by much.
//
// The spread is at least what the repeats within the runs explain, and a new run whose repeats scatter far more than
// in other runs has its own.
//
// With too few runs for that, the assumed spread counts: alone, or with what the runs show if that is less.
func CompareRuns(base, changed, nights [][]Repeat, assumed RunSpread) Contrast {
	if len(base) == 0 || len(changed) == 0 {
		return Contrast{P: math.NaN(), se: math.NaN(), Difference: math.NaN(), Spread: math.NaN()}
	}
	center, calm := byMeans, base
	if len(nights) == 0 {
		nights = base
	} else {
		center, calm = byMedians, withoutScattered(nights)
	}
	within := varianceWithin(slices.Concat(calm, changed))
	between := varianceBetween(base, changed, nights, within, center)
	variance, df, source := between.orAssumed(within, repeatsPerRun(base), assumed)
	if source == SpreadOfRuns && len(nights) > len(base) {
		source = SpreadOfHistory
	}
	ofBase := sideVariance(base, variance, within, repeatsPerRun(base), center)
	ofChanged := sideVariance(changed, variance, within, repeatsPerRun(base), byMeans)
	c := Contrast{Difference: meanOfRuns(changed) - center.of(MeansOfRuns(base)), DF: df, Source: source,
		Spread: math.Sqrt(variance)}
	c.addNoise(ofBase+ofChanged, changed, calm)
	c.P = c.p()
	return c
}

// A center is a level of runs.
type center struct {
	of   func(values []float64) float64
	runs func(n int) float64 // whose mean has the variance of the center of n
}

var (
	byMeans = center{func(values []float64) float64 { return stat.Mean(values, nil) },
		func(n int) float64 { return float64(n) }}
	byMedians = center{Median, func(n int) float64 { return 1 / varianceOfMedian(n) }}
)

// variancesOfMedians are those of the median of n normal values of variance 1, from 1 on, by numerical integration of
// their order statistics (as D. Teichroew tabulated them, Annals of Mathematical Statistics 27, 1956).
var variancesOfMedians = []float64{1, 0.5, 0.4487, 0.2982, 0.2868, 0.2147, 0.2104, 0.1682, 0.1661}

func varianceOfMedian(n int) float64 {
	if n <= len(variancesOfMedians) {
		return variancesOfMedians[n-1]
	}
	return math.Pi / 2 / float64(n)
}

// ComparePairs tests the mean difference of repeats that ran side by side, so that what both share cancels.
// Its variance is at least the variance within the repeats.
func ComparePairs(base, changed []Repeat) Contrast {
	differences := make([]float64, len(base))
	inside := 0.0
	for i := range base {
		differences[i] = changed[i].Value - base[i].Value
		inside += (changed[i].Within + base[i].Within) / float64(len(base))
	}
	mean, variance := stat.MeanVariance(differences, nil)
	c := Contrast{Difference: mean, DF: float64(len(base) - 1), Source: SpreadOfPairs, P: math.NaN(), se: math.NaN(),
		Spread: math.NaN()}
	if len(base) > 1 {
		c.Spread = math.Sqrt(max(variance, inside))
		c.se = c.Spread / math.Sqrt(float64(len(base)))
		c.P = c.p()
	}
	return c
}

type variance struct{ v, df float64 }

// withoutScattered leaves out runs whose repeats scatter more than farOut times as far as those of a typical one: an
// odd night says nothing on the repeats of the next.
func withoutScattered(runs [][]Repeat) [][]Repeat {
	var sizes []float64
	for _, r := range runs {
		if len(r) > 1 {
			_, squares, _ := describeRepeats(r)
			sizes = append(sizes, squares/float64(len(r)-1))
		}
	}
	if len(sizes) < leastToScale {
		return runs
	}
	most := farOut * farOut * Median(sizes)
	if most == 0 {
		return runs
	}
	return slices.DeleteFunc(slices.Clone(runs), func(r []Repeat) bool {
		_, squares, _ := describeRepeats(r)
		return len(r) > 1 && squares > most*float64(len(r)-1)
	})
}

// varianceWithin is the variance of a repeat around the mean of its run. It is at least the sampling variance, and
// only that if no run has two repeats.
func varianceWithin(runs [][]Repeat) variance {
	var out variance
	inside, n := 0.0, 0.0
	for _, r := range runs {
		_, squares, sampling := describeRepeats(r)
		out.v, out.df = out.v+squares, out.df+float64(len(r)-1)
		inside, n = inside+sampling*float64(len(r)), n+float64(len(r))
	}
	out.v = max(out.v/max(1, out.df), inside/n)
	return out
}

func (b variance) orAssumed(within variance, repeats float64, assumed RunSpread) (v, df float64, source string) {
	own := within.v / repeats
	prior, source := assumed.variance(within, own)
	switch {
	case b.df >= leastRunDF:
		return max(b.v, own), b.df, SpreadOfRuns
	case b.df > 0 && b.v > prior.v:
		return max(b.v, own), b.df + prior.df, SpreadOfRuns
	case b.df+prior.df == 0:
		return own, 0, source
	}
	both := b.with(prior)
	return both.v, both.df, source
}

// leastSpread is assumed between runs whose repeats are equal, as that does not prove that runs are.
const leastSpread = 0.002

// variance is that of the mean of a run, of which the repeats explain own.
func (s RunSpread) variance(within variance, own float64) (variance, string) {
	switch {
	case s.Source == SpreadOfMachine: // it contains own
		return variance{max(own, s.SD*s.SD), s.DF}, s.Source
	case s.OfRepeats > 0 && within.df >= 2:
		between := min(s.SD, max(leastSpread, s.OfRepeats*math.Sqrt(within.v)))
		return variance{between*between + own, min(s.DF, within.df)}, SpreadOfRepeats
	case within.df == 0: // the spread between repeats is as unknown
		return variance{s.SD*s.SD + own + s.SD*s.SD, s.DF}, SpreadAssumed
	case s.SD == 0:
		return variance{own, within.df}, SpreadAssumed
	}
	return variance{s.SD*s.SD + own, s.DF}, SpreadAssumed
}

// sideVariance is the variance of the center of a side's runs. v is the variance of a run with the given number of
// repeats.
func sideVariance(runs [][]Repeat, v float64, within variance, repeats float64, c center) float64 {
	between := max(0, v-within.v/repeats)
	sum := 0.0
	for _, r := range runs {
		sum += between + within.v/float64(len(r))
	}
	return sum / (float64(len(runs)) * c.runs(len(runs)))
}

const scatterLevel = 0.1

// addNoise sets SE. If the repeats of changed scatter far more than those before, what they add to the variance
// of their mean counts, with their few degrees of freedom (F. Satterthwaite, "An Approximate Distribution of
// Estimates of Variance Components", Biometrics Bulletin 2, 1946).
func (c *Contrast) addNoise(square float64, changed, before [][]Repeat) {
	own, others := varianceWithin(changed), varianceWithin(before)
	c.se = math.Sqrt(square)
	if own.df == 0 || others.df == 0 || !(own.v > others.v) {
		return
	}
	p := 0.0
	if others.v > 0 {
		p = distuv.F{D1: own.df, D2: others.df}.Survival(own.v / others.v)
	}
	if p > scatterLevel {
		return
	}
	added := 0.0
	for _, r := range changed {
		added += (own.v - others.v) / float64(len(r)*len(changed)*len(changed))
	}
	total := square + added
	c.DF = total * total / (square*square/max(c.DF, 1) + added*added/own.df)
	c.se = math.Sqrt(total)
}

func meanOfRuns(runs [][]Repeat) float64 { return stat.Mean(MeansOfRuns(runs), nil) }

func MeansOfRuns(runs [][]Repeat) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i], _, _ = describeRepeats(r)
	}
	return out
}

func repeatsPerRun(runs [][]Repeat) float64 {
	sum := 0.0
	for _, r := range runs {
		sum += 1 / float64(len(r))
	}
	return float64(len(runs)) / sum
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
