package stats

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// kind is how values are judged, and what is promised of them.
type kind string

const (
	openLoop kind = "independent or autoregressive" // of an open loop, without a queue
	queueing kind = "open queue"
	closed   kind = "closed loop"
	token    kind = "token times"
	blind    kind = "rare states" // a window can lack what makes it slow, which no procedure can see
)

func (k kind) bounded() bool { return k == closed || k == token }

// latencyProcess has the latencies of successive requests in its steady state: long enough to show its true percentiles.
type latencyProcess struct {
	name     string
	kind     kind
	values   []float64
	inFlight float64 // mean number of requests in the server; 0: unknown

	sorted []float64
	mu     sync.Mutex
	times  map[float64]float64
}

func (s *latencyProcess) quantile(p float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorted == nil {
		s.sorted = slices.Sorted(slices.Values(s.values))
	}
	return Quantile(s.sorted, p)
}

// time is the true autocorrelation time of exceeding the true percentile.
func (s *latencyProcess) time(p float64) float64 {
	limit := s.quantile(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[float64]float64{}
	}
	if s.times[p] == 0 {
		s.times[p] = trueTime(s.values, limit)
	}
	return s.times[p]
}

// latencyProcesses makes n requests of each. Each seed draws other servers.
func latencyProcesses(seed uint64, n int, all bool) []*latencyProcess {
	var out []*latencyProcess
	var mu sync.Mutex
	var group sync.WaitGroup
	free := make(chan bool, 2)
	rngOf := func(name string) *rand.Rand {
		h := fnv.New64()
		h.Write([]byte(name))
		return rand.New(rand.NewPCG(seed, h.Sum64()))
	}
	add := func(made func() []*latencyProcess) {
		group.Go(func() {
			free <- true
			defer func() { <-free }()
			x := made()
			mu.Lock()
			out = append(out, x...)
			mu.Unlock()
		})
	}
	one := func(k kind, name string, load float64, draw func(int, *rand.Rand) []float64) {
		add(func() []*latencyProcess {
			s := &latencyProcess{name: name, kind: k, values: draw(n, rngOf(name))}
			for _, x := range s.values { // services take 1 on average: Little's law
				s.inFlight += load * x / float64(n)
			}
			return []*latencyProcess{s}
		})
	}
	one(openLoop, "lognormal", 0, lognormal(0))
	one(openLoop, "Pareto 1.5", 0, oneByOne(func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/1.5) }))
	one(openLoop, "bimodal", 0, oneByOne(func(r *rand.Rand) float64 {
		x := 20 * math.Exp(0.1*r.NormFloat64())
		if r.Float64() < 0.07 {
			x *= 8
		}
		return x
	}))
	one(openLoop, "ties", 0, oneByOne(func(r *rand.Rand) float64 { return math.Floor(1 + 10*r.ExpFloat64()) }))
	rhos, loads := []float64{0.9, 0.98}, []float64{0.5, 0.7, 0.9}
	if all {
		rhos, loads = []float64{0.5, 0.9, 0.95, 0.98, 0.99}, []float64{0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95}
	}
	for _, rho := range rhos {
		one(openLoop, fmt.Sprintf("AR(1) %g", rho), 0, lognormal(rho))
		one(closed, fmt.Sprintf("AR(1) %g, as of a closed loop", rho), 0, lognormal(rho))
	}
	for _, load := range loads {
		one(queueing, fmt.Sprintf("M/M/1 %g %%", 100*load), load, singleServer(load, (*rand.Rand).ExpFloat64))
		one(queueing, fmt.Sprintf("M/D/1 %g %%", 100*load), load, singleServer(load, func(r *rand.Rand) float64 { return 1 + 1e-6*r.Float64() }))
	}
	one(queueing, "M/G/1 75 %, lognormal 1.5", 0.75, singleServer(0.75, func(r *rand.Rand) float64 { return math.Exp(1.5*r.NormFloat64() - 1.125) }))
	one(queueing, "M/G/1 75 %, Pareto 2.2", 0.75, singleServer(0.75, func(r *rand.Rand) float64 { return 1.2 / 2.2 * math.Pow(1-r.Float64(), -1/2.2) }))
	for _, load := range []float64{0.7, 0.9} {
		add(func() []*latencyProcess {
			name := fmt.Sprintf("batches of 16 at %g %%", 100*load)
			return []*latencyProcess{{name: name, kind: blind, values: batches(load)(n, rngOf(name))}}
		})
	}
	one(blind, "clusters of 10", 0, slowClusters)
	one(blind, "slow phases of 50", 0, slowPhases(50))
	one(blind, "slow phases of 500", 0, slowPhases(500))
	one(blind, "a stall of 30 requests in 2,000", 0, stalls)
	one(blind, "a wave of 5,000 requests, ±30 %", 0, wave)

	served := func(name string, s batchingServer, users int, next traffic) {
		add(func() []*latencyProcess {
			const warmup = 3000
			v, k, inFlight := s.serve(n+warmup, users, next, rngOf(name)), queueing, 0.0
			if users > 0 {
				k = closed
			} else {
				for _, x := range v.e2e {
					inFlight += x / v.gap / float64(len(v.e2e))
				}
			}
			return []*latencyProcess{
				{name: name + ", TTFT", kind: k, values: v.ttft[warmup:], inFlight: inFlight},
				{name: name + ", E2E", kind: k, values: v.e2e[warmup:], inFlight: inFlight},
				{name: name + ", TPOT", kind: token, values: v.tpot[warmup:]},
			}
		})
	}
	base := batchingServer{batch: 16, base: 10, each: 0.5, prefill: 0.02, input: lengths{400, 0.6}, output: lengths{100, 0.8}}
	for _, load := range []float64{0.5, 0.7, 0.9} {
		served(fmt.Sprintf("batching 16, %g %%", 100*load), base, 0, base.arrivals(load, 1))
	}
	served("batching 16, 8 users", base, 8, base.users())
	served("batching 16, 32 users", base, 32, base.users())
	served("batching 16, conversations of 8 users", base, 8, base.conversations())
	rng, drawn := rand.New(rand.NewPCG(seed, 99)), 3
	if all {
		drawn = 24
	}
	for i := range drawn {
		s := batchingServer{batch: 1 << rng.IntN(8), base: 5 + 30*rng.Float64(), prefill: 0.05 * rng.Float64(),
			input:  lengths{50 * math.Exp(4*rng.Float64()), rng.Float64()},
			output: lengths{20 * math.Exp(3*rng.Float64()), rng.Float64()}}
		s.each = s.base / float64(s.batch) * rng.Float64()
		load, shape, users := 0.3+0.62*rng.Float64(), []float64{1, 0.5, 2}[rng.IntN(3)], 1+rng.IntN(2*s.batch)
		if i%3 == 2 {
			served(fmt.Sprintf("drawn %d: %d slots, %d users", i+1, s.batch, users), s, users, s.users())
		} else {
			served(fmt.Sprintf("drawn %d: %d slots, %.0f %%, arrivals' CV² %g", i+1, s.batch, 100*load, 1/shape), s, 0, s.arrivals(load, shape))
		}
	}
	group.Wait()
	return out
}

func lognormal(rho float64) func(int, *rand.Rand) []float64 {
	return func(n int, rng *rand.Rand) []float64 {
		out := autoregressive(n, rho, rng)
		for i, x := range out {
			out[i] = math.Exp(0.3 * x)
		}
		return out
	}
}

// singleServer is the time in a queue with Poisson arrivals, by Lindley's recursion, after a warm-up.
func singleServer(load float64, service func(*rand.Rand) float64) func(int, *rand.Rand) []float64 {
	return func(n int, rng *rand.Rand) []float64 {
		out, wait := make([]float64, n), 0.0
		for i := -20_000; i < n; i++ {
			s := service(rng)
			if i >= 0 {
				out[i] = wait + s
			}
			wait = max(0, wait+s-rng.ExpFloat64()/load)
		}
		return out
	}
}

// batches is a server that begins a step as soon as requests wait, takes up to 16 of them, and needs 20 ms and 0.5 ms
// a request: batching with requests of one step each. A short window shows the steps, and not how long a queue of
// several batches lasts.
func batches(load float64) func(int, *rand.Rand) []float64 {
	const most, base, each = 16, 20.0, 0.5
	rate := load * most / (base + each*most)
	return func(n int, rng *rand.Rand) []float64 {
		const warmup = 5000
		arrivals, at := make([]float64, n+warmup), 0.0
		for i := range arrivals {
			at += rng.ExpFloat64() / rate
			arrivals[i] = at
		}
		out, now := make([]float64, n+warmup), 0.0
		for i := 0; i < len(arrivals); {
			now = max(now, arrivals[i])
			size := 0
			for i+size < len(arrivals) && size < most && arrivals[i+size] <= now {
				size++
			}
			now += base + each*float64(size)
			for k := range size {
				out[i+k] = now - arrivals[i+k]
			}
			i += size
		}
		return out[warmup:]
	}
}

// slowPhases: a fifth of the phases is 1.6 times slower.
func slowPhases(length float64) func(int, *rand.Rand) []float64 {
	return func(n int, rng *rand.Rand) []float64 {
		out := make([]float64, 0, n)
		for len(out) < n {
			median := 20.0
			if rng.Float64() < 0.2 {
				median *= 1.6
			}
			for left := max(1, int(rng.ExpFloat64()*length)); left > 0 && len(out) < n; left-- {
				out = append(out, median*math.Exp(0.2*rng.NormFloat64()))
			}
		}
		return out
	}
}

// slowClusters: clusters of ten requests on average, 6 % of all, are five times slower.
func slowClusters(n int, rng *rand.Rand) []float64 {
	const slow = 0.06
	out, inside := make([]float64, n), rng.Float64() < slow
	for i := range out {
		if inside {
			inside = rng.Float64() >= 0.1
		} else {
			inside = rng.Float64() < 0.1*slow/(1-slow)
		}
		out[i] = 20 * math.Exp(0.2*rng.NormFloat64())
		if inside {
			out[i] *= 5
		}
	}
	return out
}

func stalls(n int, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 20 * math.Exp(0.2*rng.NormFloat64())
	}
	for at := 0; at < n; at += 1 + int(2000*rng.ExpFloat64()) {
		for i := at; i < min(n, at+30); i++ {
			out[i] += 10 * float64(at+30-i)
		}
	}
	return out
}

func wave(n int, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 20 * math.Exp(0.3*math.Sin(2*math.Pi*float64(i)/5000)+0.1*rng.NormFloat64())
	}
	return out
}
