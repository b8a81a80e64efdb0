package stats

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Dependence describes how strongly successive values depend on each other. Requests that share a batch or a
// queue resemble each other, so that n of them carry less information than n independent ones.
type Dependence struct {
	Time  float64 // integrated autocorrelation time: number of successive values per independent value; at least 1
	block int     // number of successive values that a bootstrap must keep together; at least 1
}

const longest = 1 << 15

// DependenceOf estimates from values in time order. Autocorrelations are summed while the sums of
// neighbouring ones are positive and falling (Geyer, "Practical Markov Chain Monte Carlo", Statistical
// Science 7(4), 1992, section 3.3). The block length is Politis and White's optimum for circular blocks
// ("Automatic Block-Length Selection for the Dependent Bootstrap", Econometric Reviews 23(1), 2004, corrected
// 2009), with the same sums.
//
// Latencies of a batch that ends at once fall with the order of arrival, so that neighbours differ although
// batches resemble each other: the sums then end too early. Therefore the same is done with means of 2, 4, 8 …
// successive values, which preserve the long-run variance (the variance of a mean times its number of values).
// Their largest time counts if it is clearly larger than that of the single values.
func DependenceOf(values []float64) Dependence {
	n, size := len(values), 1
	for n/size > longest {
		size *= 2
	}
	variance := stat.PopVariance(values, nil)
	if !(variance > 0) { // all values are equal, or one is NaN
		return Dependence{1, 1}
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	d := s.ofMeans(values, size, variance)
	for fine := d.Time; n/(2*size) >= fewestMeans; {
		size *= 2
		coarse := s.ofMeans(values, size, variance)
		// The relative error of the variance of m means with a time t is about √(2t/m).
		noise := math.Sqrt(2 * max(1, coarse.Time/float64(size)) * float64(size) / float64(n))
		if coarse.Time > max(d.Time, fine*min(max(1.25, 1+clearly*noise), 2.5)) {
			d = coarse
		}
	}
	return d
}

// clearly is the number of standard errors by which a time exceeds another one clearly: twice four, since the sums
// of autocorrelations have errors too.
const clearly = 8

// scratch is memory for an estimate: a row takes some hundred of them.
type scratch struct {
	centred, padded []float64
	spectrum        []complex128
	transforms      [64]*fourier.FFT // by the logarithm of their length
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) ofMeans(values []float64, size int, variance float64) Dependence {
	if size > 1 {
		values = blockMeans(values, len(values)/size)
	}
	varianceOfMeans, d := s.dependence(values)
	return Dependence{Time: max(1, float64(size)*varianceOfMeans*d.Time/variance), block: size * d.block}
}

// fewestMeans is the smallest number of means that shows a long-run variance.
const fewestMeans = 30

func (s *scratch) dependence(values []float64) (variance float64, d Dependence) {
	n := len(values)
	d = Dependence{1, 1}
	if n < 4 {
		return 0, d
	}
	s.centred = slices.Grow(s.centred[:0], n)[:n]
	r := &autocovariance{centred: s.centred, scratch: s}
	mean := stat.Mean(values, nil)
	for i, x := range values {
		r.centred[i] = x - mean
	}
	variance = r.at(0)
	if !(variance > 0) { // all values are equal, or one is NaN
		return 0, d
	}
	sum, moment, lags := 0.0, 0.0, 0 // of γ(k) and k·γ(k)
	for k, before := 0, math.Inf(1); 2*k+1 < n; k++ {
		even, odd := r.at(2*k), r.at(2*k+1)
		pair := min(even+odd, before)
		if pair <= 0 {
			break
		}
		sum += pair
		moment += float64(2*k)*even + float64(2*k+1)*odd
		before, lags = pair, 2*k+2
	}
	// Each autocovariance is too small by about the variance of the mean, as the mean is that of the series.
	d.Time = max(1, (2*sum/variance-1)/max(0.3, 1-2*float64(lags)/float64(n)))
	ratio := 2 * moment / (d.Time * variance)
	d.block = max(1, int(math.Ceil(math.Cbrt(1.5*ratio*ratio*float64(n)))))
	return variance, d
}

// autocovariance computes the first lags one by one, since independent values need no more than two or four,
// and then all of them by a Fourier transform.
type autocovariance struct {
	centred []float64
	all     []float64
	*scratch
}

const directLags = 24

func (a *autocovariance) at(lag int) float64 {
	if lag < directLags {
		n := len(a.centred)
		return floats.Dot(a.centred[:n-lag], a.centred[lag:]) / float64(n)
	}
	if a.all == nil {
		a.all = a.transformed(a.centred)
	}
	return a.all[lag]
}

func (s *scratch) transformed(centred []float64) []float64 {
	n := len(centred)
	log := bits.Len(uint(2*n - 1))
	size := 1 << log
	padded := slices.Grow(s.padded[:0], size)[:size]
	clear(padded[copy(padded, centred):])
	if s.transforms[log] == nil {
		s.transforms[log] = fourier.NewFFT(size)
	}
	fft := s.transforms[log]
	s.padded, s.spectrum = padded, slices.Grow(s.spectrum[:0], size/2+1)[:size/2+1]
	spectrum := fft.Coefficients(s.spectrum, padded)
	for i, c := range spectrum {
		spectrum[i] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
	}
	r := fft.Sequence(padded, spectrum)[:n]
	for i := range r {
		r[i] /= float64(size) * float64(n)
	}
	return r
}

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

func (d Dependence) effective(n int) float64 { return max(1, float64(n)/d.Time) }

const (
	mostBatches   = 10
	fewestBatches = 4
	leastBatch    = 5 // values in a batch
)

// BatchMeans is a confidence interval of the mean of a series of few dependent values in time order: Student's t over
// the means of at most 10 batches of successive values (Law, "Simulation Modeling and Analysis", 5th edition, section
// 9.5.3). It is unbounded below 20 values. MeanInterval needs more of them and assumes less.
func BatchMeans(values []float64, confidence float64) Interval {
	batches := min(mostBatches, len(values)/leastBatch)
	if batches < fewestBatches {
		return unbounded()
	}
	mean, sd := stat.MeanStdDev(blockMeans(values, batches), nil)
	half := quantileOfT(1-(1-confidence)/2, float64(batches-1)) * sd / math.Sqrt(float64(batches))
	return Interval{mean - half, mean + half}
}
