package roofline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// leastSquares finds the free constants that make the sum of the squared
// relative errors least. A step takes the longer of reading and computing, so
// the errors are linear in the constants only while it is known which points do
// which; that depends on one number, the ratio of the two factors, at which each
// point turns over. There are no more cases than points, twice: all are tried.
// A case with one constant more has to explain more than measurements err: it
// pays as in Akaike's criterion, twice, with errors of 1 %.
func (s Setup) leastSquares(rows []row, free [3]bool) fit {
	const noise = 0.01
	best, least := fit{setup: s}, math.Inf(1)
	for _, ratio := range turns(rows) {
		x, told, sound := coefficients(rows, ratio)
		if !sound && free[compute] {
			continue
		}
		try := fit{setup: s}
		for i := range free {
			try.free[i] = free[i] && told[i]
		}
		try.constant = s.bounded(rows, x, try.free)
		try.residuals = squares(rows, try.constant)
		if score := try.residuals/noise/noise + 4*float64(try.unknowns()); score < least {
			best, least = try, score
		}
	}
	return best
}

// coefficients are those of all rows, and which constants they tell. It is not
// sound to read the compute efficiency off one batch alone: any row that is slow
// for another reason would pass for it.
func coefficients(rows []row, ratio float64) (x [][3]float64, told [3]bool, sound bool) {
	told[overhead] = true
	prompts, computing := 0, 0
	for _, r := range rows {
		c := r.coefficients(ratio)
		x = append(x, c)
		told[memory] = told[memory] || c[memory] > 0
		if c[compute] > 0 {
			told[compute] = true
			computing++
			if r.prompt {
				prompts++
			}
		}
	}
	return x, told, computing != 1 || prompts == 1
}

// turns are ratios between all those at which a point turns over.
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

func squares(rows []row, c [3]float64) (sum float64) {
	for _, r := range rows {
		off := r.ms(c)/r.measured - 1
		sum += off * off
	}
	return sum
}

// bounded solves the linear problem within the limits, by trying each constant
// free, at its lower and at its upper limit: three constants make 27 cases.
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
		if sum := linearSquares(rows, x, c); inside && sum < least {
			best, least = c, sum
		}
	}
	return best
}

// limits: an overhead from nothing to the longest time that was measured, and
// shares of the peak from 1 to 100 %.
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

func linearSquares(rows []row, x [][3]float64, c [3]float64) (sum float64) {
	for i, r := range rows {
		off := (x[i][0]*c[0]+x[i][1]*c[1]+x[i][2]*c[2]+r.fixed)/r.measured - 1
		sum += off * off
	}
	return sum
}

// solve sets the open constants to the least squares, the others given; false
// where they can't be told apart.
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

// vague says why a constant is not told by the points, empty if it is: an error
// of 1 % in each of them would move it by more than a fifth.
func (f *fit) vague(rows []row, constant int) string {
	if !f.free[constant] {
		return fmt.Sprintf("none depends on the %s efficiency", constants[constant])
	}
	if n := f.reading(rows); constant == memory && (n == 0 || n == 1 && len(rows) <= f.unknowns()) {
		return fmt.Sprintf("%d of them is limited by memory, and two are needed, or more points than the %d constants: add rows at small batches", n, f.unknowns())
	}
	moved := f.moved(rows, constant)
	if moved <= loose {
		return ""
	}
	return fmt.Sprintf("they lie too close together: an error of 1 %% in each could move the %s efficiency by %s; add a row at another batch, eight times larger or smaller",
		constants[constant], percent(moved))
}

// loose is the share by which a constant may move, to be told.
const loose = 0.2

// moved is how far an error of 1 % in each point would move a free constant: a
// share, of the overhead in ms. +Inf: they don't tell it from another.
func (f *fit) moved(rows []row, constant int) float64 {
	const noise = 0.01
	var open []int
	for i, free := range f.free {
		if free {
			open = append(open, i)
		}
	}
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

// reading is how many rows the memory efficiency decides, and not computing.
func (f *fit) reading(rows []row) (n int) {
	for _, r := range rows {
		if x := r.coefficients(f.constant[memory] / f.constant[compute]); x[memory] > x[compute] {
			n++
		}
	}
	return n
}

// constantScale makes the error of a share relative; an overhead is taken in ms.
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
