package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// autoregressive is a series of n standard normal values with correlation rho of neighbours. Its
// autocorrelation time is (1+rho)/(1-rho).
func autoregressive(n int, rho float64, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	x, fresh := rng.NormFloat64(), math.Sqrt(1-rho*rho)
	for i := range out {
		out[i] = x
		x = rho*x + fresh*rng.NormFloat64()
	}
	return out
}

func TestDependenceOfAutoregression(t *testing.T) {
	simulation(t)
	for _, c := range []struct {
		rho float64
		n   int
	}{{0, 2000}, {0.5, 4000}, {0.9, 20_000}, {0.99, 200_000}, {-0.5, 4000}} {
		rng := rand.New(rand.NewPCG(1, uint64(c.n)))
		var times []float64
		for range 15 {
			times = append(times, DependenceOf(autoregressive(c.n, c.rho, rng)).Time)
		}
		slices.Sort(times)
		want := max(1, (1+c.rho)/(1-c.rho))
		if got := Quantile(times, 0.5); math.Abs(got-want) > 0.15*want {
			t.Errorf("rho=%v: autocorrelation time %.3g, want %.3g", c.rho, got, want)
		}
	}
}

// The block length is Politis and White's formula where its sums are known: for an autoregression
// 2·moment/(time·variance) is 2ρ/(1-ρ²).
func TestBlockLength(t *testing.T) {
	simulation(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const n, rho = 30_000, 0.5
	var lengths []float64
	for range 15 {
		lengths = append(lengths, float64(DependenceOf(autoregressive(n, rho, rng)).block))
	}
	slices.Sort(lengths)
	want := math.Cbrt(1.5 * math.Pow(2*rho/(1-rho*rho), 2) * n)
	if got := Quantile(lengths, 0.5); math.Abs(got-want) > 0.2*want {
		t.Errorf("blocks of %v, want %.3g", got, want)
	}
	if d := DependenceOf(autoregressive(n, 0, rng)); d.block > 20 {
		t.Errorf("blocks of %d for independent values", d.block)
	}
}

func TestAutocovarianceIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), 4, 60).Draw(t, "values")
		mean := 0.0
		for _, x := range values {
			mean += x / float64(len(values))
		}
		centred(values, mean)
		for lag, got := range new(scratch).transformed(values) {
			want := 0.0
			for i := range len(values) - lag {
				want += values[i] * values[i+lag] / float64(len(values))
			}
			one := (&autocovariance{centred: values, scratch: new(scratch)}).at(lag)
			if math.Abs(got-want) > 1e-9*1e4 || math.Abs(one-want) > 1e-9*1e4 {
				t.Fatalf("lag %d: %v and %v, want %v", lag, got, one, want)
			}
		}
	})
}

func TestEffectiveSize(t *testing.T) {
	size := func(values []float64) float64 { return DependenceOf(values).effective(len(values)) }
	if got := size(slices.Repeat([]float64{7}, 100)); got != 100 {
		t.Errorf("%v of 100 equal values", got)
	}
	ramp := make([]float64, 1000)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	if got := size(ramp); got > 10 {
		t.Errorf("a ramp of 1000 is worth %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		values := latencies(1).Draw(t, "values")
		if got := size(values); !(got >= 1 && got <= float64(len(values))) {
			t.Fatalf("%v of %d", got, len(values))
		}
	})
}

func BenchmarkDependence(b *testing.B) {
	values := autoregressive(1_000_000, 0.9, rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		DependenceOf(values)
	}
}
