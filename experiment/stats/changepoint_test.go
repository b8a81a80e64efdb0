package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var ordinary = ChangeTest{Least: 5, Level: 0.01, Permutations: 999}

func TestChangePointsFindsSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	var values []float64
	for i := range 120 {
		level := map[int]float64{0: 10, 1: 14, 2: 11}[i/40]
		values = append(values, level+r.NormFloat64())
	}
	found := ChangePoints(values, ordinary, r)
	if len(found) != 2 || found[0].At != 40 || found[1].At != 80 {
		t.Errorf("found %v, want 40 and 80", found)
	}
}

// A change of the spread alone is one, too.
func TestChangePointsFindsSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	var values []float64
	for i := range 200 {
		values = append(values, r.NormFloat64()*map[bool]float64{false: 1, true: 6}[i >= 100])
	}
	found := ChangePoints(values, ordinary, r)
	if len(found) != 1 || found[0].At < 90 || found[0].At > 110 {
		t.Errorf("found %v, want one about 100", found)
	}
}

func TestChangePointsKeepsItsLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	const trials = 400
	wrong := 0
	for range trials {
		values := make([]float64, 40)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		if len(ChangePoints(values, ChangeTest{Least: 5, Level: 0.05, Permutations: 199}, r)) > 0 {
			wrong++
		}
	}
	if wrong > 34 { // 20 expected; more than this by chance once in a thousand
		t.Errorf("%d of %d quiet series have a change at a level of 5 %%", wrong, trials)
	}
}

func TestChangePointsOfLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for _, values := range [][]float64{nil, {1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		if found := ChangePoints(values, ordinary, r); len(found) > 0 {
			t.Errorf("%v has changes: %v", values, found)
		}
	}
}

// The quick way and the definition agree.
func TestBestSplitIsTheEnergyDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9), func(i int) float64 { return float64(i) / 2 }), 4, 30).Draw(t, "values")
		at, size := bestSplit(places(values), 2)
		want := 0.0
		for k := 2; k <= len(values)-2; k++ {
			want = max(want, energy(values[:k], values[k:]))
		}
		if math.Abs(size-want) > 1e-9 {
			t.Fatalf("size %v, want %v", size, want)
		}
		if size > 1e-9 && math.Abs(energy(values[:at], values[at:])-want) > 1e-9 {
			t.Fatalf("split at %d, where it is less than %v", at, want)
		}
	})
}

func energy(x, y []float64) float64 {
	mean := func(a, b []float64, pairs float64) float64 {
		sum := 0.0
		for _, u := range a {
			for _, v := range b {
				sum += math.Abs(u - v)
			}
		}
		return sum / pairs
	}
	n, m := float64(len(x)), float64(len(y))
	return n * m / (n + m) * (2*mean(x, y, n*m) - mean(x, x, n*(n-1)) - mean(y, y, m*(m-1)))
}

// Nothing that the caller owns is moved.
func TestChangePointsLeavesItsValues(t *testing.T) {
	values := []float64{5, 3, 4, 9, 1, 2, 8, 7, 6, 0, 1, 5}
	kept := slices.Clone(values)
	ChangePoints(values, ChangeTest{Least: 3, Level: 0.5, Permutations: 50}, rand.New(rand.NewPCG(1, 1)))
	if !slices.Equal(values, kept) {
		t.Errorf("became %v", values)
	}
}

// Series whose values resemble the ones before seldom have false changes, and steps are still found. It
// logs the rows of the table in docs/statistics.md.
func TestSimulationChangePoints(t *testing.T) {
	trials, lengths := 5, []int{60}
	if long() {
		trials, lengths = 400, []int{30, 60, 90}
	}
	test := ChangeTest{Least: 4, Level: 1e-3, Permutations: 999}
	for _, n := range lengths {
		for _, rho := range []float64{0, 0.5, 0.8} {
			r := rand.New(rand.NewPCG(9, uint64(n)))
			row, found := fmt.Sprintf("| %d nights, AR(%g) |", n, rho), map[float64]int{}
			for _, step := range []float64{0, 2, 3, 5} {
				for range trials {
					values := autoregressive(n, rho, r)
					for i := n * 2 / 3; i < n; i++ {
						values[i] += step
					}
					if len(ChangePoints(values, test, r)) > 0 {
						found[step]++
					}
				}
				row += fmt.Sprintf(" %.1f %% |", percent(found[step], trials))
			}
			t.Log(row)
			if found[0] > max(1, trials/20) || rho == 0 && n >= 60 && found[3] < trials*4/5 {
				t.Errorf("%d nights, AR(%g): false %d, found %v, of %d", n, rho, found[0], found, trials)
			}
		}
	}
}
