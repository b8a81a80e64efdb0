package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// brute is MSER-5 as it is written: for each cut, the squared deviations of the rest over the square of its
// size.
func brute(values []float64) int {
	m := len(values) / 5
	means := make([]float64, m)
	for i := range means {
		for _, x := range values[5*i : 5*i+5] {
			means[i] += x / 5
		}
	}
	best, at := math.Inf(1), 0
	for d := 0; d <= m/2; d++ {
		rest := means[d:]
		mean, squares := 0.0, 0.0
		for _, y := range rest {
			mean += y / float64(len(rest))
		}
		for _, y := range rest {
			squares += (y - mean) * (y - mean)
		}
		if e := squares / float64(len(rest)*len(rest)); e < best {
			best, at = e, d
		}
	}
	return 5 * at
}

func TestMSER5AgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Whole numbers of 60 mean without rounding, and so does every cut of so few.
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 40), func(i int) float64 { return float64(i) }), 50, 120).Draw(t, "values")
		got, ok := MSER5(values)
		if want := brute(values); !ok || got != want {
			t.Fatalf("cut %d, %v, by brute force %d", got, ok, want)
		}
	})
}

func TestMSER5(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	warm := make([]float64, 1000)
	for i := range warm {
		warm[i] = 100 + 10*rng.NormFloat64()
		if i < 150 {
			warm[i] += 300 * math.Exp(-float64(i)/40)
		}
	}
	if cut, ok := MSER5(warm); !ok || cut < 80 || cut > 250 {
		t.Errorf("a warm-up of 150: cut %d, %v", cut, ok)
	}
	ramp := make([]float64, 1000)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	if cut, ok := MSER5(ramp); !ok || cut != 500 {
		t.Errorf("a ramp has no steady part: cut %d, %v", cut, ok)
	}
	if cut, ok := MSER5(slices.Repeat([]float64{3}, 50)); !ok || cut != 0 {
		t.Errorf("equal values: cut %d, %v", cut, ok)
	}
	if _, ok := MSER5(warm[:49]); ok {
		t.Error("49 values are enough")
	}
}

// The score of this textbook series is 30 of 66 pairs' 66: by hand; P by scipy.stats.kendalltau on the same,
// whose exact value 0.0448 the normal approximation with its correction for continuity meets at 0.0464.
func TestTrendKnown(t *testing.T) {
	rising := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	got := TrendOf(rising)
	// Score 45, variance 10·9·25/18 = 125: z = 44/√125.
	if want := math.Erfc(44 / math.Sqrt(125) / math.Sqrt2); math.Abs(got.P-want) > 1e-15 || math.Abs(got.Change-9/5.5) > 1e-15 {
		t.Errorf("%+v", got)
	}
	// Ties: 2·2·1·9/18 less for each pair.
	tied := TrendOf([]float64{1, 1, 2, 2, 3, 3})
	if want := math.Erfc(11 / math.Sqrt((6*5*17-3*2*1*9)/18.0) / math.Sqrt2); math.Abs(tied.P-want) > 1e-15 {
		t.Errorf("%+v, want P %v", tied, want)
	}
	if flat := TrendOf([]float64{5, 5, 5, 5}); flat != (Trend{P: 1}) {
		t.Errorf("%+v", flat)
	}
}

func TestBlockTrend(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	drift := func(n int, by float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Exp(rng.NormFloat64()/2) * (1 + by*float64(i)/float64(n))
		}
		return out
	}
	if tr, ok := BlockTrend(drift(2000, 0.5)); !ok || tr.P > 1e-3 || math.Abs(tr.Change-0.4) > 0.15 {
		t.Errorf("half as much again: %+v", tr) // of the median, which lies in the middle: 0.5/1.25
	}
	if _, ok := BlockTrend(make([]float64, 99)); ok {
		t.Error("99 values are enough")
	}
	spoiled := drift(2000, 0)
	for i := range 5 {
		spoiled[1990+i] = 40
	}
	if tr, _ := BlockTrend(spoiled); tr.P < 1e-3 {
		t.Errorf("five outliers make a trend: %+v", tr)
	}
}

// Steady values, dependent or not, show a trend about as often as P states.
func TestTrendErrs(t *testing.T) {
	simulation(t)
	const trials = 2000
	for _, rho := range []float64{0, 0.7} {
		rng := rand.New(rand.NewPCG(4, 5))
		below := 0
		for range trials {
			if tr, _ := BlockTrend(autoregressive(1000, rho, rng)); tr.P < 0.05 {
				below++
			}
		}
		if got := float64(below) / trials; got < 0.02 || got > 0.09 {
			t.Errorf("memory %v: P below 0.05 in %.3f of the trials", rho, got)
		}
	}
}
