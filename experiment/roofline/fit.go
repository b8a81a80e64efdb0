package roofline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// leastSquares finds the free constants with the smallest sum of squared relative errors. A step takes the
// longer of reading and computing, so the errors are linear in the constants once it is known which of the
// two limits each point. That depends on one number only, the ratio of the two factors, and changes at one or
// two ratios for each point: all cases are tried. Another free constant must pay for itself as in Akaike's
// criterion, with a penalty of 4 and measurement errors of 1 %.
func (s Setup) leastSquares(rows []row, free [3]bool) fit {
	const noise = 0.01
	best, least := fit{setup: s}, math.Inf(1)
	for _, ratio := range turns(rows) {
		x, determined, sound := coefficients(rows, ratio)
		if !sound && free[compute] {
			continue
		}
		try := fit{setup: s}
		for i := range free {
			try.free[i] = free[i] && determined[i]
		}
		try.constant = s.bounded(rows, x, try.free)
		try.residuals = squares(rows, func(i int) float64 { return rows[i].ms(try.constant) })
		if score := try.residuals/noise/noise + 4*float64(len(try.open())); score < least {
			best, least = try, score
		}
	}
	return best
}

// coefficients of all rows. determined are the constants that occur in them. It is not sound to
// determine the compute efficiency from a single batch: a row that is slow for any other reason would be
// mistaken for it.
func coefficients(rows []row, ratio float64) (x [][3]float64, determined [3]bool, sound bool) {
	determined[overhead] = true
	prompts, computing := 0, 0
	for _, r := range rows {
		c := r.coefficients(ratio)
		x = append(x, c)
		determined[memory] = determined[memory] || c[memory] > 0
		if c[compute] > 0 {
			determined[compute] = true
			computing++
			if r.prompt {
				prompts++
			}
		}
	}
	return x, determined, computing != 1 || prompts == 1
}

// turns are ratios between all those at which a point changes from one limit to the other.
func turns(rows []row) []float64 {
	at := []float64{1e-9}
	for _, r := range rows {
		if r.weights > 0 && r.linear > 0 {
			at = append(at, r.linear/r.weights)
		}
		if r.kv > 0 && r.scan > 0 {
			at = append(at, r.scan/r.kv)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for i := range len(at) - 1 {
		at[i] = math.Sqrt(at[i] * at[i+1])
	}
	at[len(at)-1] *= 1e9
	return at
}

// squares is the sum of the squared relative errors of times in ms.
func squares(rows []row, ms func(i int) float64) (sum float64) {
	for i, r := range rows {
		off := ms(i)/r.measured - 1
		sum += off * off
	}
	return sum
}

// bounded solves the linear problem within the limits. It tries each constant free, at its lower and at its
// upper limit: 27 cases for three constants. This finds the exact minimum, whatever the limits exclude.
func (s *Setup) bounded(rows []row, x [][3]float64, free [3]bool) [3]float64 {
	low, high := s.limits(rows)
	best, least := [3]float64{0, 1, 1}, math.Inf(1)
	for state := range 27 {
		c, open, skip := [3]float64{0, 1, 1}, []int{}, false
		for i, digit := 0, state; i < 3; i, digit = i+1, digit/3 {
			switch {
			case !free[i]:
				skip = skip || digit%3 != 0
			case digit%3 == 0:
				open = append(open, i)
			case digit%3 == 1:
				c[i] = low[i]
			default:
				c[i] = high[i]
			}
		}
		if skip || !solve(rows, x, open, &c) {
			continue
		}
		inside := true
		for _, i := range open {
			inside = inside && c[i] >= low[i] && c[i] <= high[i]
		}
		linear := func(i int) float64 { return x[i][0]*c[0] + x[i][1]*c[1] + x[i][2]*c[2] + rows[i].fixed }
		if sum := squares(rows, linear); inside && sum < least {
			best, least = c, sum
		}
	}
	return best
}

// limits are an overhead from 0 to the longest measured time, and shares of the peak from 1 to 100 %.
func (s *Setup) limits(rows []row) (low, high [3]float64) {
	usual := s.usual(s.Efficiency)
	share := usual.compute.of(s.Device.DenseTFLOPS.kind(s.experts().kind))
	for _, r := range rows {
		high[overhead] = max(high[overhead], r.measured)
	}
	low[memory], high[memory] = usual.memory, usual.memory/0.01
	low[compute], high[compute] = share, share/0.01
	return low, high
}

// solve sets the open constants to the least squares solution, given the others; false if it is not unique.
func solve(rows []row, x [][3]float64, open []int, c *[3]float64) bool {
	if len(open) == 0 {
		return true
	}
	if len(rows) < len(open) {
		return false
	}
	a, b := mat.NewDense(len(rows), len(open), nil), mat.NewVecDense(len(rows), nil)
	for i, r := range rows {
		left := r.measured - r.fixed
		for j := range c {
			if !slices.Contains(open, j) {
				left -= x[i][j] * c[j]
			}
		}
		b.SetVec(i, left/r.measured)
		for k, j := range open {
			a.Set(i, k, x[i][j]/r.measured)
		}
	}
	var found mat.VecDense
	if err := found.SolveVec(a, b); err != nil {
		return false
	}
	for k, j := range open {
		c[j] = found.AtVec(k)
	}
	return true
}

// vague states why the points do not determine a constant: an error of 1 % in each of them could move it by
// more than loose. Empty = they determine it.
func (f *fit) vague(rows []row, constant int) string {
	if !f.free[constant] {
		return fmt.Sprintf("no point depends on the %s efficiency", constants[constant])
	}
	if n := f.reading(rows); constant == memory && (n == 0 || n == 1 && len(rows) <= len(f.open())) {
		return fmt.Sprintf("points limited by memory: %d; needed: 2, or more points than the %d constants; add rows at small batches", n, len(f.open()))
	}
	moved := f.moved(rows, constant)
	if moved <= loose {
		return ""
	}
	return fmt.Sprintf("the points are too close together: a 1 %% error in each could move the %s efficiency by %s; add a row at another batch, eight times larger or smaller",
		constants[constant], percent(moved))
}

// loose is the largest relative uncertainty of a constant that counts as determined.
const loose = 0.2

// moved is the standard error of a free constant if each point has an error of 1 %: a share, or ms for the
// overhead. +Inf = the points cannot separate it from another constant.
func (f *fit) moved(rows []row, constant int) float64 {
	const noise = 0.01
	open := f.open()
	a := mat.NewDense(len(rows), len(open), nil)
	for i, r := range rows {
		x := r.coefficients(f.constant[memory] / f.constant[compute])
		for k, j := range open {
			a.Set(i, k, x[j]*f.constantScale(j)/r.measured)
		}
	}
	var square, inverse mat.Dense
	square.Mul(a.T(), a)
	if err := inverse.Inverse(&square); err != nil {
		return math.Inf(1)
	}
	k := slices.Index(open, constant)
	return noise * math.Sqrt(math.Max(0, inverse.At(k, k)))
}

var constants = [...]string{"overhead", "memory", "compute"}

// reading is the number of rows that the memory efficiency limits more than the compute efficiency.
func (f *fit) reading(rows []row) (n int) {
	for _, r := range rows {
		if x := r.coefficients(f.constant[memory] / f.constant[compute]); x[memory] > x[compute] {
			n++
		}
	}
	return n
}

// constantScale makes the error of a share relative; the overhead stays in ms.
func (f *fit) constantScale(i int) float64 {
	if i == overhead {
		return 1
	}
	return f.constant[i]
}

func percent(x float64) string {
	if x > 10 {
		return "any amount"
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}
