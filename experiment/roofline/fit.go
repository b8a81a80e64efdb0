package roofline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

type calibration struct {
	setup  Setup
	points []Point
	free   []int     // indexes of constants
	at     []float64 // their variables
	errors []float64 // their standard errors; +Inf = the points cannot separate one from the others
	noise  float64   // error of a point that they assume: the residuals, or 1 %
	slopes *mat.Dense
	sum    float64 // of the squared residuals
}

func (s Setup) calibrate(points []Point) (calibration, error) {
	f := calibration{setup: s, points: points}
	for i, c := range constants {
		if !c.additive || s.additive() {
			f.free = append(f.free, i)
		}
	}
	if len(points) < 2 {
		return f, &UnidentifiableError{fmt.Sprintf("%s; needed: 2 or more, at different batches", unit.Plural(len(points), "point"))}
	}
	f.fit(f.starts())
	f.dropIdle()
	for given := true; given; {
		given = f.giveUp()
	}
	if memory := slices.IndexFunc(f.free, isMemory); memory < 0 || !(f.errors[memory]*leastNoise/f.noise <= loose) || f.alone(memory) && len(points) <= len(f.free) {
		return f, &UnidentifiableError{"no two points depend on the memory bandwidth alone; add rows at small batches"}
	}
	return f, nil
}

func isMemory(index int) bool { return constants[index].memory }

// giveUp frees the first constant that the points leave open: its error is large and its usual value explains them as
// well (within two standard errors), or it rests on a single step, which can be slow for another reason.
func (f *calibration) giveUp() bool {
	for k, i := range f.free {
		alone := f.alone(k)
		if isMemory(i) || !alone && !f.vague(k) {
			continue
		}
		less := calibration{setup: f.setup, points: f.points, free: slices.Delete(slices.Clone(f.free), k, k+1)}
		less.fit(less.starts())
		if alone || less.sum-f.sum <= 4*f.noise*f.noise {
			*f = less
			return true
		}
	}
	return false
}

func (f *calibration) dropIdle() {
	kept := slices.Clone(f.free)
	for k := len(kept) - 1; k >= 0; k-- {
		if math.IsInf(f.errors[k], 1) && !isMemory(kept[k]) {
			kept = slices.Delete(kept, k, k+1)
		}
	}
	if len(kept) < len(f.free) {
		f.free = kept
		f.fit(f.starts())
	}
}

func (f *calibration) fit(starts [][]float64) {
	var low, high []float64
	for _, i := range f.free {
		least, most := constants[i].limits(slices.MaxFunc(f.points, byMs).Ms)
		low, high = append(low, least), append(high, most)
	}
	f.at, f.sum = starts[0], math.Inf(1)
	for _, start := range starts {
		x := stats.LeastSquares(f.residuals, start, low, high)
		if sum := stats.SumOfSquares(f.residuals(x)); sum < f.sum {
			f.at, f.sum = x, sum
		}
	}
	f.slopes = stats.Jacobian(f.residuals, f.at, low, high)
	f.noise = math.Max(leastNoise, math.Sqrt(f.sum/float64(max(1, len(f.points)-len(f.free)))))
	f.errors = stats.StandardErrors(f.slopes, f.noise)
}

func (f *calibration) starts() (starts [][]float64) {
	shortest := slices.MinFunc(f.points, byMs).Ms
	for _, memory := range []float64{0.2, 0.5, 0.9} {
		for _, compute := range []float64{0.05, 0.25, 0.7} {
			x := make([]float64, len(f.free))
			for k, i := range f.free {
				value := compute
				switch c := &constants[i]; {
				case c.of == "":
					value = shortest / 10
				case c.memory:
					value = memory
				}
				x[k] = constants[i].variable(value)
			}
			starts = append(starts, x)
		}
	}
	return starts
}

func byMs(a, b Point) int { return cmp.Compare(a.Ms, b.Ms) }

func (f *calibration) residuals(x []float64) []float64 {
	s := f.with(x)
	r := make([]float64, len(f.points))
	for i, p := range f.points {
		r[i] = math.Log(s.pointMs(p) / p.Ms)
	}
	return r
}

func (f *calibration) with(x []float64) Setup {
	s, e := f.setup, *f.setup.efficiency()
	for k, i := range f.free {
		constants[i].set(&e, &f.setup, constants[i].value(x[k]))
	}
	s.Device.Efficiency = &e
	return s
}

const leastNoise = 0.01

// loose is the largest error of a constant that is not vague: relative to a share, or to the shortest time.
const loose = 0.2

func (f *calibration) vague(k int) bool {
	if constants[f.free[k]].of != "" {
		return !(f.errors[k] <= loose)
	}
	shortest := math.Inf(1)
	for i, p := range f.points {
		if f.slopes.At(i, k) != 0 {
			shortest = math.Min(shortest, p.Ms)
		}
	}
	return !(f.errors[k] <= loose*shortest)
}

// alone reports whether a share rests on a single step. A prompt is enough: nothing else takes as long.
func (f *calibration) alone(k int) bool {
	const felt = 0.1
	steps := 0
	for i, p := range f.points {
		if math.Abs(f.slopes.At(i, k)) > felt {
			if p.Metric == "ttft" {
				return false
			}
			steps++
		}
	}
	return steps == 1 && constants[f.free[k]].of != ""
}

// leaveOut predicts each point by a fit of the same constants to the others; NaN: they leave one open.
func (f *calibration) leaveOut() []float64 {
	out := make([]float64, len(f.points))
	for i, p := range f.points {
		others := calibration{setup: f.setup, points: slices.Delete(slices.Clone(f.points), i, i+1), free: f.free}
		out[i] = math.NaN()
		if len(others.points) < len(f.free) {
			continue
		}
		others.fit([][]float64{slices.Clone(f.at)})
		if !slices.ContainsFunc(others.errors, func(e float64) bool { return math.IsInf(e, 1) }) {
			s := others.with(others.at)
			out[i] = s.pointMs(p)
		}
	}
	return out
}
