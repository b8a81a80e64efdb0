package twin

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
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
		for j, l := range limits {
			a, b := values(t.Requests, t.Requests, l.Metric), values(own, t.Requests, l.Metric)
			r := Residual{Load: t.Load, N: len(a), Measured: quantile(a, l.P), Twin: quantile(b, l.P)}
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
func sectionError(a, b []float64, p float64) float64 {
	const most, fewest, least = 10, 20, 0.01
	n := min(most, len(a)/fewest)
	if n < 2 {
		return 0.5
	}
	var logs []float64
	for i := range n {
		from, to := i*len(a)/n, (i+1)*len(a)/n
		if d := math.Log(quantile(a[from:to], p) / quantile(b[from:to], p)); !math.IsNaN(d) && !math.IsInf(d, 0) {
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
	all := values(intended(t.Requests), t.Requests, l.Metric)
	even := make([]float64, len(all))
	for i := range even {
		even[i] = 1
	}
	return quantile(all, l.P), sectionError(all, even, l.P)
}
