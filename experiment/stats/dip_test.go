package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The figures with many digits are from the Python package diptest 0.12.0, which runs Hartigan's own
// algorithm (AS 217).
func TestDipKnown(t *testing.T) {
	kinds, ties, logs := sample(200), sample(300), sample(500)
	for i := range kinds {
		if i%3 == 0 {
			kinds[i] += 3e6
		}
	}
	for i := range ties {
		ties[i] = math.RoundToEven(ties[i] / 2e5)
	}
	for i := range logs {
		logs[i] = math.Log(logs[i])
	}
	apart := sample(160)
	for _, x := range sample(40) {
		apart = append(apart, x+2.6e7)
	}
	even := make([]float64, 100)
	for i := range even {
		even[i] = float64(i)
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"nothing", nil, 0},
		{"one value", []float64{3}, 0.5},
		{"all equal", []float64{3, 3, 3, 3}, 0.125}, // 1/(2n) by Hartigan's convention
		{"evenly spaced", even, 1.0 / 200},
		{"two far apart", []float64{0, 100}, 0.25},
		{"two values with ties", []float64{0, 0, 0, 5, 5}, 0.2},
		{"uniform", sample(100), 0.034692284869732075},
		{"a third further up", kinds, 0.05275538893954746},
		{"ties", ties, 0.05444444444444444},
		{"logarithms", logs, 0.010463608053499242},
		{"a fifth far away", apart, 0.09196639659241727},
	} {
		if got := Dip(ordered(c.values)); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDipProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 200), func(i int) float64 { return float64(i) }), 2, 60).Draw(t, "values")
		slices.Sort(values)
		dip := Dip(values)
		if least := 0.5 / float64(len(values)); dip < least-1e-12 || dip > 0.25+1e-12 && len(values) > 2 {
			t.Fatalf("%v of %d values", dip, len(values))
		}
		mirrored := make([]float64, len(values))
		for i, x := range values {
			mirrored[len(values)-1-i] = 4096 - 8*x
		}
		if other := Dip(mirrored); math.Abs(other-dip) > 1e-9 {
			t.Fatalf("%v, mirrored %v", dip, other)
		}
	})
}

// groups is n values, a share of them far from the others.
func groups(n int, share, apart float64, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
		if rng.Float64() < share {
			out[i] += apart
		}
	}
	slices.Sort(out)
	return out
}

func TestUnimodal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name         string
		share, apart float64
		want         bool
	}{{"one group", 0, 0, true}, {"a fifth far away", 0.2, 8, false}, {"halves side by side", 0.5, 1.5, true}, {"halves apart", 0.5, 5, false}} {
		for _, n := range []int{200, 5000} {
			if got, ok := Unimodal(Dip(groups(n, c.share, c.apart, rng)), n); got != c.want || !ok {
				t.Errorf("%s, n=%d: %v, %v", c.name, n, got, ok)
			}
		}
	}
	if dip := Dip(groups(20_000, 0.2, 12, rng)); math.Abs(dip-0.062) > 0.004 {
		t.Errorf("a fifth far away: dip %v", dip)
	}
	if _, ok := Unimodal(0.2, 49); ok {
		t.Error("49 values are enough")
	}
}

// At most one uniform sample in a hundred exceeds the limit, and not hardly any: the test that it belongs to
// can find something.
func TestDipLimit(t *testing.T) {
	simulation(t)
	for _, n := range []int{50, 200, 2000} {
		trials := 2000
		if n == 2000 {
			trials = 500
		}
		rng := rand.New(rand.NewPCG(11, uint64(n)))
		beyond := 0
		values := make([]float64, n)
		for range trials {
			for k := range values {
				values[k] = rng.Float64()
			}
			slices.Sort(values)
			if unimodal, _ := Unimodal(Dip(values), n); !unimodal {
				beyond++
			}
		}
		if beyond > trials/100 || n > 50 && beyond == 0 {
			t.Errorf("n=%d: %d of %d are beyond the limit", n, beyond, trials)
		}
	}
}

func TestSplit(t *testing.T) {
	if got := Split([]float64{1, 2, 2, 3, 9, 10}); got != 4 {
		t.Errorf("the lower group has %d", got)
	}
	if got := Split([]float64{5, 5}); got != 1 {
		t.Errorf("the lower of two has %d", got)
	}
}

func BenchmarkDip(b *testing.B) {
	values := groups(100_000, 0.2, 2, rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		Dip(values)
	}
}
