package twin

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func poisson(rate float64, n int, seed uint64) (out []Request) {
	rng := rand.New(rand.NewPCG(seed, 3))
	at := 0.0
	for range n {
		at += rng.ExpFloat64() / rate
		out = append(out, Request{Arrival: at, Prompt: 100 + rng.IntN(400), Output: 10 + rng.IntN(60), Window: true})
	}
	return out
}

var small = Model{Base: 0.01, PerSequence: 0.001, PerPrefillToken: 5e-5, MaxSequences: 8}

// A round-robin fleet is its servers, each alone with every n-th request.
func TestRoundRobinIsEachAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "replicas")
		all := poisson(rapid.Float64Range(1, 200).Draw(t, "rate"), 200, rapid.Uint64().Draw(t, "seed"))
		got := (&Fleet{Model: &small, Replicas: n}).Run(all, 0)
		for k := range n {
			var own []Request
			for i := k; i < len(all); i += n {
				own = append(own, all[i])
			}
			for i, r := range small.Run(own, 0) {
				if g := got[k+i*n]; g.First != r.First || g.Last != r.Last {
					t.Fatalf("request %d of replica %d: %v, alone %v", i, k, g.Last, r.Last)
				}
			}
		}
	})
}

// Whatever the router, requests are served once, no replica runs more than its limit, and a closed loop has its number
// in flight.
func TestFleetServesEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(0, 40).Draw(t, "workers")
		f := &Fleet{Model: &small, Replicas: rapid.IntRange(1, 5).Draw(t, "replicas"),
			Router: rapid.SampledFrom(Routers).Draw(t, "router"), CacheTokens: 300}
		all := poisson(rapid.Float64Range(1, 200).Draw(t, "rate"), 150, rapid.Uint64().Draw(t, "seed"))
		for i := range all {
			all[i].Group, all[i].Cached = i%7, all[i].Prompt/2
			if workers > 0 {
				all[i].Arrival = 0
			}
		}
		type change struct {
			at float64
			d  int
		}
		var changes []change
		for i, r := range f.Run(all, workers) {
			if !(r.First >= r.Arrival && r.Last >= r.First) {
				t.Fatalf("request %d: %+v", i, r)
			}
			changes = append(changes, change{r.Arrival, 1}, change{r.Last, -1})
		}
		slices.SortFunc(changes, func(a, b change) int {
			if a.at != b.at {
				return int(math.Copysign(1, a.at-b.at))
			}
			return a.d - b.d
		})
		n, most := 0, 0
		for _, c := range changes {
			n += c.d
			most = max(most, n)
		}
		if workers > 0 && most != min(workers, len(all)) {
			t.Fatalf("%d in flight, %d workers", most, workers)
		}
	})
}

// Requests of one equal step each: round robin is E4/D/1, least load nearly M/D/4, whose mean wait is a little above
// half of M/M/4's (Erlang's C formula: 0.788/(40 − 36) = 0.197 s).
func TestWaitsBehindRouters(t *testing.T) {
	m := Model{Base: 0.1, MaxSequences: 1}
	waits := map[string]float64{}
	for _, router := range []string{RoundRobin, LeastLoad} {
		all := poisson(36, 40_000, 5)
		for i := range all {
			all[i].Output, all[i].Prompt = 1, 1
		}
		sum := 0.0
		for _, r := range (&Fleet{Model: &m, Replicas: 4, Router: router}).Run(all, 0) {
			sum += r.First - r.Arrival - 0.1
		}
		waits[router] = sum / float64(len(all))
	}
	if waits[LeastLoad] > 0.135 || waits[LeastLoad] < 0.07 || waits[RoundRobin] < waits[LeastLoad] {
		t.Errorf("mean waits %v", waits)
	}
}

// A router that knows the prefixes computes each in one replica; without it each replica computes all, and forgets what
// does not fit.
func TestPrefixAwareKeepsHits(t *testing.T) {
	m := Model{Base: 0.001, PerPrefillToken: 1e-5, MaxSequences: 64}
	hits := map[string]float64{}
	for _, router := range Routers {
		all := poisson(20, 4_000, 6)
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range all {
			all[i].Prompt, all[i].Cached, all[i].Group = 1000, 900, 1+rng.IntN(12)
		}
		cached := 0
		for _, r := range (&Fleet{Model: &m, Replicas: 4, Router: router, CacheTokens: 1070 * 4}).Run(all, 0) {
			cached += r.Cached
		}
		hits[router] = float64(cached) / 900 / 4_000
	}
	if hits[PrefixAware] < 0.9 || math.Abs(hits[RoundRobin]-4.0/12) > 0.05 {
		t.Errorf("shares of hits: %v, expected above 0.9 prefix-aware and a third round-robin", hits)
	}
}

// stepwise is a fleet of one that advances each step alone, without the loop for steps that only decode.
func stepwise(m *Model, requests []Request) []Request {
	out := slices.Clone(requests)
	s := newServer(m, out, 0)
	for i := range out {
		for s.begins() < out[i].Arrival {
			s.advance()
		}
		s.waiting = append(s.waiting, i)
	}
	for !math.IsInf(s.begins(), 1) {
		s.advance()
	}
	return out
}

func TestDecodingIsStepwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := small
		m.FrontEnd = rapid.SampledFrom([]float64{0, 0.003, 0.4}).Draw(t, "front end")
		m.MaxSequences = rapid.IntRange(0, 12).Draw(t, "sequences")
		m.MaxStepTokens = rapid.SampledFrom([]int{0, 2, 8, 64, 512}).Draw(t, "tokens")
		m.PerContextToken = rapid.SampledFrom([]float64{0, 1e-6}).Draw(t, "context")
		requests := poisson(rapid.Float64Range(0.5, 100).Draw(t, "rate"), 60, rapid.Uint64().Draw(t, "seed"))
		for i := range requests {
			requests[i].Output = rapid.IntRange(1, 50).Draw(t, "output")
			if rapid.Bool().Draw(t, "at a step") { // bursts, and arrivals at the moment in which a step ends
				requests[i].Arrival = math.Floor(requests[i].Arrival*100) / 100
			}
		}
		slices.SortStableFunc(requests, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
		got, want := (&Fleet{Model: &m}).Run(requests, 0), stepwise(&m, requests)
		for i := range want {
			if got[i].First != want[i].First || got[i].Last != want[i].Last {
				t.Fatalf("request %d: %+v, step by step %+v", i, got[i], want[i])
			}
		}
	})
}
