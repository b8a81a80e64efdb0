package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

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
