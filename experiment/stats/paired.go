package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Pairs are two measurements of each of many units, such as the two answers to one request, in time order. Units of
// one cluster (a conversation) can depend on each other, as can those that are near in time.
type Pairs struct {
	A, B    []float64
	Cluster []int // of each unit; nil: each is its own
}

const (
	LeastPairs  = 30
	LeastGroups = 5
)

func RatioOfMeans(p Pairs) Contrast {
	sumA, sumB := floats.Sum(p.A), floats.Sum(p.B)
	if !(sumA > 0 && sumB > 0) {
		return unknownContrast()
	}
	return p.contrast(math.Log(sumB/sumA), func(r *redrawn) float64 {
		return math.Log(r.sum(p.B) / r.sum(p.A))
	})
}

// DifferenceOfShares is the mean of B − A, of values 0 and 1. Its variance has one more unit that differs: none in n
// does not prove that none ever will.
func DifferenceOfShares(p Pairs) Contrast {
	n := float64(len(p.A))
	c := p.contrast((floats.Sum(p.B)-floats.Sum(p.A))/n, func(r *redrawn) float64 {
		return (r.sum(p.B) - r.sum(p.A)) / r.units
	})
	c.se = math.Sqrt(c.se*c.se + 1/(n*n))
	c.P = c.p()
	return c
}

// RatioOfQuantiles is the logarithm of the ratio of the share-quantiles of B and A.
func RatioOfQuantiles(p Pairs, share float64) Contrast {
	orderA, orderB := argsort(p.A), argsort(p.B)
	quantile := func(values []float64, order []int) float64 { return Quantile(at(values, order), share) }
	a, b := quantile(p.A, orderA), quantile(p.B, orderB)
	if !(a > 0 && b > 0) {
		return unknownContrast()
	}
	return p.contrast(math.Log(b/a), func(r *redrawn) float64 {
		return math.Log(r.quantile(p.B, orderB, share) / r.quantile(p.A, orderA, share))
	})
}

func at(values []float64, order []int) []float64 {
	out := make([]float64, len(order))
	for i, k := range order {
		out[i] = values[k]
	}
	return out
}

// blocksOfPairs is the number of blocks of a bootstrap of pairs: the fewer, the slower a change in time may be that
// still counts.
const blocksOfPairs = 8

type redrawn struct {
	times []float64 // that each unit was drawn
	units float64
}

func (r *redrawn) sum(values []float64) float64 { return floats.Dot(values, r.times) }

func (r *redrawn) quantile(values []float64, order []int, share float64) float64 {
	seen := 0.0
	for _, i := range order {
		if seen += r.times[i]; seen >= share*r.units {
			return values[i]
		}
	}
	return values[order[len(order)-1]]
}

// contrast is a difference whose standard error is that of a bootstrap: blocks of successive whole clusters are drawn,
// each with both sides, so that what makes the units of a cluster, or of a moment, alike stays in it (Künsch, "The
// Jackknife and the Bootstrap for General Stationary Observations", Annals of Statistics 17, 1989; Politis and Romano's
// circle). P and intervals are Student's with the effective number of blocks less one: percentiles of few blocks are
// too close to each other, and can't show a probability as small as many figures need. The draws are the same every
// time.
func (p *Pairs) contrast(difference float64, of func(*redrawn) float64) Contrast {
	clusters := p.clusters()
	if len(p.A) < LeastPairs || len(clusters) < LeastGroups {
		return unknownContrast()
	}
	length := (len(clusters) + blocksOfPairs - 1) / blocksOfPairs
	rng := rand.New(rand.NewPCG(1, 2))
	draws := make([]float64, 0, redraws)
	r := redrawn{times: make([]float64, len(p.A))}
	var circle, begins []int // units of the clusters one after another, the first ones again at the end
	for k := range len(clusters) + length {
		begins, circle = append(begins, len(circle)), append(circle, clusters[k%len(clusters)]...)
	}
	for range redraws {
		clear(r.times)
		r.units = 0
		for range len(clusters) / length {
			start := rng.IntN(len(clusters))
			block := circle[begins[start]:begins[start+length]]
			for _, i := range block {
				r.times[i]++
			}
			r.units += float64(len(block))
		}
		if x := of(&r); isFinite(x) {
			draws = append(draws, x)
		}
	}
	df := effectiveBlocks(clusters, length) - 1
	if len(draws) < redraws/2 || df <= 0 {
		return unknownContrast()
	}
	// A block of m has a share of the spread in its own mean.
	m := df + 1
	c := Contrast{Difference: difference, se: stat.StdDev(draws, nil) * math.Sqrt(m/(m-1)), DF: df,
		Source: SpreadOfPairs}
	c.P, c.Spread = c.p(), c.se*math.Sqrt(float64(len(p.A)))
	return c
}

func (p *Pairs) clusters() [][]int {
	place := map[int]int{}
	var out [][]int
	for i := range p.A {
		c := i
		if p.Cluster != nil {
			c = p.Cluster[i]
		}
		k, ok := place[c]
		if !ok {
			k = len(out)
			place[c] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// effectiveBlocks is Kish's number of blocks by their units: one with most of them is about one block.
func effectiveBlocks(clusters [][]int, length int) float64 {
	sum, squares := 0.0, 0.0
	for block := range slices.Chunk(clusters, length) {
		n := 0.0
		for _, c := range block {
			n += float64(len(c))
		}
		sum, squares = sum+n, squares+n*n
	}
	return sum * sum / squares
}

func unknownContrast() Contrast {
	return Contrast{Difference: math.NaN(), se: math.NaN(), P: math.NaN(), Spread: math.NaN(), Source: SpreadOfPairs}
}

// PartsOfShare is the number of successive parts of a window that shares and fairness are taken from.
const PartsOfShare = 40

// ShareOf is own's share of own and rest, which are given by successive parts of a window; in [0, 1] if the parts are
// too few to tell.
func ShareOf(own, rest []float64, confidence float64) (share float64, within Interval) {
	odds := RatioOfMeans(Pairs{A: rest, B: own}).Interval(confidence)
	sum := floats.Sum(own)
	return sum / (sum + floats.Sum(rest)), Interval{logistic(odds.Lo), logistic(odds.Hi)}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

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
	p := Pairs{A: got[0], B: asked[0]}
	c := p.contrast(d, func(r *redrawn) float64 {
		return floats.Dot(away, fromEqual(ofShares(got, asked, r.sum)))
	})
	index := func(d float64) float64 { return max(1/n, 1/(1+n*d*d)) }
	f.Index, f.Within = index(d), Interval{1 / n, 1}
	if c.DF > 0 {
		half := c.se * math.Sqrt((n-1)*distuv.F{D1: n - 1, D2: c.DF}.Quantile(confidence))
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
