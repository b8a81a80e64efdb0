package stats

import (
	"cmp"
	"slices"
)

// Looks are the moments at which a row that ends early may be evaluated: after firstLook requests, and after each
// doubling. The risk is divided among them: look k takes 1/(k·(k+1)) of it, which sums to at most all of it.
type Looks struct {
	Risk float64 // of a wrong decision over all looks; 0.01 = 1 %
}

const firstLook = 64

func (Looks) At(k int) int { return firstLook << (k - 1) }

func (l Looks) Confidence(k int) float64 { return 1 - l.Risk/float64(k*(k+1)) }

func ranks(values []float64) []float64 { return ranksIn(argsort(values), values) }

func ranksIn(order []int, values []float64) []float64 {
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

func argsort(values []float64) []int {
	type placed struct {
		x float64
		i int
	}
	sorted, order := make([]placed, len(values)), make([]int, len(values))
	for i, x := range values {
		sorted[i] = placed{x, i}
	}
	slices.SortFunc(sorted, func(a, b placed) int { return cmp.Compare(a.x, b.x) })
	for k, p := range sorted {
		order[k] = p.i
	}
	return order
}
