package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

func TestLooks(t *testing.T) {
	l := Looks{Risk: 0.01}
	spent := 0.0
	for k := 1; k <= 200; k++ {
		spent += 1 - l.Confidence(k)
	}
	if spent > 0.01 || spent < 0.0099 {
		t.Errorf("200 looks spend %v", spent)
	}
	if l.At(1) != 64 || l.At(5) != 1024 {
		t.Errorf("looks at %d and %d", l.At(1), l.At(5))
	}
}

// servers make the latencies of n requests; a share of `over` lies above 1 in the long run.
var servers = []struct {
	name string
	draw func(n int, over float64, rng *rand.Rand) []float64
}{
	{"independent", func(n int, over float64, rng *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = over / rng.Float64()
		}
		return out
	}},
	{"a memory of 0.8", remembering(0.8)},
	{"a memory of 0.95", remembering(0.95)},
	{"a queue", func(n int, over float64, rng *rand.Rand) []float64 {
		// Waits of an M/M/1 queue at 70 %: P(wait > x) = 0.7·exp(-0.3·x), so that the limit lies at
		// ln(0.7/over)/0.3.
		const load = 0.7
		limit := math.Log(load/over) / (1 - load)
		out := make([]float64, n)
		wait := 0.0
		if rng.Float64() < load {
			wait = rng.ExpFloat64() / (1 - load)
		}
		for i := range out {
			out[i] = wait / limit
			wait = max(0, wait+rng.ExpFloat64()-rng.ExpFloat64()/load)
		}
		return out
	}},
}

func remembering(rho float64) func(int, float64, *rand.Rand) []float64 {
	return func(n int, over float64, rng *rand.Rand) []float64 {
		out := autoregressive(n, rho, rng)
		for i, x := range out {
			out[i] = over / (math.Erfc(x/math.Sqrt2) / 2)
		}
		return out
	}
}

// A server that batches at 90 %, where two of three methods stop too early: the limit is at the true p95.
func TestLooksOfABatchingServer(t *testing.T) {
	simulation(t)
	trials := 30
	if *simulateAll {
		trials = 400
	}
	base := batchingServer{batch: 16, base: 10, each: 0.5, prefill: 0.02, input: lengths{400, 0.6}, output: lengths{100, 0.8}}
	long := base.serve(200_000, 0, base.arrivals(0.9, 1), rand.New(rand.NewPCG(23, 1)))
	for _, c := range []struct {
		name   string
		values []float64
		p      float64
	}{{"TTFT", long.ttft, 0.95}, {"E2E", long.e2e, 0.95}, {"E2E", long.e2e, 0.5}, {"TPOT", long.tpot, 0.95}} {
		truth, wrong := Quantile(slices.Sorted(slices.Values(c.values)), c.p), map[Verdict]int{}
		for k := range trials {
			from := 3000 + k*(len(c.values)-11_000)/trials
			in := long.e2e[from : from+8000]
			for side, right := range map[float64]Verdict{truth * (1 - 1e-9): Fail, truth * (1 + 1e-9): Pass} {
				seen := c.values[from : from+8000]
				scaled := make([]float64, len(seen))
				for i, x := range seen {
					scaled[i] = x / side
				}
				v, _ := looked(scaled, c.p, func(n int) bool { return long.gap*float64(n) >= 5*slices.Max(in[:n]) },
					func(s *InOrder, n int) { s.Bounded, s.InFlight = c.name == "TPOT", stat.Mean(in[:n], nil)/long.gap })
				if v != Undecided && v != right {
					wrong[v]++
				}
			}
		}
		t.Logf("%s p%.0f: %d of %d wrongly PASS, %d FAIL", c.name, 100*c.p, wrong[Pass], trials, wrong[Fail])
		if most := 0.05 + 3*math.Sqrt(0.05/float64(trials)); float64(max(wrong[Pass], wrong[Fail])) > most*float64(trials) {
			t.Errorf("%s p%.0f: %d of %d wrongly PASS, %d FAIL", c.name, 100*c.p, wrong[Pass], trials, wrong[Fail])
		}
	}
}

// sequential looks until it is decided, or the most requests are there.
func sequential(values []float64, p float64) (Verdict, int) {
	return looked(values, p, func(int) bool { return true }, func(*InOrder, int) {})
}

func looked(values []float64, p float64, shows func(n int) bool, set func(*InOrder, int)) (Verdict, int) {
	looks := Looks{Risk: 0.05}
	for k := 1; looks.At(k) <= len(values); k++ {
		seen := values[:looks.At(k)]
		if !shows(len(seen)) {
			continue
		}
		if Overloaded(seen, 1, p) || FarOver(seen, 1, p) {
			return Fail, len(seen)
		}
		in := NewInOrder(seen)
		set(in, len(seen))
		if v := in.Verdict(1, p, looks.Confidence(k)).Verdict; v != Undecided {
			return v, len(seen)
		}
	}
	return Undecided, len(values)
}

// A server just over the limit is passed, and one just within it failed, in at most 2.5 % of the runs.
func TestLooksErr(t *testing.T) {
	simulation(t)
	trials := 40
	if *simulateAll {
		trials = 1000
	}
	for _, s := range servers {
		for _, p := range []float64{0.9, 0.99} {
			for _, c := range []struct {
				share float64 // of what is allowed
				wrong Verdict
			}{{1.02, Pass}, {0.98, Fail}} {
				rng := rand.New(rand.NewPCG(21, uint64(1000*p)))
				wrong := 0
				for range trials {
					if v, _ := sequential(s.draw(4096, c.share*(1-p), rng), p); v == c.wrong {
						wrong++
					}
				}
				t.Logf("%s, p=%v, %v of the share: %d of %d wrong", s.name, p, c.share, wrong, trials)
				if limit := 0.025 + 3*math.Sqrt(0.025/float64(trials)); float64(wrong) > limit*float64(trials) {
					t.Errorf("%s, p=%v, %v of the share: %d of %d are wrongly %s", s.name, p, c.share, wrong, trials, c.wrong)
				}
			}
		}
	}
}

// What it is for: far from the limit it takes few requests.
func TestLooksDecideSoon(t *testing.T) {
	simulation(t)
	rng := rand.New(rand.NewPCG(22, 1))
	for _, c := range []struct {
		share float64
		want  Verdict
		most  int
	}{{0.1, Pass, 4096}, {10, Fail, 512}} {
		right := 0
		for range 200 {
			if v, n := sequential(servers[0].draw(8192, c.share*0.01, rng), 0.99); v == c.want && n <= c.most {
				right++
			}
		}
		if right < 190 {
			t.Errorf("%v of the share: %d of 200 are %s after %d requests", c.share, right, c.want, c.most)
		}
	}
}

func TestRanks(t *testing.T) {
	got := ranks([]float64{30, 10, 30, math.Inf(1), 20})
	for i, want := range []float64{2.5, 0, 2.5, 4, 1} {
		if got[i] != want {
			t.Errorf("ranks %v", got)
		}
	}
}
