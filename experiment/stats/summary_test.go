package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Percentiles and std are from numpy 2.4.6 (np.quantile, np.std), the mean from Python's math.fsum, which is
// exact.
func TestSummarizeKnown(t *testing.T) {
	s := Summarize(sample(1000))
	got := *s
	got.CI95 = nil
	want := Summary{
		N: 1000, Mean: 1067107.70966, Std: 616626.145121087, Min: 339.727,
		P50: 1069681.8835, P90: 1916904.2981999998, P95: 2014447.8699, P99: 2121323.66647, P999: 2143027.793418, Max: 2146181.055,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	sorted := ordered(sample(1000))
	if want := (Interval{sorted[468], sorted[531]}); s.CI95["p50"] != want {
		t.Errorf("interval of the median is %v, want %v", s.CI95["p50"], want)
	}
	if want := (Interval{sorted[982], sorted[996]}); s.CI95["p99"] != want {
		t.Errorf("interval of p99 is %v, want %v", s.CI95["p99"], want)
	}
	if want := (Interval{sorted[996], inf}); s.CI95["p999"] != want {
		t.Errorf("interval of p999 is %v, want %v", s.CI95["p999"], want)
	}
}

func TestSummarizeEdges(t *testing.T) {
	if s := Summarize(nil); s != nil {
		t.Errorf("a summary of nothing: %+v", s)
	}
	if s := Summarize([]float64{0.1, 0.1, 0.1}); s.Mean != 0.1 || s.Std != 0 {
		t.Errorf("three equal values have mean %v and std %v", s.Mean, s.Std)
	}
	s := Summarize([]float64{1, math.NaN(), 3})
	for _, name := range []string{"mean", "std", "min", "p50", "p90", "p95", "p99", "p999", "max"} {
		if x, ok := s.Get(name); !ok || !math.IsNaN(x) {
			t.Errorf("with a NaN among the values, %s is %v, %v", name, x, ok)
		}
	}
}

// A naive sum loses the small values beside the large one.
func TestSummarizeMeanIsAccurate(t *testing.T) {
	values := slices.Repeat([]float64{1}, 10_001)
	values[0] = 1e16
	if got, want := Summarize(values).Mean, (1e16+1e4)/10_001; got != want {
		t.Errorf("mean %v, want %v", got, want)
	}
}

func TestSummaryJSON(t *testing.T) {
	text, err := json.Marshal(Summarize([]float64{1, 2, 3, 4, 5, 6}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"n":6,"mean":3.5,"std":1.707825127659933,"min":1,"p50":3.5,"p90":5.5,"p95":5.75,"p99":5.95,"p999":5.995,"max":6,` +
		`"ci95":{"p50":[1,6],"p90":[4,null],"p95":[4,null],"p99":[5,null],"p999":[6,null]}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSummarizeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	values := autoregressive(2000, 0.8, rng)
	s := SummarizeInOrder(values, rng)
	if s.ESS < 100 || s.ESS > 400 { // 2000/9 is 222
		t.Errorf("2000 values with a memory of 0.8 are worth %v", s.ESS)
	}
	if iv := s.CI95["mean"]; !(iv.Lo < s.Mean && s.Mean < iv.Hi) || iv.Hi-iv.Lo < 4*s.Std/math.Sqrt(2000) {
		t.Errorf("mean %v in %v", s.Mean, iv)
	}
	// A memory of 0.8 has a time of 9: the median's is less, and a PASS takes about twice that.
	if x := s.Effective["p50"]; x < 70 || x > 300 {
		t.Errorf("for the median they are worth %v", x)
	}
	for name, need := range s.Needed {
		if s.Grade(name) == Sound || need <= 2000 {
			t.Errorf("%s is %s and needs %d", name, s.Grade(name), need)
		}
	}
	if s.Grade("p50") != Sound || s.Grade("p999") != NoBound || s.Needed["p999"] == 0 {
		t.Errorf("p50 is %s, p999 %s, %v", s.Grade("p50"), s.Grade("p999"), s.Needed)
	}
	if SummarizeInOrder(nil, rng) != nil {
		t.Error("a summary of nothing")
	}
}

func TestGet(t *testing.T) {
	s := &Summary{Mean: 1, Std: 2, Min: 3, P50: 4, P90: 5, P95: 6, P99: 7, P999: 8, Max: 9}
	for i, name := range []string{"mean", "std", "min", "p50", "p90", "p95", "p99", "p999", "max"} {
		if got, ok := s.Get(name); !ok || got != float64(i+1) {
			t.Errorf("Get(%q) = %v, %v", name, got, ok)
		}
	}
	if _, ok := s.Get("p42"); ok {
		t.Error("there is no p42")
	}
	if _, ok := (*Summary)(nil).Get("mean"); ok {
		t.Error("nothing has a mean")
	}
}

func TestSummarizeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := latencies(1).Draw(t, "values")
		kept := slices.Clone(values)
		s := Summarize(values)
		if !slices.Equal(values, kept) {
			t.Fatal("the caller's slice has changed")
		}
		rungs := []float64{s.Min, s.P50, s.P90, s.P95, s.P99, s.P999, s.Max}
		if !slices.IsSorted(rungs) {
			t.Fatalf("percentiles are not monotone: %v", rungs)
		}
		if s.Mean < s.Min || s.Mean > s.Max || s.Std < 0 || s.Std > s.Max-s.Min {
			t.Fatalf("mean %v ± %v of [%v, %v]", s.Mean, s.Std, s.Min, s.Max)
		}
		for _, name := range []string{"p50", "p90", "p95", "p99", "p999"} {
			x, _ := s.Get(name)
			iv, ok := s.CI95[name]
			if !ok || iv.Lo > iv.Hi {
				t.Fatalf("interval of %s: %v, %v", name, iv, ok)
			}
			// With few values the quantile is likely beyond them all, and the estimate below its own
			// interval.
			if closed := isFinite(iv.Lo) && isFinite(iv.Hi); closed && (x < iv.Lo || x > iv.Hi) {
				t.Fatalf("%s = %v lies outside its interval %v", name, x, iv)
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		if diff := cmp.Diff(s, Summarize(values)); diff != "" {
			t.Fatalf("another order of the same values gives another summary:\n%s", diff)
		}
	})
}

func BenchmarkSummarize(b *testing.B) {
	values := sample(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		Summarize(values)
	}
}
