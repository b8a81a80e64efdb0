package stats

import "math"

// Dip is the largest distance between the distribution of sorted (ascending) values and the nearest unimodal
// one: Hartigan and Hartigan, "The Dip Test of Unimodality", Annals of Statistics 13(1), 1985. It is at least
// 1/(2n), at most 0.25 (two values far apart), and about 0.06 if a fifth of the values is far from the
// others. It is 0 for no values.
func Dip(sorted []float64) float64 {
	s := newSteps(sorted)
	if len(s.x) == 0 {
		return 0
	}
	dip := 1.0 // in numbers of values; 1 is the smallest step of the distribution
	for lo, hi := 0, len(s.x)-1; ; {
		below, above := s.hull(lo, hi, s.before, -1), s.hull(lo, hi, s.through, 1)
		gap, left, right := widest(below, above)
		if gap <= dip {
			return dip / 2 / float64(len(sorted))
		}
		for k := range left { // values at the ends of the modal interval may be the mode itself
			dip = max(dip, s.through[lo+k]-below.at[k])
		}
		for k := right + 1; k <= hi-lo; k++ {
			dip = max(dip, above.at[k]-s.before[lo+k])
		}
		if left == 0 && lo+right == hi { // nothing left to narrow
			return dip / 2 / float64(len(sorted))
		}
		lo, hi = lo+left, lo+right
	}
}

type steps struct{ x, before, through []float64 }

func newSteps(sorted []float64) steps {
	var s steps
	for i, x := range sorted {
		if i == 0 || x != sorted[i-1] {
			s.x, s.before, s.through = append(s.x, x), append(s.before, float64(i)), append(s.through, float64(i))
		}
		s.through[len(s.through)-1]++
	}
	return s
}

type hull struct {
	at      []float64
	touches []bool
}

// hull is the greatest convex minorant of y (side -1) or its least concave majorant (side 1) between lo and
// hi.
func (s steps) hull(lo, hi int, y []float64, side float64) hull {
	var corners []int
	for k := lo; k <= hi; k++ {
		for len(corners) > 1 {
			a, b := corners[len(corners)-2], corners[len(corners)-1]
			if side*((y[b]-y[a])*(s.x[k]-s.x[a])-(y[k]-y[a])*(s.x[b]-s.x[a])) > 0 {
				break // b is outside the line from a to k
			}
			corners = corners[:len(corners)-1]
		}
		corners = append(corners, k)
	}
	h := hull{at: make([]float64, hi-lo+1), touches: make([]bool, hi-lo+1)}
	for i, c := range corners {
		h.at[c-lo], h.touches[c-lo] = y[c], true
		if i == 0 {
			continue
		}
		a := corners[i-1]
		slope := (y[c] - y[a]) / (s.x[c] - s.x[a])
		for k := a + 1; k < c; k++ {
			h.at[k-lo] = y[a] + slope*(s.x[k]-s.x[a])
		}
	}
	return h
}

func widest(below, above hull) (gap float64, left, right int) {
	at := -1
	for k := range below.at {
		if (below.touches[k] || above.touches[k]) && (at < 0 || above.at[k]-below.at[k] > gap) {
			gap, at = above.at[k]-below.at[k], k
		}
	}
	for left = at; !below.touches[left]; left-- {
	}
	for right = at; !above.touches[right]; right++ {
	}
	return gap, left, right
}

// Unimodal reports whether chance explains a dip: whether more than one of a hundred samples of n values from
// a uniform distribution, which has the largest dips of all unimodal ones, has one as large. ok is false for
// fewer than 50 values.
func Unimodal(dip float64, n int) (unimodal, ok bool) {
	return dip*math.Sqrt(float64(n)) <= dipLimit, n >= 50
}

// dipLimit is the dip times √n that at most one uniform sample in a hundred exceeds. By simulation it is 0.57
// for 50 values, 0.60 for 200, 0.62 for 2,000.
const dipLimit = 0.65

// Split splits sorted (ascending) values into the two groups with the smallest squared deviations from their
// means (Fisher, "On Grouping for Maximum Homogeneity", Journal of the American Statistical Association 53,
// 1958), and returns the size of the lower group. It needs at least two values.
func Split(sorted []float64) int {
	n := len(sorted)
	run := running(sorted)
	best, at := math.Inf(-1), 0
	for k := 1; k < n; k++ {
		// Up to a constant, the squared deviations are minus the squared sums over the sizes.
		low, high := run[k], run[n]-run[k]
		if x := low*low/float64(k) + high*high/float64(n-k); x > best {
			best, at = x, k
		}
	}
	return at
}
