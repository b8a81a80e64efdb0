package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// n=30, p=0.5 → (10, 21) is the textbook case. The larger ones are the definition evaluated with scipy
// 1.17.1: the largest l with binom.cdf(l-1, n, p) <= 0.025 and the smallest u with binom.sf(u-1, n, p) <=
// 0.025. They also show that gonum's incomplete beta function holds for as many gaps between tokens as a run
// can have.
func TestIntervalRanks(t *testing.T) {
	tests := []struct {
		n            int
		p            float64
		lower, upper int
	}{
		{30, 0.5, 10, 21},
		{5, 0.5, 0, 6},
		{6, 0.5, 1, 6},
		{1_000, 0.5, 469, 532},
		{1_000, 0.99, 983, 997},
		{1_000, 0.999, 997, 1_001},
		{5_000, 0.99, 4_936, 4_964},
		{10_000, 0.99, 9_880, 9_920},
		{100_000, 0.9, 89_814, 90_187},
		{1_000_000, 0.5, 499_020, 500_981},
		{1_000_000, 0.99, 989_805, 990_196},
		{10_000_000, 0.95, 9_498_649, 9_501_351},
		{100_000_000, 0.5, 49_990_200, 50_009_801},
		{100_000_000, 0.999, 99_899_380, 99_900_620},
	}
	for _, tt := range tests {
		lower, upper := intervalRanks(tt.n, tt.p, 0.95)
		if lower != tt.lower || upper != tt.upper {
			t.Errorf("n=%d p=%v: ranks (%d, %d), want (%d, %d)", tt.n, tt.p, lower, upper, tt.lower, tt.upper)
		}
	}
}

func TestQuantileInterval(t *testing.T) {
	thirty := make([]float64, 30)
	for i := range thirty {
		thirty[i] = float64(i + 1)
	}
	tests := []struct {
		name          string
		sorted        []float64
		p, confidence float64
		want          Interval
	}{
		{"median of thirty", thirty, 0.5, 0.95, Interval{10, 21}},
		{"p99 of thirty has no upper end", thirty, 0.99, 0.95, Interval{28, inf}},
		{"p1 of thirty has no lower end", thirty, 0.01, 0.95, Interval{-inf, 3}},
		{"empty", nil, 0.5, 0.95, Interval{-inf, inf}},
		{"a NaN among them", []float64{math.NaN(), 1, 2, 3, 4, 5, 6, 7}, 0.5, 0.95, Interval{-inf, inf}},
		{"certainty", thirty, 0.5, 1, Interval{-inf, inf}},
		{"p outside [0, 1]", thirty, 1.5, 0.95, Interval{-inf, inf}},
		{"the maximum of a population", thirty, 1, 0.95, Interval{30, inf}},
	}
	for _, tt := range tests {
		if got := quantileInterval(ascending(tt.sorted), tt.p, tt.confidence); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestMinSamples(t *testing.T) {
	tests := []struct {
		p, confidence float64
		want          int
	}{
		{0.5, 0.95, 6}, {0.9, 0.95, 36}, {0.95, 0.95, 72}, {0.99, 0.95, 368}, {0.999, 0.95, 3688},
		// Two-sided 90 % is one-sided 95 %.
		{0.5, 0.9, 5}, {0.9, 0.9, 29}, {0.95, 0.9, 59}, {0.99, 0.9, 299}, {0.999, 0.9, 2995},
		{0.1, 0.95, 36}, {0.01, 0.95, 368},
		{0, 0.95, math.MaxInt}, {1, 0.95, math.MaxInt}, {math.NaN(), 0.95, math.MaxInt},
		{0.5, 0, math.MaxInt}, {0.5, 1, math.MaxInt},
		{1 - 1e-12, 0.95, math.MaxInt},
	}
	for _, tt := range tests {
		if got := MinSamples(tt.p, tt.confidence); got != tt.want {
			t.Errorf("MinSamples(%v, %v) = %d, want %d", tt.p, tt.confidence, got, tt.want)
		}
	}
}

// MinSamples is about the same interval: finite on the outer side from there on, and not before.
func TestMinSamplesIsWhereTheIntervalCloses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0.01, 0.99).Draw(t, "p")
		confidence := rapid.Float64Range(0.5, 0.999).Draw(t, "confidence")
		n := MinSamples(p, confidence)
		closed := func(n int) bool {
			lower, upper := intervalRanks(n, p, confidence)
			return p < 0.5 && lower >= 1 || p >= 0.5 && upper <= n
		}
		if !closed(n) || n > 1 && closed(n-1) {
			t.Fatalf("the interval does not close at n=%d", n)
		}
		if !boundedBy(n, p, confidence) || boundedBy(n-1, p, confidence) {
			t.Fatalf("boundedBy does not turn at n=%d", n)
		}
	})
}

// The interval must cover the true quantile as often as the binomial distribution predicts, which is at least
// the confidence, for a skewed distribution as for a flat one.
func TestQuantileIntervalCovers(t *testing.T) {
	simulation(t)
	const trials = 4000
	distributions := map[string]struct{ draw, quantile func(float64) float64 }{
		"uniform":     {func(u float64) float64 { return u }, func(p float64) float64 { return p }},
		"exponential": {func(u float64) float64 { return -math.Log1p(-u) }, func(p float64) float64 { return -math.Log1p(-p) }},
	}
	for name, d := range distributions {
		for _, c := range []struct {
			n int
			p float64
		}{{30, 0.5}, {100, 0.9}, {200, 0.95}} {
			rng := rand.New(rand.NewPCG(1, uint64(c.n)))
			values := make([]float64, c.n)
			covered := 0
			for range trials {
				for i := range values {
					values[i] = d.draw(rng.Float64())
				}
				slices.Sort(values)
				iv := quantileInterval(ascending(values), c.p, 0.95)
				if truth := d.quantile(c.p); iv.Lo <= truth && truth <= iv.Hi {
					covered++
				}
			}
			lower, upper := intervalRanks(c.n, c.p, 0.95)
			exact := atLeast(lower, c.n, c.p) - atLeast(upper, c.n, c.p)
			if exact < 0.95 {
				t.Errorf("%s n=%d p=%v: covers %v by the binomial, less than promised", name, c.n, c.p, exact)
			}
			got := float64(covered) / trials
			if se := math.Sqrt(exact * (1 - exact) / trials); math.Abs(got-exact) > 4*se {
				t.Errorf("%s n=%d p=%v: covers %v, the binomial has %v ± %v", name, c.n, c.p, got, exact, se)
			}
		}
	}
}

func TestIntervalJSON(t *testing.T) {
	tests := []struct {
		interval Interval
		text     string
	}{
		{Interval{1.5, 2}, `[1.5,2]`},
		{Interval{1.5, inf}, `[1.5,null]`},
		{Interval{-inf, 2}, `[null,2]`},
		{Interval{-inf, inf}, `[null,null]`},
		{Interval{0, 0}, `[0,0]`},
	}
	for _, tt := range tests {
		text, err := json.Marshal(tt.interval)
		if err != nil || string(text) != tt.text {
			t.Errorf("Marshal(%v) = %s, %v, want %s", tt.interval, text, err, tt.text)
		}
		back := Interval{7, 7}
		if err := json.Unmarshal([]byte(tt.text), &back); err != nil || back != tt.interval {
			t.Errorf("Unmarshal(%s) = %v, %v, want %v", tt.text, back, err, tt.interval)
		}
	}
	for _, bad := range []string{`[]`, `[1]`, `[1,2,3]`, `{"Lo":1}`, `"1-2"`, `[1,"2"]`, `3`, `[1,1e999]`} {
		var iv Interval
		if err := json.Unmarshal([]byte(bad), &iv); err == nil {
			t.Errorf("Unmarshal(%s) = %v, want an error", bad, iv)
		}
	}
}

func FuzzIntervalJSON(f *testing.F) {
	for _, seed := range []string{`[1,2]`, `[1,null]`, `[null,null]`, `[]`, `[1,2,3]`, `null`, `[-0,1e308]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var iv Interval
		if json.Unmarshal([]byte(text), &iv) != nil {
			return
		}
		if math.IsNaN(iv.Lo) || math.IsNaN(iv.Hi) {
			t.Fatalf("%q became %v", text, iv)
		}
		again, err := json.Marshal(iv)
		if err != nil {
			t.Fatalf("%q became %v, which does not marshal: %v", text, iv, err)
		}
		var back Interval
		if err := json.Unmarshal(again, &back); err != nil || back != iv {
			t.Fatalf("%q became %v, then %s, then %v (%v)", text, iv, again, back, err)
		}
	})
}
