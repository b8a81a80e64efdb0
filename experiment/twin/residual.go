package twin

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Limit is what an SLO limits: a percentile of a metric of requests, in seconds.
type Limit struct {
	Metric string  // ttft, tpot or e2e
	P      float64 // 0.95; 0 = the mean
	Value  float64
}

// values are a metric's in the window, in order of arrival; failed requests of measured rank as infinite.
func values(requests, measured []Request, metric string) []float64 {
	out := make([]float64, 0, len(requests))
	for i := range requests {
		r := &requests[i]
		if !r.Window {
			continue
		}
		if measured[i].Failed {
			out = append(out, math.Inf(1))
			continue
		}
		switch metric {
		case "ttft":
			out = append(out, r.First-r.Arrival)
		case "e2e":
			out = append(out, r.Last-r.Arrival)
		default:
			if r.Output > 1 {
				out = append(out, (r.Last-r.First)/float64(r.Output-1))
			}
		}
	}
	return out
}

// quantile is the linear interpolation of order statistics (Hyndman and Fan's type 7); p = 0 is the mean.
func quantile(v []float64, p float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return ranked(v, p)
}

// ranked is the quantile of sorted values.
func ranked(s []float64, p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	if p == 0 {
		return floats.Sum(s) / float64(len(s))
	}
	at := p * float64(len(s)-1)
	i := int(at)
	if i+1 >= len(s) || at == float64(i) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// Residual is the logarithm of measured ÷ twin of one limited percentile on the same arrivals, with its standard error
// by sections of the window.
type Residual struct {
	Load     float64 `json:"load"`
	N        int     `json:"n"`          // values in the window
	Measured float64 `json:"measured_s"` // the percentile
	Twin     float64 `json:"twin_s"`     // on the same arrivals
	Log      float64 `json:"log"`        // ln(measured ÷ twin)
	Error    float64 `json:"error"`      // standard error of Log
}

// Residuals are, for each limit, the residuals of the trials that are not cut and have finite percentiles. The model
// runs once for each trial.
func (m *Model) Residuals(trials []Trial, limits ...Limit) [][]Residual {
	out := make([][]Residual, len(limits))
	for i := range trials {
		t := &trials[i]
		if t.Cut {
			continue
		}
		own := m.Run(t.Requests, t.Workers)
		measured, served := map[string][][]float64{}, map[string][][]float64{} // by metric
		for j, l := range limits {
			if measured[l.Metric] == nil {
				measured[l.Metric] = sections(values(t.Requests, t.Requests, l.Metric))
				served[l.Metric] = sections(values(own, t.Requests, l.Metric))
			}
			a, b := measured[l.Metric], served[l.Metric]
			r := Residual{Load: t.Load, N: len(a[0]), Measured: ranked(a[0], l.P), Twin: ranked(b[0], l.P)}
			r.Log = math.Log(r.Measured / r.Twin)
			if r.N < fewestValues || math.IsNaN(r.Log) || math.IsInf(r.Log, 0) {
				continue
			}
			r.Error = sectionError(a, b, l.P)
			out[j] = append(out[j], r)
		}
	}
	return out
}

const fewestValues = 12

// sectionError is the standard error of ln(quantile of a ÷ that of b) by the differences of its sections.
func sectionError(a, b [][]float64, p float64) float64 {
	const least = 0.01
	var logs []float64
	for i := range a[1:] {
		if d := math.Log(ranked(a[1+i], p) / ranked(b[1+i], p)); !math.IsNaN(d) && !math.IsInf(d, 0) {
			logs = append(logs, d)
		}
	}
	if len(logs) < 2 {
		return 0.5
	}
	k := float64(len(logs))
	student := math.Sqrt((k - 1) / max(k-3, 0.5)) // few sections: the deviation of Student's t
	return max(least, student*deviation(logs)/math.Sqrt(k))
}

// deviation is the standard deviation of a sample; 0 of one value.
func deviation(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	return stat.StdDev(v, nil)
}

// intended are requests that arrive without the client's lag.
func intended(requests []Request) []Request {
	out := slices.Clone(requests)
	for i := range out {
		out[i].Arrival -= out[i].Lag
	}
	return out
}

// Percentiles are the limits' percentiles, whose values do not count, of what the model makes of a trial's requests.
func (m *Model) Percentiles(t *Trial, limits []Limit) []float64 {
	own := intended(m.Run(t.Requests, t.Workers))
	out := make([]float64, len(limits))
	for i, l := range limits {
		out[i] = quantile(values(own, t.Requests, l.Metric), l.P)
	}
	return out
}

// Measured is a trial's own percentile, and the standard error of its logarithm by sections of the window.
func (t *Trial) Measured(l Limit) (value, err float64) {
	v := values(intended(t.Requests), t.Requests, l.Metric)
	all := sections(v)
	return ranked(all[0], l.P), sectionError(all, sections(slices.Repeat([]float64{1}, len(v))), l.P)
}

// correction is ln(server ÷ twin) as a function of ln(load): a Gaussian process through the residuals, whose amplitude
// is the likeliest one (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4).
type correction struct {
	at        []float64 // ln(load) of the residuals
	weights   *mat.VecDense
	chol      mat.Cholesky
	amplitude float64
	misfit    float64 // of the operating point, beside the error of the correction
}

const (
	anyLevel = 0.3 // standard deviation of a correction that all loads share
	reach    = 0.3 // of ln(load), over which it changes
)

func (c *correction) covariance(x, y float64) float64 {
	d := (x - y) / reach
	return anyLevel*anyLevel + c.amplitude*c.amplitude*math.Exp(-d*d/2)
}

func newCorrection(residuals []Residual) *correction {
	best := &correction{amplitude: anyLevel} // nothing is known of it
	if len(residuals) == 0 {
		return best
	}
	likeliest := math.Inf(-1)
	n := len(residuals)
	values := mat.NewVecDense(n, nil)
	for i, r := range residuals {
		values.SetVec(i, r.Log)
	}
	for _, amplitude := range []float64{0.01, 0.03, 0.1, 0.3} {
		c := &correction{amplitude: amplitude, weights: mat.NewVecDense(n, nil)}
		for _, r := range residuals {
			c.at = append(c.at, math.Log(r.Load))
		}
		k := mat.NewSymDense(n, nil)
		for i, r := range residuals {
			for j := i; j < n; j++ {
				k.SetSym(i, j, c.covariance(c.at[i], c.at[j]))
			}
			k.SetSym(i, i, k.At(i, i)+r.Error*r.Error+1e-6)
		}
		if !c.chol.Factorize(k) || c.chol.SolveVecTo(c.weights, values) != nil {
			continue
		}
		if l := -mat.Dot(values, c.weights)/2 - c.chol.LogDet()/2; l > likeliest {
			best, likeliest = c, l
		}
	}
	return best
}

// near is the correction at ln(load) and its standard error.
func (c *correction) near(x float64) (mean, err float64) {
	if len(c.at) == 0 {
		return 0, math.Sqrt(c.covariance(x, x))
	}
	k := mat.NewVecDense(len(c.at), nil)
	for i, at := range c.at {
		k.SetVec(i, c.covariance(x, at))
	}
	var v mat.VecDense
	if c.chol.SolveVecTo(&v, k) != nil {
		return 0, anyLevel
	}
	return mat.Dot(k, c.weights), math.Sqrt(max(0, c.covariance(x, x)-mat.Dot(k, &v)))
}

// Foreseen is a percentile of a trial that the model was not fitted to, measured and as the model has it.
type Foreseen struct {
	Load, Measured float64
	Latency
}

// Foresee predicts the limits' percentiles, whose values do not count, of later trials on their own arrivals, corrected
// by the trials of the fit.
func (m *Model) Foresee(fitted, later []Trial, limits []Limit) [][]Foreseen {
	out := make([][]Foreseen, len(limits))
	slow, fast := m.Scaled(math.Exp(2*m.SpeedError)), m.Scaled(math.Exp(-2*m.SpeedError))
	before := m.Residuals(fitted, limits...)
	at, slower, faster := m.Residuals(later, limits...), slow.Residuals(later, limits...), fast.Residuals(later,
		limits...)
	for i := range limits {
		if len(before[i]) == 0 || len(at[i]) != len(slower[i]) || len(at[i]) != len(faster[i]) {
			continue
		}
		correction, luck := newCorrection(before[i]), middleError(before[i])
		for k, r := range at[i] {
			mean, err := correction.near(math.Log(r.Load))
			half := max(leastWidth, widening*math.Hypot(math.Hypot(err, luck), misfit))
			value, a, b := math.Log(r.Twin), math.Log(slower[i][k].Twin), math.Log(faster[i][k].Twin)
			out[i] = append(out[i], Foreseen{r.Load, r.Measured, Latency{math.Exp(value + mean),
				math.Exp(min(value, a, b) + mean - half), math.Exp(max(value, a, b) + mean + half)}})
		}
	}
	return out
}

// middleError is the usual error of one residual: the luck of a window.
func middleError(residuals []Residual) float64 {
	var all []float64
	for _, r := range residuals {
		all = append(all, r.Error)
	}
	return median(all)
}
