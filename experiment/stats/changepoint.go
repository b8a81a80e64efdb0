package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// ChangePoint is a place where the level of a series changes.
type ChangePoint struct {
	At       int     // index of the first value after the change
	LogRatio float64 // log-likelihood ratio of a change here against none
	Limit    float64 // that LogRatio passed
}

// LeastBetweenChanges is the least number of values before a change, after it and between two.
const LeastBetweenChanges = 4

// ChangePoints returns the changes of the level of a series, in order.
//
// Successive values that resemble each other wander, which looks like changes. So a change is a level that
// differs by more than a first-order autoregression explains: the likelihood of one with a step against that
// of one without, each with its own best correlation (M. Robbins, C. Gallagher, R. Lund and A. Aue, "Mean
// Shift Testing in Correlated Data", Journal of Time Series Analysis 32, 2011). If there is no such step, a
// level that came and went is sought in the same way, as two steps with the same level around them hide each
// other (A. Olshen et al., "Circular Binary Segmentation …", Biostatistics 5, 2004). The parts on both sides
// are searched likewise. The limits are from simulation: TestSimulationChangePoints.
func ChangePoints(values []float64) (found []ChangePoint) {
	values = withoutSpikes(values)
	var part func(from, to int)
	part = func(from, to int) {
		n := float64(to - from)
		step, visit := bestLevels(values[from:to])
		stepLimit, visitLimit := ratioLimit(7.8, n), ratioLimit(10.8, n)
		switch {
		case step.ratio > stepLimit && step.ratio-stepLimit >= visit.ratio-visitLimit:
			part(from, from+step.at)
			found = append(found, ChangePoint{from + step.at, step.ratio, stepLimit})
			part(from+step.at, to)
		case visit.ratio > visitLimit:
			part(from, from+visit.at)
			found = append(found, ChangePoint{from + visit.at, visit.ratio, visitLimit})
			part(from+visit.at, from+visit.back)
			found = append(found, ChangePoint{from + visit.back, visit.ratio, visitLimit})
			part(from+visit.back, to)
		}
	}
	part(0, len(values))
	return found
}

// Line is a straight line through a series.
type Line struct {
	Start float64 // at the first value
	Slope float64 // from value to value
}

// Drift is the line through a series that drifts: it explains the series better than a first-order autoregression, as
// for ChangePoints, and than steps at its changes, by the Bayesian information criterion (G. Schwarz, Annals of
// Statistics 6,
// 1978). ok is false for none.
func Drift(values []float64, changes []ChangePoint) (l Line, ok bool) {
	n := len(values)
	if n < 2*LeastBetweenChanges {
		return l, false
	}
	values = withoutSpikes(values)
	if lineRatio(values) <= ratioLimit(7.8, float64(n)) {
		return l, false
	}
	x := ordinals(n)
	l.Start, l.Slope = stat.LinearRegression(x, values, nil, false)
	ofLine, ofSteps, from := 0.0, 0.0, 0
	for i, v := range values {
		d := v - l.Start - l.Slope*x[i]
		ofLine += d * d
	}
	for _, c := range append(slices.Clone(changes), ChangePoint{At: n}) {
		part := values[from:c.At]
		ofSteps += stat.PopVariance(part, nil) * float64(len(part))
		from = c.At
	}
	parameters := 2 * float64(len(changes)) // a place and a level each, and the first level, less those of the line
	return l, float64(n)*math.Log(ofLine/ofSteps) < (parameters-1)*math.Log(float64(n))
}

func ordinals(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

// lineRatio is the log-likelihood ratio of a line against none, each with its own best correlation.
func lineRatio(values []float64) float64 {
	n := float64(len(values))
	x, ones := ordinals(len(values)), slices.Repeat([]float64{1}, len(values))
	with, none := math.Inf(-1), math.Inf(-1)
	for _, rho := range correlations {
		white := func(v []float64) []float64 {
			out := make([]float64, len(v))
			out[0] = math.Sqrt(1-rho*rho) * v[0]
			for i := 1; i < len(v); i++ {
				out[i] = v[i] - rho*v[i-1]
			}
			return out
		}
		y, one, t := white(values), white(ones), white(x)
		without := func(v, u []float64) { floats.AddScaled(v, -floats.Dot(v, u)/floats.Dot(u, u), u) }
		without(y, one)
		without(t, one)
		squares := floats.Dot(y, y)
		if squares == 0 {
			return 0
		}
		along := floats.Dot(y, t)
		likelihood := func(squares float64) float64 { return math.Log1p(-rho*rho)/2 - n/2*math.Log(squares) }
		none = max(none, likelihood(squares))
		with = max(with, likelihood(max(squares-along*along/floats.Dot(t, t), leastResidual*squares)))
	}
	return with - none
}

func ratioLimit(ofThirty, n float64) float64 { return ofThirty + 0.6*math.Log(max(1, n/30)) }

type levels struct {
	at, back int
	ratio    float64 // log-likelihood ratio
}

// correlations are the first-order autocorrelations that are tried. A negative one never looks like a change.
var correlations = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, mostMemory}

// mostMemory is the largest autocorrelation of a series that does not wander off.
const mostMemory = 0.95

// leastResidual is the least share of the variance that is taken for noise: equal values don't prove that
// there is none.
const leastResidual = 1e-9

func bestLevels(values []float64) (step, visit levels) {
	n := len(values)
	if n < 2*LeastBetweenChanges || slices.Max(values) == slices.Min(values) {
		return levels{}, levels{}
	}
	none := math.Inf(-1)
	step.ratio, visit.ratio = none, none
	for _, rho := range correlations {
		w := whiten(values, rho)
		likelihood := func(explained float64) float64 {
			squares := max(w.squares-explained, leastResidual*w.squares)
			return math.Log1p(-rho*rho)/2 - float64(n)/2*math.Log(squares)
		}
		none = max(none, likelihood(0))
		at, explained := w.step()
		if l := likelihood(explained); l > step.ratio {
			step = levels{at, 0, l}
		}
		at, back, explained := w.visit()
		if l := likelihood(explained); l > visit.ratio {
			visit = levels{at, back, l}
		}
	}
	step.ratio -= none
	visit.ratio -= none
	return step, visit
}

// whitened is a series without its autocorrelation ρ: x(0)·√(1−ρ²), then x(t)−ρ·x(t−1). In it a step at k is
// 1 at k and 1−ρ after it. All but overlap are of what is orthogonal to the mean.
type whitened struct {
	squares float64   // sum of squares of the values
	along   []float64 // product of a step at each index with the values
	size    []float64 // sum of squares of that step
	mean    []float64 // product of that step with the mean's direction
	overlap []float64 // product of that step with an earlier one
}

func whiten(values []float64, rho float64) whitened {
	n := len(values)
	w := whitened{along: make([]float64, n), size: make([]float64, n), mean: make([]float64, n),
		overlap: make([]float64, n)}
	first, rest := math.Sqrt(1-rho*rho), 1-rho
	length := math.Sqrt(first*first + float64(n-1)*rest*rest)
	x := make([]float64, n)
	x[0] = first * values[0]
	w.squares = x[0] * x[0]
	sum := first * x[0]
	for i := 1; i < n; i++ {
		x[i] = values[i] - rho*values[i-1]
		w.squares += x[i] * x[i]
		sum += rest * x[i]
	}
	sum /= length
	w.squares -= sum * sum
	after := 0.0
	for k := n - 1; k > 0; k-- {
		behind := float64(n-1-k) * rest * rest
		w.overlap[k] = rest + behind
		w.mean[k] = w.overlap[k] / length
		w.size[k] = 1 + behind - w.mean[k]*w.mean[k]
		w.along[k] = x[k] + rest*after - sum*w.mean[k]
		after += x[k]
	}
	return w
}

func (w *whitened) step() (at int, explained float64) {
	for k := LeastBetweenChanges; k <= len(w.along)-LeastBetweenChanges; k++ {
		if e := w.along[k] * w.along[k] / w.size[k]; e > explained {
			at, explained = k, e
		}
	}
	return at, explained
}

// longestVisit is the largest number of values at another level: both ends of a longer one show as steps.
const longestVisit = 60

func (w *whitened) visit() (at, back int, explained float64) {
	last := len(w.along) - LeastBetweenChanges
	for i := LeastBetweenChanges; i <= last-LeastBetweenChanges; i++ {
		for j := i + LeastBetweenChanges; j <= min(last, i+longestVisit); j++ {
			along := w.along[i] - w.along[j]
			size := w.size[i] + w.size[j] - 2*(w.overlap[j]-w.mean[i]*w.mean[j])
			if along*along > explained*size {
				at, back, explained = i, j, along*along/size
			}
		}
	}
	return at, back, explained
}

const (
	around        = 3   // values on each side that separate a spike from a level
	spikeLimit    = 2.5 // standard deviations
	medianOfSpike = 0.6 // of the distance of normal values from their running median, in standard deviations
)

// withoutSpikes moves values far from the median of the seven around them to a limit, so that a few wild
// values are no change of the level (a Hampel filter: R. Pearson, "Outliers in Process Modeling and
// Identification", IEEE Transactions on Control Systems Technology 10, 2002). A level of four values stays.
func withoutSpikes(values []float64) []float64 {
	n := len(values)
	if n < 2*around+1 {
		return values
	}
	center, off := make([]float64, n), make([]float64, n)
	for i, x := range values {
		from := min(max(0, i-around), n-2*around-1)
		near := slices.Sorted(slices.Values(values[from : from+2*around+1]))
		center[i] = near[around]
		off[i] = math.Abs(x - center[i])
	}
	limit := spikeLimit / medianOfSpike * Median(off)
	out := make([]float64, n)
	for i, x := range values {
		out[i] = min(max(x, center[i]-limit), center[i]+limit)
	}
	return out
}
