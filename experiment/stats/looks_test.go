package stats

import (
	"math"
	"math/rand/v2"
	"testing"
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

// sequential looks until it is decided, or the most requests are there.
func sequential(values []float64, p float64) (Verdict, int) {
	looks := Looks{Risk: 0.01}
	for k := 1; looks.At(k) <= len(values); k++ {
		seen := values[:looks.At(k)]
		if Overloaded(seen, 1, p) || FarOver(seen, 1, p) {
			return Fail, len(seen)
		}
		if v := NewInOrder(seen).Decide(1, p, looks.Confidence(k)).Verdict; v != Undecided {
			return v, len(seen)
		}
	}
	return Undecided, len(values)
}

// A server just over the limit is passed, and one just within it failed, in at most 1 % of the runs.
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
				if limit := 0.01 + 3*math.Sqrt(0.01/float64(trials)); float64(wrong) > limit*float64(trials) {
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
