package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestChangePointsFindsSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	var values []float64
	for i := range 120 {
		level := map[int]float64{0: 10, 1: 14, 2: 11}[i/40]
		values = append(values, level+r.NormFloat64())
	}
	found := ChangePoints(values)
	if len(found) != 2 || found[0].At != 40 || found[1].At != 80 {
		t.Errorf("found %v, want 40 and 80", found)
	}
}

// Two opposite steps, each of which hides the other from a test of one step.
func TestChangePointsFindsAVisit(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 5))
	values := make([]float64, 60)
	for i := range values {
		values[i] = r.NormFloat64()
		if i >= 30 && i < 42 {
			values[i] += 4
		}
	}
	found := ChangePoints(values)
	if len(found) != 2 || found[0].At != 30 || found[1].At != 42 {
		t.Errorf("found %v, want 30 and 42", found)
	}
}

// Few values, equal ones and some wild ones are no change; a step between equal ones is.
func TestChangePointsOfLittle(t *testing.T) {
	wild := make([]float64, 40)
	for i := range wild {
		wild[i] = float64(i%3) / 10
	}
	wild[7], wild[20], wild[21], wild[39] = 9, 8, 10, -7
	for _, values := range [][]float64{nil, {1}, {1, 1, 1, 5, 5, 5, 5}, make([]float64, 30), wild} {
		if found := ChangePoints(values); len(found) > 0 {
			t.Errorf("%v has changes: %v", values, found)
		}
	}
	exact := slices.Concat(make([]float64, 9), []float64{1, 1, 1, 1, 1, 1})
	if found := ChangePoints(exact); len(found) != 1 || found[0].At != 9 || math.IsInf(found[0].LogRatio, 0) {
		t.Errorf("found %v, want 9 with a finite ratio", found)
	}
}

// bestLevels computes the sums of squares that least squares leave.
func TestBestLevelsAreLeastSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9),
			func(i int) float64 { return float64(i) / 2 }), 12, 20).Draw(t, "values")
		rho := rapid.SampledFrom(correlations).Draw(t, "rho")
		w := whiten(values, rho)
		n := len(values)
		squares := func(levels ...func(i int) float64) float64 { return residual(values, rho, levels) }
		one := func(int) float64 { return 1 }
		if want := squares(one); math.Abs(w.squares-want) > 1e-6 {
			t.Fatalf("squares %v, want %v", w.squares, want)
		}
		step, visit := math.Inf(1), math.Inf(1)
		for i := LeastBetweenChanges; i <= n-LeastBetweenChanges; i++ {
			from := func(from int) func(int) float64 {
				return func(at int) float64 {
					if at >= from {
						return 1
					}
					return 0
				}
			}
			step = min(step, squares(one, from(i)))
			for j := i + LeastBetweenChanges; j <= n-LeastBetweenChanges; j++ {
				visit = min(visit, squares(one, func(at int) float64 { return from(i)(at) - from(j)(at) }))
			}
		}
		if _, e := w.step(); math.Abs(w.squares-e-step) > 1e-6 {
			t.Fatalf("step leaves %v, want %v", w.squares-e, step)
		}
		if _, _, e := w.visit(); math.Abs(w.squares-e-visit) > 1e-6 {
			t.Fatalf("visit leaves %v, want %v", w.squares-e, visit)
		}
	})
}

// residual is the sum of squares that levels leave of values, both whitened, by Gram–Schmidt.
func residual(values []float64, rho float64, levels []func(int) float64) float64 {
	white := func(f func(int) float64) []float64 {
		out := make([]float64, len(values))
		out[0] = math.Sqrt(1-rho*rho) * f(0)
		for i := 1; i < len(out); i++ {
			out[i] = f(i) - rho*f(i-1)
		}
		return out
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	var basis [][]float64
	remove := func(x []float64) {
		for _, b := range basis {
			along := dot(x, b) / dot(b, b)
			for i := range x {
				x[i] -= along * b[i]
			}
		}
	}
	for _, f := range levels {
		x := white(f)
		remove(x)
		basis = append(basis, x)
	}
	left := white(func(i int) float64 { return values[i] })
	remove(left)
	return dot(left, left)
}

// Nothing that the caller owns is moved; what shifts and stretches a series does not change its changes.
func TestChangePointsOfTheSameShape(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 6))
	values, other := make([]float64, 50), make([]float64, 50)
	for i := range values {
		values[i] = r.NormFloat64() + float64(i/25*4)
		other[i] = 3 - 100*values[i]
	}
	kept := slices.Clone(values)
	a, b := ChangePoints(values), ChangePoints(other)
	if !slices.Equal(values, kept) {
		t.Errorf("became %v", values)
	}
	if len(a) != 1 || len(b) != 1 || a[0].At != b[0].At || math.Abs(a[0].LogRatio-b[0].LogRatio) > 1e-6 {
		t.Errorf("%v and %v", a, b)
	}
}

// kindsOfSeries are quiet series with a standard deviation of about 1.
var kindsOfSeries = []struct {
	name string
	most float64 // largest share of quiet series with a change, in percent
	draw func(n int, r *rand.Rand) []float64
}{
	{"normal", 0.5, oneByOne(func(r *rand.Rand) float64 { return r.NormFloat64() })},
	{"Student t(3)", 2.5, oneByOne(func(r *rand.Rand) float64 {
		return r.NormFloat64() / math.Sqrt(math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2)+
			math.Pow(r.NormFloat64(), 2))
	})},
	{"5 % worse by 6 sd", 8, oneByOne(func(r *rand.Rand) float64 {
		if r.Float64() < 0.05 {
			return 6 + r.NormFloat64()
		}
		return r.NormFloat64()
	})},
	{"weekends 2 sd off", 0.5, func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = r.NormFloat64()
			if i%7 >= 5 {
				out[i] -= 2
			}
		}
		return out
	}},
	{"AR(0.5)", 2, func(n int, r *rand.Rand) []float64 { return autoregressive(n, 0.5, r) }},
	{"AR(0.8)", 5, func(n int, r *rand.Rand) []float64 { return autoregressive(n, 0.8, r) }},
}

// Quiet series seldom have a change, also those whose values resemble the ones before, and steps are found
// where they are. It logs the rows of the table in benchmarks/statistics.md.
func TestSimulationChangePoints(t *testing.T) {
	trials, lengths := 60, []int{60}
	if *simulateAll {
		trials, lengths = 2000, []int{12, 30, 60, 90, 300}
	}
	for _, n := range lengths {
		for _, kind := range kindsOfSeries {
			r := rand.New(rand.NewPCG(9, uint64(n)))
			row, found, near := fmt.Sprintf("%d, %s", n, kind.name), map[float64]int{}, map[float64]int{}
			for _, step := range []float64{0, 2, 3, 5} {
				for range trials {
					values, at := kind.draw(n, r), n*2/3
					for i := at; i < n; i++ {
						values[i] += step
					}
					changes := ChangePoints(values)
					if len(changes) > 0 {
						found[step]++
					}
					if slices.ContainsFunc(changes, func(c ChangePoint) bool {
						return c.At >= at-1 &&
							c.At <= at+1
					}) {
						near[step]++
					}
				}
				row += fmt.Sprintf(" | %.1f", percent(found[step], trials))
				if step > 0 {
					row += fmt.Sprintf(" (%.0f)", percent(near[step], trials))
				}
			}
			t.Log(row)
			if most := kind.most / 100 * float64(trials); float64(found[0]) > most+3.5*math.Sqrt(most) ||
				n >= 60 && near[5] < trials*9/10 {
				t.Errorf("%d, %s: false %d, found %v, near %v, of %d", n, kind.name, found[0], found, near,
					trials)
			}
		}
	}
}

func percent(k, n int) float64 { return 100 * float64(k) / float64(n) }
