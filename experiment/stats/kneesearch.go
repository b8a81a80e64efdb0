package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Gain is the gain of one run at a load.
type Gain struct {
	Load, Gain float64
}

// gridPoints is the number of loads of the initial logarithmic grid: Kneedle needs some on either side of the
// knee.
const gridPoints = 8

// NextOfKnee is the next load to run in the search for the knee of a curve (Knee): first a grid over the
// range, then, while the curve bends by more than its noise (Bends), the middle of the wider gap beside the
// knee, until both gaps are within the tolerance, then the knee and its neighbours again, until each has
// Confirm runs. Like Next it is a function of the runs so far.
func (s Search) NextOfKnee(gains []Gain) (load float64, more bool) {
	loads, runs, median := s.curve(gains)
	for _, x := range s.grid() {
		if !slices.Contains(loads, x) {
			return x, true
		}
	}
	at, ok := Knee(loads, median, 1)
	if !ok || !s.bends(gains) {
		return 0, false
	}
	sides := [][2]float64{{loads[at-1], loads[at]}, {loads[at], loads[at+1]}} // a knee is never the first or last load
	slices.SortStableFunc(sides, func(a, b [2]float64) int {
		if a[1]/a[0] >= b[1]/b[0] {
			return -1
		}
		return 1
	})
	for _, side := range sides {
		if x, ok := s.between(side[0], side[1]); ok {
			return x, true
		}
	}
	for i := at - 1; i <= at+1; i++ {
		if runs[i] < max(1, s.Confirm) {
			return loads[i], true
		}
	}
	return 0, false
}

// KneeOf brackets the knee: between the neighbours of its load, extended by loads whose gain does not
// differ from the knee's by more than two standard errors of the difference. ok is false if there is no
// knee, or none beyond noise (Bends).
func (s Search) KneeOf(gains []Gain) (b Bracket, ok bool) {
	loads, runs, median := s.curve(gains)
	at, ok := Knee(loads, median, 1)
	if !ok || !s.bends(gains) {
		return b, false
	}
	order := make([]int, len(loads))
	for i := range order {
		order[i] = i
	}
	d := differences(loads, median, order)
	noise := s.noise(gains) / (slices.Max(median) - slices.Min(median))
	alike := func(i int) bool {
		return d[at]-d[i] <= 2*noise*math.Sqrt(1/float64(runs[at])+1/float64(runs[i]))
	}
	low, high := at-1, at+1
	for low > 0 && noise > 0 && alike(low) {
		low--
	}
	for high < len(loads)-1 && noise > 0 && alike(high) {
		high++
	}
	return Bracket{Low: &loads[low], High: &loads[high]}, true
}

// bends is Bends of the runs in the range.
func (s Search) bends(gains []Gain) bool {
	var loads, each []float64
	for _, g := range gains {
		if s.counts(g) {
			loads, each = append(loads, g.Load), append(each, g.Gain)
		}
	}
	return Bends(loads, each)
}

func (s Search) grid() []float64 {
	var out []float64
	for i := range gridPoints {
		x := s.Min * math.Pow(s.Max/s.Min, float64(i)/(gridPoints-1))
		if x = s.allowed(x); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// curve returns the loads of the range, ascending, each with its number of runs and the median of their
// gains.
func (s Search) curve(gains []Gain) (loads []float64, runs []int, median []float64) {
	at := s.byLoad(gains)
	for load := range at {
		loads = append(loads, load)
	}
	slices.Sort(loads)
	for _, load := range loads {
		sorted := slices.Sorted(slices.Values(at[load]))
		runs, median = append(runs, len(sorted)), append(median, Quantile(sorted, 0.5))
	}
	return loads, runs, median
}

func (s Search) counts(g Gain) bool { return g.Load >= s.Min && g.Load <= s.Max && isFinite(g.Gain) }

func (s Search) byLoad(gains []Gain) map[float64][]float64 {
	at := map[float64][]float64{}
	for _, g := range gains {
		if s.counts(g) {
			at[g.Load] = append(at[g.Load], g.Gain)
		}
	}
	return at
}

// noise is the standard deviation of a run's gain, pooled over the loads with several runs; 0 if there are
// none.
func (s Search) noise(gains []Gain) float64 {
	sum, n := 0.0, 0
	for _, own := range s.byLoad(gains) {
		if len(own) > 1 {
			sum += stat.Variance(own, nil) * float64(len(own)-1)
			n += len(own) - 1
		}
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(n))
}
