package stats

import (
	"math"
	"slices"
)

type Region struct {
	Low, High float64 // 0, +Inf: no probe bounds it inside of the range
	Best      float64 // estimate of the threshold
	Spread    float64 // standard deviation of its logarithm

	likelihood *likelihood
	thresholds []float64 // ln, ascending
	losses     []float64 // of each; 0 for the likeliest
	slopes     []float64 // of each

	first, last float64 // possible thresholds, ln
}

// possible is the largest loss of a possible threshold. The profile likelihood's interval of 95 % (Cox and Hinkley,
// "Theoretical Statistics", 1974, section 9.3) has half the quantile of χ² with one degree of freedom, 1.92; the rest
// is for autocorrelation times and slopes that are estimates.
const possible = 2.3

// Region is what all probes leave possible. There is always something: it can't contradict itself.
func (s Search) Region(probes []Probe) *Region {
	r := &Region{likelihood: newLikelihood(probes, false)}
	low, high := s.ends(r)
	if isDisturbed(probes) { // measured values choose the likeliest load, and the next one
		worst := &Region{likelihood: newLikelihood(probes, true)}
		a, b := s.ends(worst)
		low, high = min(low, a), max(high, b)
		r.first, r.last = min(r.first, worst.first), max(r.last, worst.last)
	}
	best, spread := r.estimate()
	r.Low, r.High, r.Best = s.snap(math.Exp(low), probes), s.snap(math.Exp(high), probes), min(max(math.Exp(best), s.Min), s.Max)
	r.Spread = spread
	if s.Whole { // the highest number that meets the limits is an integer
		r.Low, r.High, r.Best = math.Floor(math.Exp(r.first)), math.Floor(math.Exp(r.last))+1, math.Floor(r.Best)
	}
	if r.Low < s.Min {
		r.Low = 0
	}
	if r.High > s.Max {
		r.High = math.Inf(1)
	}
	return r
}

// estimate is a quantile of the possible thresholds, weighted by their likelihood. It is below the median, as too high
// an estimate costs more than one that is too low, and as probes begin with an empty queue.
func (r *Region) estimate() (best, spread float64) {
	const narrow, sure, unsure = 0.1, 0.4, 0.45
	sum, mean, square := 0.0, 0.0, 0.0
	for i, x := range r.thresholds {
		w := math.Exp(-r.losses[i])
		sum, mean, square = sum+w, mean+w*x, square+w*x*x
	}
	mean /= sum
	spread = math.Sqrt(max(0, square/sum-mean*mean))
	quantile := unsure
	if spread < narrow {
		quantile = sure
	}
	for i, x := range r.thresholds {
		if best = x; sum*quantile <= 0 {
			break
		}
		quantile -= math.Exp(-r.losses[i]) / sum
	}
	return best, spread
}

func (s Search) snap(load float64, probes []Probe) float64 {
	const rounding = 1e-12
	loads := []float64{s.Min, s.Max} // a FAIL at Max bounds the threshold
	for _, p := range probes {
		loads = append(loads, p.Load)
	}
	for _, x := range loads {
		if math.Abs(load-x) <= rounding*x {
			return x
		}
	}
	return load
}

func isDisturbed(probes []Probe) bool {
	return slices.ContainsFunc(probes, func(p Probe) bool {
		return slices.ContainsFunc(p.Limits, func(e Exceedances) bool { return e.Least < e.Over || e.Over < e.Most })
	})
}

func (s Search) ends(r *Region) (low, high float64) {
	const margin, coarse, fine = 0.05, 0.02, 200
	low, high = r.find(grid(math.Log(s.Min)-margin, math.Log(s.Max)+margin, coarse))
	low, high = r.find(grid(low, high, max(0.001, (high-low)/fine)))
	for i, p := range r.likelihood.probes { // a load is an end rather than the grid's point beside it
		switch x := r.likelihood.log[i]; {
		case p.Measured > 0:
		case low < x && x <= r.first:
			low = x
		case r.last <= x && x < high:
			high = x
		}
	}
	return low, high
}

func (r *Region) find(thresholds []float64) (low, high float64) {
	r.thresholds = thresholds
	r.losses, r.slopes = r.likelihood.losses(thresholds)
	least := slices.Min(r.losses)
	for i := range r.losses {
		r.losses[i] -= least
	}
	first := slices.IndexFunc(r.losses, func(x float64) bool { return x <= possible })
	last := len(thresholds) - 1
	for r.losses[last] > possible {
		last--
	}
	r.first, r.last = thresholds[first], thresholds[last]
	return thresholds[max(0, first-1)], thresholds[min(len(thresholds)-1, last+1)]
}

func grid(low, high, step float64) []float64 {
	n := max(2, int(math.Ceil((high-low)/step))+1)
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (high-low)*float64(i)/float64(n-1)
	}
	return out
}

// weight of a threshold: its likelihood, but so that the ends of the region count too.
func (r *Region) weight(i int) float64 { return math.Exp(-r.losses[i] / 2) }

func (r *Region) middle() float64 {
	sum, mean := 0.0, 0.0
	for i, x := range r.thresholds {
		w := math.Exp(-r.losses[i])
		sum, mean = sum+w, mean+w*x
	}
	return mean / sum
}

// gain is about the information of a probe at ln(load): the spread of the shares over the limit that the thresholds
// expect, on the scale arcsin √share, on which counts of n independent requests have the variance 1/(4n).
func (r *Region) gain(load float64) float64 {
	most := 0.0
	for limit, allowed := range r.likelihood.allowed() {
		sum, mean, square := 0.0, 0.0, 0.0
		for i, at := range r.thresholds {
			a := math.Asin(math.Sqrt(newShareModel(allowed, max(1, r.slopes[i]), false).at(load - at)))
			w := r.weight(i)
			sum, mean, square = sum+w, mean+w*a, square+w*a*a
		}
		mean /= sum
		most = max(most, math.Exp(load)/r.likelihood.timeNear(load, limit)*(square/sum-mean*mean))
	}
	return most
}
