package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Knee finds the point after which more load brings little more gain, on a concave, increasing curve:
// gain[i] is the gain at load[i]. It is Kneedle (Satopää, Albrecht, Irwin and Raghavan, "Finding a
// 'Kneedle' in a Haystack", ICDCS Workshops 2011): both axes are scaled to [0, 1], and the knee is the
// first local maximum of gain - load from which the difference falls by sensitivity times the mean step of
// load before it rises to another maximum. The paper's sensitivity is 1; larger is more conservative.
// There is no smoothing: a series has few points, and each is a measurement. Kneedle scales noise as it
// scales gains, so that it finds a knee in nearly every flat noisy curve: ask Bends first.
//
// index is the knee's index in load and gain, which must have equal lengths, in any order, and are not
// changed. Points with a NaN or an infinity are ignored. ok is false if there is no knee: fewer than four
// points, a curve without width or height, or no such maximum (a straight line, or a curve that has not
// bent yet).
func Knee(load, gain []float64, sensitivity float64) (index int, ok bool) {
	order := byLoad(load, gain)
	if len(order) < 4 {
		return 0, false
	}
	difference := differences(load, gain, order)
	if difference == nil {
		return 0, false
	}
	fall := sensitivity / float64(len(order)-1) // the mean step of n points on [0, 1] is 1/(n-1)
	for i := 1; i < len(order)-1; i++ {
		if isPeak(difference, i) && falls(difference[i:], fall) {
			return order[i], true
		}
	}
	return 0, false
}

func byLoad(load, gain []float64) []int {
	var order []int
	for i := range load {
		if isFinite(load[i]) && isFinite(gain[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(load[i], load[j]) })
	return order
}

func differences(load, gain []float64, order []int) []float64 {
	first, last := load[order[0]], load[order[len(order)-1]]
	low, high := gain[order[0]], gain[order[0]]
	for _, i := range order {
		low, high = min(low, gain[i]), max(high, gain[i])
	}
	if first == last || low == high {
		return nil
	}
	difference := make([]float64, len(order))
	for k, i := range order {
		difference[k] = (gain[i]-low)/(high-low) - (load[i]-first)/(last-first)
	}
	return difference
}

func isPeak(d []float64, i int) bool { return d[i] > d[i-1] && d[i] >= d[i+1] }

func falls(d []float64, fall float64) bool {
	for j := 1; j < len(d); j++ {
		if d[j] < d[0]-fall {
			return true
		}
		if j+1 < len(d) && isPeak(d, j) {
			return false
		}
	}
	return false
}

const (
	bendLevel = 0.05
	// leastRise is the range of the gains, as a share of the largest, below which a bend has no meaning:
	// drift of a machine makes one of a few percent.
	leastRise = 0.1
)

// Bends reports whether a curve of gain over load bends down by more than its noise. load and gain have one entry for
// each run, in any order. A straight line is tested against two that meet at one of the loads (least squares;
// Student's t for the change of slope, by Bonferroni over the loads), so that the noise need not be known. It is
// false for fewer than three loads or four runs, and where the gains lie within a tenth.
func Bends(load, gain []float64) bool {
	n := len(load)
	loads := slices.Compact(slices.Sorted(slices.Values(load)))
	if n < 4 || len(loads) < 3 || slices.Max(gain)-slices.Min(gain) < leastRise*slices.Max(gain) {
		return false
	}
	straight := offLine(load, gain)
	left := floats.Dot(straight, straight)
	critical := quantileOfT(1-bendLevel/float64(len(loads)-2), float64(n-3))
	for _, knot := range loads[1 : len(loads)-1] {
		beyond := make([]float64, n)
		for i, x := range load {
			beyond[i] = max(0, x-knot)
		}
		beyond = offLine(load, beyond)
		square, product := floats.Dot(beyond, beyond), floats.Dot(straight, beyond)
		explained := product * product / square
		if t := -product / math.Sqrt(square*(left-explained)/float64(n-3)); t > critical || product < 0 &&
			explained >= left {
			return true
		}
	}
	return false
}

// NoiseMargin is by how much a run can exceed the true gain at its load by chance: Student's t times the scatter of
// the runs about two straight lines, below and above the load that fits best. ok is false for fewer than six runs, or
// four loads.
func NoiseMargin(load, gain []float64, confidence float64) (margin float64, ok bool) {
	loads := slices.Compact(slices.Sorted(slices.Values(load)))
	df := len(load) - 4
	if df < 2 || len(loads) < 4 {
		return 0, false
	}
	least := math.Inf(1)
	for _, end := range loads[1 : len(loads)-2] {
		var x, y [2][]float64
		for i := range load {
			side := 0
			if load[i] > end {
				side = 1
			}
			x[side], y[side] = append(x[side], load[i]), append(y[side], gain[i])
		}
		squares := 0.0
		for side := range x {
			off := offLine(x[side], y[side])
			squares += floats.Dot(off, off)
		}
		least = min(least, squares)
	}
	return quantileOfT(confidence, float64(df)) * math.Sqrt(least/float64(df)), true
}

// offLine returns the distances of y from its least-squares line over x, which has two different values.
func offLine(x, y []float64) []float64 {
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	off := make([]float64, len(x))
	for i := range x {
		off[i] = y[i] - intercept - slope*x[i]
	}
	return off
}

type Point struct{ Cost, Gain float64 }

// Frontier returns the indexes of the points that no other point dominates, by ascending Cost. Equal points are all
// returned; a point with a NaN or an infinity never is.
func Frontier(points []Point) []int {
	order := make([]int, 0, len(points))
	for i, p := range points {
		if isFinite(p.Cost) && isFinite(p.Gain) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := points[i], points[j]
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(b.Gain, a.Gain), cmp.Compare(i, j))
	})
	frontier := []int{} // never nil, so that it is a list in JSON
	for _, i := range order {
		if len(frontier) > 0 {
			last := points[frontier[len(frontier)-1]]
			if points[i] != last && points[i].Gain <= last.Gain {
				continue
			}
		}
		frontier = append(frontier, i)
	}
	return frontier
}

func isFinite(x float64) bool { return finite(x) != nil }
