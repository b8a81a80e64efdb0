package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func constant(x float64) []float64 { return slices.Repeat([]float64{x}, PartsOfShare) }

// Jain, Chiu and Hawe's own example: of 100 users 10 get equal parts and 90 nothing, which is an index of 0.1.
func TestJain(t *testing.T) {
	got, asked := make([][]float64, 100), make([][]float64, 100)
	for i := range got {
		got[i], asked[i] = constant(0), constant(1000)
		if i < 10 {
			got[i] = constant(2)
		}
	}
	f, ok := FairnessOf(got, asked, 0.95)
	if !ok || math.Abs(f.Index-0.1) > 1e-12 || f.Within.Lo > f.Index || f.Within.Hi < f.Index {
		t.Errorf("%+v %v", f, ok)
	}
	if _, ok := FairnessOf(got, slices.Repeat([][]float64{constant(0)}, 100), 0.95); ok {
		t.Error("nobody asked, and it was shared fairly")
	}
}

// Of 12 the three get 2, 5 and 5: 2 is all that the first asks for.
func TestMaxMin(t *testing.T) {
	if got := maxMin(12, []float64{30, 2, 6}); !slices.Equal(got, []float64{5, 2, 5}) {
		t.Error(got)
	}
	f, _ := FairnessOf([][]float64{constant(5), constant(2), constant(5)}, [][]float64{constant(30), constant(2), constant(6)}, 0.95)
	if f.Index != 1 || f.Within != (Interval{1, 1}) || !slices.Equal(f.OfShare, []float64{1, 1, 1}) {
		t.Errorf("%+v", f)
	}
}

// The intervals cover what the parts were drawn around, also at perfect fairness, where the index can't be above 1.
func TestFairnessCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct{ means []float64 }{{[]float64{1, 1}}, {[]float64{1, 3}}, {[]float64{1, 1, 1, 1}}, {[]float64{1, 1, 2, 5}}} {
		truth, _ := FairnessOf(parts(x.means, nil), parts(slices.Repeat([]float64{100}, len(x.means)), nil), 0.95)
		const times = 200
		index, share := 0, 0
		for range times {
			got := parts(x.means, rng)
			f, _ := FairnessOf(got, parts(slices.Repeat([]float64{100}, len(x.means)), nil), 0.95)
			if f.Within.Lo <= truth.Index+1e-12 && truth.Index-1e-12 <= f.Within.Hi {
				index++
			}
			if _, within := ShareOf(got[0], got[1], 0.95); within.Lo < 1/(1+x.means[1]) && 1/(1+x.means[1]) < within.Hi {
				share++
			}
		}
		if index < times*93/100 || share < times*92/100 {
			t.Errorf("%v: the index is covered %d times of %d, the share %d times", x.means, index, times, share)
		}
	}
}

func parts(means []float64, rng *rand.Rand) [][]float64 {
	out := make([][]float64, len(means))
	for i, m := range means {
		out[i] = constant(m)
		for j := range out[i] {
			if rng != nil {
				out[i][j] *= rng.ExpFloat64()
			}
		}
	}
	return out
}
