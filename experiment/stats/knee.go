package stats

import (
	"cmp"
	"slices"
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

// Saturation returns the index of the first load that the server did not keep up with: achieved[i]/offered[i]
// < share (such as 0.95), both in one unit, in the given order, by ascending load. ok is false if there is
// none. It ignores loads that are not positive and finite (all requests at once is infinite) and an achieved
// NaN.
func Saturation(offered, achieved []float64, share float64) (index int, ok bool) {
	for i, load := range offered {
		if load > 0 && isFinite(load) && achieved[i]/load < share {
			return i, true
		}
	}
	return 0, false
}
