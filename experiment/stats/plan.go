package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// RunNoise is what makes the means of runs differ that nothing changed between: standard deviations on the
// scale of a comparison.
type RunNoise struct {
	Night    float64 // of a run, that its repeats share
	Repeat   float64 // of a repeat within a run, beyond its sample
	Sampling float64 // of a repeat's figure for its requests, at Duration
	Duration float64 // of the repeats that showed it, in seconds
	DF       float64 // degrees of freedom of the whole
}

// NoiseOfRuns splits the variance of runs in order of time. That between runs is around the mean of up to
// `window` previous ones, without far ones, as CompareRuns takes it: a drift over months is not in it.
func NoiseOfRuns(runs [][]Repeat, window int, duration float64) RunNoise {
	n := RunNoise{Duration: duration}
	if len(runs) < 2 {
		return n
	}
	sampling, repeats := 0.0, 0.0
	for _, r := range runs {
		_, _, inside := describeRepeats(r)
		sampling, repeats = sampling+inside*float64(len(r)), repeats+float64(len(r))
	}
	sampling /= repeats
	within := varianceWithin(runs)
	between := varianceOf(recursiveResiduals(MeansOfRuns(runs), window))
	n.DF = between.df
	n.Sampling = math.Sqrt(sampling)
	if within.df > 0 {
		n.Repeat = math.Sqrt(max(0, within.v-sampling))
	}
	n.Night = math.Sqrt(max(0, between.v-(n.Repeat*n.Repeat+sampling)/repeatsPerRun(runs)))
	return n
}

func (n RunNoise) SE(base, repeats int, duration float64) float64 {
	sampling := 0.0
	if duration > 0 {
		sampling = n.Sampling * n.Sampling * n.Duration / duration
	}
	run := n.Night*n.Night + (n.Repeat*n.Repeat+sampling)/float64(repeats)
	return math.Sqrt(run * (1 + 1/float64(base)))
}

// GatePower is how a gate decides on a figure whose difference has this standard error, estimated with some
// degrees of freedom. Distances are on the scale of the comparison, above 0 for worse.
type GatePower struct {
	SE float64

	df     float64
	scales []float64 // quantiles of the estimated over the true standard error
}

func NewGatePower(df float64) GatePower {
	const quantiles = 200
	p := GatePower{df: max(1, df), scales: make([]float64, quantiles)}
	chi := distuv.ChiSquared{K: p.df}
	for i := range p.scales {
		p.scales[i] = math.Sqrt(chi.Quantile((float64(i)+0.5)/quantiles) / chi.K)
	}
	return p
}

// Passes is the probability that the one-sided bound of the change, at this confidence, is below the
// threshold: the power of a test of non-inferiority, Student's noncentral t.
func (p GatePower) Passes(change, threshold, confidence float64) float64 {
	t := quantileOfT(confidence, p.df)
	return p.mean(func(scale float64) float64 { return p.below(threshold-t*scale*p.SE, change) })
}

// Fails is the probability that the change is significant, two-sided at this level, and above the threshold.
func (p GatePower) Fails(change, threshold, level float64) float64 {
	t := quantileOfT(1-level/2, p.df)
	return p.mean(func(scale float64) float64 { return 1 - p.below(max(threshold, t*scale*p.SE), change) })
}

func (p GatePower) below(limit, change float64) float64 {
	if p.SE == 0 {
		return map[bool]float64{true: 1}[change < limit]
	}
	return distuv.UnitNormal.CDF((limit - change) / p.SE)
}

func (p GatePower) mean(f func(scale float64) float64) float64 {
	sum := 0.0
	for _, s := range p.scales {
		sum += f(s)
	}
	return sum / float64(len(p.scales))
}
