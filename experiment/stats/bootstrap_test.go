package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// process makes n successive values of a known mean.
type process struct {
	name string
	mean float64
	draw func(n int, rng *rand.Rand) []float64
	n    int
	// least is the share of intervals that must hold the mean. A bootstrap is right only for many values: it
	// promises 0.95, and gives less where a heavy tail or a long memory leaves few independent ones; and 150
	// trials tell it to 0.04.
	least float64
}

func processes() []process {
	independent := func(draw func(*rand.Rand) float64) func(int, *rand.Rand) []float64 {
		return func(n int, rng *rand.Rand) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = draw(rng)
			}
			return out
		}
	}
	memory := func(rho float64, of func(float64) float64) func(int, *rand.Rand) []float64 {
		return func(n int, rng *rand.Rand) []float64 {
			out := autoregressive(n, rho, rng)
			for i, x := range out {
				out[i] = of(x)
			}
			return out
		}
	}
	return []process{
		{"exponential", 1, independent((*rand.Rand).ExpFloat64), 100, 0.88},
		{"exponential", 1, independent((*rand.Rand).ExpFloat64), 1000, 0.9},
		{"ties", 1.5, independent(func(rng *rand.Rand) float64 { return float64(rng.IntN(4)) }), 300, 0.9},
		{"lognormal", math.Exp(0.5), independent(func(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) }), 1000, 0.88},
		{"Pareto, shape 3", 1.5, independent(func(rng *rand.Rand) float64 { return math.Pow(1-rng.Float64(), -1.0/3) }), 2000, 0.83}, // its skewness is infinite
		{"Pareto, shape 1.5", 3, independent(func(rng *rand.Rand) float64 { return math.Pow(1-rng.Float64(), -1/1.5) }), 1000, 0.9},
		{"queue at 70 %", 1 / 0.3, singleServer(0.7, (*rand.Rand).ExpFloat64), 400, 0.9},
		{"queue at 70 %", 1 / 0.3, singleServer(0.7, (*rand.Rand).ExpFloat64), 1000, 0.9},
		{"queue at 85 %", 1 / 0.15, singleServer(0.85, (*rand.Rand).ExpFloat64), 4000, 0.9},
		{"queue at 95 %", 1 / 0.05, singleServer(0.95, (*rand.Rand).ExpFloat64), 1000, 0.9},
		{"memory 0.5", 0, memory(0.5, func(x float64) float64 { return x }), 500, 0.89},
		{"memory 0.9", 0, memory(0.9, func(x float64) float64 { return x }), 2000, 0.88},
		{"memory 0.9, lognormal", math.Exp(0.125), memory(0.9, func(x float64) float64 { return math.Exp(x / 2) }), 4000, 0.88},
	}
}

func TestMeanIntervalCovers(t *testing.T) {
	simulation(t)
	const trials = 100
	for _, p := range processes() {
		rng := rand.New(rand.NewPCG(5, uint64(p.n)))
		covered, low := 0, 0
		for range trials {
			switch iv := MeanInterval(p.draw(p.n, rng), 0.95, rng); {
			case p.mean < iv.Lo:
			case p.mean > iv.Hi:
				low++
			default:
				covered++
			}
		}
		got := float64(covered) / trials
		t.Logf("%s n=%d: %.3f, %d of %d misses lie below", p.name, p.n, got, low, trials-covered)
		if got < p.least {
			t.Errorf("%s n=%d: covers %.3f, want %v at least", p.name, p.n, got, p.least)
		}
	}
}

// Resampling single values of a dependent series gives too short intervals: the test above can fail.
func TestBlocksAreNeeded(t *testing.T) {
	simulation(t)
	const trials = 150
	rng := rand.New(rand.NewPCG(6, 7))
	covered := 0
	for range trials {
		values := autoregressive(mostBlocks, 0.9, rng)
		if iv := newBlocks(values, nil, 1).interval(0.95, rng); iv.Lo <= 0 && 0 <= iv.Hi {
			covered++
		}
	}
	if got := float64(covered) / trials; got > 0.6 {
		t.Errorf("without blocks the interval covers %.3f", got)
	}
}

func TestMeanIntervalEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	if iv := MeanInterval(slices.Repeat([]float64{7}, 30), 0.95, rng); iv != (Interval{7, 7}) {
		t.Errorf("thirty equal values: %v", iv)
	}
	ramp := make([]float64, 1000)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	for name, values := range map[string][]float64{"29 values": sample(29), "nothing": nil, "a ramp": ramp} {
		if iv := MeanInterval(values, 0.95, rng); iv != unbounded() {
			t.Errorf("%s: %v", name, iv)
		}
	}
	if iv := MeanInterval(sample(100), 1, rng); iv != unbounded() {
		t.Errorf("certainty: %v", iv)
	}
	if iv := MeanInterval(append(sample(100), math.NaN()), 0.95, rng); iv != unbounded() {
		t.Errorf("a NaN: %v", iv)
	}
}

func TestMeanIntervalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 30, 200).Draw(t, "values")
		kept := slices.Clone(values)
		seed := rapid.Uint64().Draw(t, "seed")
		iv := MeanInterval(values, 0.95, rand.New(rand.NewPCG(seed, 1)))
		if again := MeanInterval(values, 0.95, rand.New(rand.NewPCG(seed, 1))); again != iv {
			t.Fatalf("the same seed gives %v and %v", iv, again)
		}
		if !slices.Equal(values, kept) {
			t.Fatal("the caller's slice has changed")
		}
		if iv == unbounded() {
			return
		}
		// A power of two and no shift: no rounding.
		for i := range values {
			values[i] *= 1024
		}
		if scaled := MeanInterval(values, 0.95, rand.New(rand.NewPCG(seed, 1))); scaled.Lo != 1024*iv.Lo || scaled.Hi != 1024*iv.Hi {
			t.Fatalf("%v, in other units %v", iv, scaled)
		}
		if mean := stat.Mean(values, nil) / 1024; iv.Lo > mean+1e-9 || iv.Hi < mean-1e-9 {
			t.Fatalf("%v around the mean %v", iv, mean)
		}
	})
}

func BenchmarkMeanInterval(b *testing.B) {
	values := autoregressive(1_000_000, 0.9, rand.New(rand.NewPCG(1, 1)))
	rng := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		MeanInterval(values, 0.95, rng)
	}
}

// simulation skips a test with -short: it takes some seconds.
func simulation(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation")
	}
}
