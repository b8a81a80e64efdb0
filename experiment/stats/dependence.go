package stats

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// Dependence describes how strongly successive values depend on each other. Requests that share a batch or a
// queue resemble each other, so that n of them carry less information than n independent ones.
type Dependence struct {
	Time  float64 // integrated autocorrelation time: number of successive values per independent value; at least 1
	Block int     // number of successive values that a bootstrap must keep together; at least 1
}

// longest is the length of the longest series that is analysed value by value; a longer one is averaged in
// batches first.
const longest = 1 << 15

// DependenceOf estimates from values in time order. Autocorrelations are summed while the sums of
// neighbouring ones are positive and falling (Geyer, "Practical Markov Chain Monte Carlo", Statistical
// Science 7(4), 1992, section 3.3). The block length is Politis and White's optimum for circular blocks
// ("Automatic Block-Length Selection for the Dependent Bootstrap", Econometric Reviews 23(1), 2004, corrected
// 2009), with the same sums.
func DependenceOf(values []float64) Dependence {
	n := len(values)
	batch := (n + longest - 1) / longest
	if batch <= 1 {
		_, d := dependence(values)
		return d
	}
	// Averaging preserves the long-run variance: the variance of a mean times its number of values.
	means := blockMeans(values, n/batch)
	inBatches, d := dependence(means)
	variance := stat.PopVariance(values, nil)
	if !(variance > 0) {
		return Dependence{1, 1}
	}
	return Dependence{Time: max(1, float64(batch)*inBatches*d.Time/variance), Block: batch * d.Block}
}

// dependence analyses a series value by value, and also returns its variance.
func dependence(values []float64) (variance float64, d Dependence) {
	n := len(values)
	d = Dependence{1, 1}
	if n < 4 {
		return 0, d
	}
	r := autocovariance(values)
	if !(r[0] > 0) { // all values are equal, or one is NaN
		return 0, d
	}
	sum, moment := 0.0, 0.0 // of γ(k) and k·γ(k)
	for k, before := 0, math.Inf(1); 2*k+1 < n; k++ {
		pair := min(r[2*k]+r[2*k+1], before)
		if pair <= 0 {
			break
		}
		sum += pair
		moment += float64(2*k)*r[2*k] + float64(2*k+1)*r[2*k+1]
		before = pair
	}
	d.Time = max(1, 2*sum/r[0]-1)
	ratio := 2 * moment / (d.Time * r[0])
	d.Block = max(1, int(math.Ceil(math.Cbrt(1.5*ratio*ratio*float64(n)))))
	return r[0], d
}

// autocovariance returns it for every lag, by the Fourier transform of the zero-padded series.
func autocovariance(values []float64) []float64 {
	n := len(values)
	size := 1
	for size < 2*n {
		size *= 2
	}
	mean := stat.Mean(values, nil)
	padded := make([]float64, size)
	for i, x := range values {
		padded[i] = x - mean
	}
	fft := fourier.NewFFT(size)
	spectrum := fft.Coefficients(nil, padded)
	for i, c := range spectrum {
		spectrum[i] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
	}
	r := fft.Sequence(padded, spectrum)[:n]
	for i := range r {
		r[i] /= float64(size) * float64(n)
	}
	return r
}

// blockMeans splits the values into blocks of nearly equal length and returns the mean of each.
func blockMeans(values []float64, blocks int) []float64 {
	means := make([]float64, blocks)
	for i := range means {
		from, to := i*len(values)/blocks, (i+1)*len(values)/blocks
		sum := 0.0
		for _, x := range values[from:to] {
			sum += x
		}
		means[i] = sum / float64(to-from)
	}
	return means
}

// effective is the number of independent values whose mean would be as precise as that of these n successive
// ones: between 1 and n.
func (d Dependence) effective(n int) float64 { return max(1, float64(n)/d.Time) }
