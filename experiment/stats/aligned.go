package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Aligned is a series of values less what covariates explain (aligned ranks: Hodges and Lehmann, Annals of Mathematical
// Statistics 33, 1962), in strata of successive values, which share the state of the server.
type Aligned struct {
	Residuals []float64 // in the order of the values

	strata  [][2]int    // from, to; to is excluded
	columns [][]float64 // covariates without the mean of each stratum, of length 1
	weights []float64
	gram    mat.Cholesky // of the weighted columns
}

// Limits of Aligned.
const (
	leastStrata = 8
	refits      = 4    // of the robust fit
	clipped     = 1.35 // robust standard deviations: Huber's weights
)

// NewAligned takes values in time order and strata of at least size values. nil: too few values.
func NewAligned(values []float64, size int, covariates ...[]float64) *Aligned {
	strata := len(values) / max(1, size)
	if strata < leastStrata {
		return nil
	}
	a := &Aligned{}
	for b := range strata {
		a.strata = append(a.strata, [2]int{b * len(values) / strata, (b + 1) * len(values) / strata})
	}
	for _, c := range covariates {
		x := a.centred(c)
		if scale := floats.Norm(x, 2); scale > 1e-9*floats.Norm(c, 2) {
			floats.Scale(1/scale, x)
			a.columns = append(a.columns, x)
		}
	}
	a.align(values)
	return a
}

// align takes off what the strata and the columns explain, by Huber's weights. Each stratum has a scale of its own:
// near saturation some scatter many times as much as others.
func (a *Aligned) align(values []float64) {
	y := a.centred(values)
	a.Residuals, a.weights = y, make([]float64, len(y))
	for range refits {
		a.weigh()
		a.factorize()
		a.Residuals = a.without(y)
	}
}

func (a *Aligned) weigh() {
	scales := make([]float64, len(a.strata))
	centres := make([]float64, len(a.strata))
	for b, s := range a.strata {
		own := slices.Sorted(slices.Values(a.Residuals[s[0]:s[1]]))
		centres[b] = Quantile(own, 0.5)
		for i := range own {
			own[i] = math.Abs(own[i] - centres[b])
		}
		slices.Sort(own)
		scales[b] = Quantile(own, 0.5) / medianOfNormal
	}
	middle := max(Quantile(slices.Sorted(slices.Values(scales)), 0.5), 1e-12)
	for b, s := range a.strata {
		scale := max(scales[b], middle/10)
		for i := s[0]; i < s[1]; i++ {
			far := math.Abs(a.Residuals[i]-centres[b]) / scale / clipped
			a.weights[i] = middle / scale * middle / scale / max(1, far)
		}
	}
}

// centred is x without the mean of each stratum.
func (a *Aligned) centred(x []float64) []float64 {
	out := slices.Clone(x)
	for _, s := range a.strata {
		own := out[s[0]:s[1]]
		floats.AddConst(-floats.Sum(own)/float64(len(own)), own)
	}
	return out
}

func (a *Aligned) factorize() {
	p := len(a.columns)
	if p == 0 {
		return
	}
	square := mat.NewSymDense(p, nil)
	weighted := make([]float64, len(a.weights))
	for i := range p {
		floats.MulTo(weighted, a.weights, a.columns[i])
		for k := i; k < p; k++ {
			square.SetSym(i, k, floats.Dot(weighted, a.columns[k]))
		}
	}
	most := mat.Max(square)
	for i := range p { // a ridge, for columns that depend on each other
		square.SetSym(i, i, square.At(i, i)*(1+1e-9)+1e-9*most)
	}
	a.gram.Factorize(square)
}

// without is y less its fit by the columns.
func (a *Aligned) without(y []float64) []float64 {
	rest := slices.Clone(y)
	p := len(a.columns)
	if p == 0 {
		return rest
	}
	right := mat.NewVecDense(p, nil)
	weighted := make([]float64, len(y))
	floats.MulTo(weighted, a.weights, y)
	for k, c := range a.columns {
		right.SetVec(k, floats.Dot(weighted, c))
	}
	var v mat.VecDense
	_ = a.gram.SolveVecTo(&v, right) // ill-conditioned: the ridge keeps it finite
	for k, c := range a.columns {
		floats.AddScaled(rest, -v.AtVec(k), c)
	}
	return rest
}

// equalWithin is the distance of tied values: alignment has rounding errors.
const equalWithin = 1e-9

// Ranks are the ranks of values within each stratum, from −½ to ½. NaN stays NaN, and has no rank.
func (a *Aligned) Ranks(values []float64) []float64 {
	out := slices.Clone(values)
	var order []int
	for _, b := range a.strata {
		order = order[:0]
		for i := b[0]; i < b[1]; i++ {
			if !math.IsNaN(values[i]) {
				order = append(order, i)
			}
		}
		slices.SortFunc(order, func(i, k int) int { return cmp.Compare(values[i], values[k]) })
		for from := 0; from < len(order); {
			to := from + 1
			for to < len(order) && values[order[to]]-values[order[from]] < equalWithin {
				to++
			}
			for _, i := range order[from:to] {
				out[i] = float64(from+to+1)/2/float64(len(order)+1) - 0.5
			}
			from = to
		}
	}
	return out
}
