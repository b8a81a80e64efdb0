package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// pool puts requests with their gaps together, in µs, and describes them in ms.
func pool(requests [][]int64, rng *rand.Rand) *Summary {
	var all Counts
	for _, gaps := range requests {
		for _, g := range gaps {
			all.Add(g)
		}
	}
	c := Pooled{Unit: 1e3}
	c.Begin(all.Sorted(1e3))
	for _, gaps := range requests {
		c.Request()
		for _, g := range gaps {
			c.Gap(g)
		}
	}
	return c.Summarize(rng)
}

// streams are requests whose gaps share a pace, lognormal about 10 ms, that has a memory from request to
// request.
func streams(n, gaps int, rho float64, rng *rand.Rand) [][]int64 {
	out := make([][]int64, n)
	for i, pace := range autoregressive(n, rho, rng) {
		out[i] = make([]int64, gaps)
		for k := range out[i] {
			out[i][k] = int64(1e4 * math.Exp(0.3*pace+0.2*rng.NormFloat64()))
		}
	}
	return out
}

func TestPooledIntervalsCover(t *testing.T) {
	simulation(t)
	const trials = 80
	sigma := math.Hypot(0.3, 0.2)
	for _, c := range []struct {
		n, gaps int
		rho     float64
		least   map[string]float64
	}{
		{400, 30, 0, map[string]float64{"p50": 0.9, "p90": 0.9, "p95": 0.9, "p99": 0.88, "mean": 0.9}},
		{800, 30, 0.7, map[string]float64{"p50": 0.88, "p90": 0.88, "p95": 0.86, "mean": 0.88}},
	} {
		rng := rand.New(rand.NewPCG(8, uint64(c.n)))
		covered := map[string]int{}
		truth := map[string]float64{"mean": 10 * math.Exp(sigma*sigma/2)}
		for name, z := range map[string]float64{"p50": 0, "p90": 1.2815515655446004, "p95": 1.6448536269514722, "p99": 2.3263478740408408} {
			truth[name] = 10 * math.Exp(sigma*z)
		}
		for range trials {
			s := pool(streams(c.n, c.gaps, c.rho, rng), rng)
			for name := range c.least {
				if iv := s.CI95[name]; iv.Lo <= truth[name] && truth[name] <= iv.Hi {
					covered[name]++
				}
			}
		}
		for name, least := range c.least {
			if got := float64(covered[name]) / trials; got < least {
				t.Errorf("%d requests, memory %v: the interval of %s covers %.3f, want %v", c.n, c.rho, name, got, least)
			} else {
				t.Logf("%d requests, memory %v: %s %.3f", c.n, c.rho, name, got)
			}
		}
	}
}

// Treating pooled gaps as independent makes intervals far too narrow: those from requests are several times
// as wide.
func TestPooledIsWiderThanPooling(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	requests := streams(400, 200, 0, rng)
	s := pool(requests, rng)
	naive := Summarize(slices.Collect(func(yield func(float64) bool) {
		for _, gaps := range requests {
			for _, g := range gaps {
				if !yield(float64(g) / 1e3) {
					return
				}
			}
		}
	}))
	got, was := s.CI95["p50"], naive.CI95["p50"]
	if ratio := (got.Hi - got.Lo) / (was.Hi - was.Lo); ratio < 5 {
		t.Errorf("%v by requests, %v by gaps: %.3g times as wide", got, was, ratio)
	}
	if s.ESS > 800 || s.ESS < 300 {
		t.Errorf("80,000 gaps of 400 requests are worth %.4g", s.ESS)
	}
	naive.CI95, s.CI95, s.ESS, s.Effective, s.Needed = nil, nil, 0, nil, nil
	if d := cmp.Diff(naive, s, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Errorf("the figures themselves differ: %s", d)
	}
}

func TestPooledEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	if s := pool(nil, rng); s != nil {
		t.Errorf("a summary of nothing: %+v", s)
	}
	same := slices.Repeat([][]int64{slices.Repeat([]int64{10_007}, 50)}, 5000)
	s := pool(same, rng)
	for name, iv := range s.CI95 {
		if iv != (Interval{10.007, 10.007}) {
			t.Errorf("equal gaps: %s in %v", name, iv)
		}
	}
	if s.ESS != 250_000 {
		t.Errorf("250,000 equal gaps are worth %v", s.ESS)
	}
	few := pool(same[:14], rng)
	if iv := few.CI95["p50"]; !math.IsInf(iv.Hi, 1) || few.CI95["mean"] != unbounded() {
		t.Errorf("14 requests: %v", few.CI95)
	}
	// One request stalls: what it did bounds nothing.
	same = same[:200]
	same[7] = slices.Repeat([]int64{500_000}, 50)
	if iv := pool(same, rng).CI95["p99"]; !math.IsInf(iv.Hi, 1) {
		t.Errorf("one request in 200 stalls: p99 in %v", iv)
	}
}

func BenchmarkPooled(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	requests := streams(10_000, 100, 0.5, rng)
	for b.Loop() {
		pool(requests, rng)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/gap")
}
