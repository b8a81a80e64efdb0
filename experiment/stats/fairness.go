package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// PartsOfShare is the number of successive parts of a window that shares and fairness are taken from.
const PartsOfShare = 40

// ShareOf is own's share of own and rest, which are given by successive parts of a window; in [0, 1] if the parts are
// too few to tell.
func ShareOf(own, rest []float64, confidence float64) (share float64, within Interval) {
	odds := RatioOfMeans(Pairs{A: rest, B: own, Cluster: successive(len(own))}).Interval(confidence)
	sum := floats.Sum(own)
	return sum / (sum + floats.Sum(rest)), Interval{logistic(odds.Lo), logistic(odds.Hi)}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func successive(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Fairness is how equally users shared what they got.
type Fairness struct {
	Index   float64 // Jain's: 1 if all have the same part of their fair share, 1/n if one of n has all
	Within  Interval
	OfShare []float64 // what each user got, over its fair share
}

// FairnessOf takes what each user got and asked for in successive parts of a window. Fair shares are max-min: all users
// get the same, and none more than it asks for (Bertsekas and Gallager, "Data Networks", 2nd edition, section 6.5.2).
// With x what a user got over its share, the index is (Σx)² ÷ (n·Σx²) (Jain, Chiu and Hawe, "A Quantitative Measure of
// Fairness and Discrimination for Resource Allocation in Shared Computer Systems", DEC TR-301, 1984). ok is false for a
// user who asked for nothing.
//
// The index is 1 ÷ (1 + n·d²), where d is the distance of x/Σx from equal parts. Since the data chose its direction,
// the interval of d is Scheffé's for all directions ("The Analysis of Variance", 1959, section 3.5), cut at 0.
func FairnessOf(got, asked [][]float64, confidence float64) (f Fairness, ok bool) {
	n := float64(len(got))
	f.OfShare = ofShares(got, asked, floats.Sum)
	away := fromEqual(f.OfShare)
	d := floats.Norm(away, 2)
	if len(got) < 2 || !isFinite(d) {
		return f, false
	}
	if d == 0 {
		away[0], away[1] = math.Sqrt(0.5), -math.Sqrt(0.5)
	} else {
		floats.Scale(1/d, away)
	}
	p := Pairs{A: got[0], B: asked[0], Cluster: successive(len(got[0]))}
	c := p.contrast(d, func(r *redrawn) float64 {
		return floats.Dot(away, fromEqual(ofShares(got, asked, r.sum)))
	})
	index := func(d float64) float64 { return max(1/n, 1/(1+n*d*d)) }
	f.Index, f.Within = index(d), Interval{1 / n, 1}
	if c.DF > 0 {
		half := c.SE * math.Sqrt((n-1)*distuv.F{D1: n - 1, D2: c.DF}.Quantile(confidence))
		f.Within = Interval{index(d + half), index(max(0, d-half))}
	}
	return f, true
}

func ofShares(got, asked [][]float64, sum func([]float64) float64) []float64 {
	x, demand := make([]float64, len(got)), make([]float64, len(got))
	for i := range got {
		x[i], demand[i] = sum(got[i]), sum(asked[i])
	}
	return floats.DivTo(x, x, maxMin(floats.Sum(x), demand))
}

func maxMin(total float64, demand []float64) []float64 {
	out := make([]float64, len(demand))
	left := float64(len(demand))
	for _, i := range argsort(demand) {
		out[i] = min(demand[i], total/left)
		total, left = total-out[i], left-1
	}
	return out
}

func fromEqual(x []float64) []float64 {
	out, sum := make([]float64, len(x)), floats.Sum(x)
	for i := range x {
		out[i] = x[i]/sum - 1/float64(len(x))
	}
	return out
}
