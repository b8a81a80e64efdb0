package verdict

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bench/experiment/fixture"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// process is a row that several workers send to a simulated server.
type process struct {
	name     string
	n        int
	workers  int
	rate     float64 // requests per second; 0 = closed loop
	constant bool
	burst    int   // arrivals at once
	closed   []int // concurrency of each worker

	// A server with slots takes requests in order, each for its own time; one with batches takes up to batch of those
	// that wait, and needs base and each for each. With neither the latency depends on nothing.
	slots      int
	batch      int
	base, each float64 // ms

	prefill  func(i int, rng *rand.Rand) (ms float64, tokens int)
	memory   float64 // of the latency's logarithm on that of the request before, without a server
	spread   float64 // of its logarithm
	turns    int     // mean requests of a conversation; 0 = none
	replicas []float64
	found    float64 // least share of rows in which 5 ms of one worker are found; 0 = no promise
}

type arrival struct {
	ms     float64
	i      int
	worker int
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, k int) bool {
	return a[i].ms < a[k].ms || a[i].ms == a[k].ms && a[i].i < a[k].i
}
func (a arrivals) Swap(i, k int) { a[i], a[k] = a[k], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	x := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return x
}

// run sends the row; slow is added to the answers of worker 2, ms.
func (p process) run(slow float64, rng *rand.Rand) *Measured {
	e := &Measured{Row: &record.Row{Spec: fixture.Spec()}}
	e.Spec.Rate, e.Spec.Concurrency = workload.Rate(p.rate), 0
	e.Spec.Mix, e.Workers = nil, make([]record.Worker, p.workers)
	queue := p.arrivals(rng)
	next := make([]int, p.workers) // requests of each worker
	free := make([]float64, max(1, p.slots))
	now, state := 0.0, rng.NormFloat64()
	session, left := make([]int, p.workers), make([]int, p.workers)
	effect := make([]float64, p.workers)
	sessions := 0
	send := func(a arrival, first, scale float64, tokens int) {
		delay := 0.0
		if a.worker == p.slow() {
			delay = slow
		}
		r := &record.Record{I: a.i, Worker: new(a.worker), Phase: record.PhaseWindow, Outcome: "ok", PromptTokens: &tokens, OutputTokens: 8}
		if p.turns > 0 {
			r.Session, r.Turn = new(session[a.worker]), new(left[a.worker])
		}
		if p.replicas != nil {
			r.Endpoint = new(a.i % len(p.replicas))
		}
		at := func(ms float64) record.Micros { return record.At(int64(ms * 1000)) }
		last := first + 70*scale
		r.Arrival, r.Ready, r.Sent = at(a.ms), at(a.ms), at(a.ms)
		r.First, r.Last, r.End = at(first+delay), at(last+delay), at(last+delay)
		r.Gaps = record.Pack(r.Last.Us() - r.First.Us())
		e.Records = append(e.Records, r)
		e.Window.EndUs = max(e.Window.EndUs, r.End.Us())
		if p.rate == 0 && len(e.Records)+queue.Len() < p.n {
			next[a.worker]++
			heap.Push(queue, arrival{last + delay, next[a.worker]*p.workers + a.worker, a.worker})
		}
	}
	for queue.Len() > 0 {
		now = max(now, (*queue)[0].ms)
		if p.batch > 0 {
			var taken []arrival
			for queue.Len() > 0 && len(taken) < p.batch && (*queue)[0].ms <= now {
				taken = append(taken, heap.Pop(queue).(arrival))
			}
			now += p.base + p.each*float64(len(taken))*math.Exp(p.spread*rng.NormFloat64())
			for _, a := range taken {
				send(a, now, 1+0.02*rng.NormFloat64(), 100)
			}
			continue
		}
		a := heap.Pop(queue).(arrival)
		ms, tokens := p.prefill(a.i, rng)
		state = p.memory*state + math.Sqrt(1-p.memory*p.memory)*rng.NormFloat64()
		ms *= math.Exp(p.spread * state)
		if p.turns > 0 {
			if w := a.worker; sessions == 0 || rng.Float64() < 1/float64(p.turns) || effect[w] == 0 {
				sessions++
				session[w], left[w], effect[w] = sessions, -1, math.Exp(0.3*rng.NormFloat64())
			}
			left[a.worker]++
			ms *= effect[a.worker]
		}
		if p.replicas != nil {
			ms *= p.replicas[a.i%len(p.replicas)]
		}
		begin := a.ms
		if p.slots > 0 {
			least := 0
			for k, t := range free {
				if t < free[least] {
					least = k
				}
			}
			begin = max(begin, free[least])
			free[least] = begin + ms
		}
		send(a, begin+ms, 1+0.02*rng.NormFloat64(), tokens)
	}
	if p.turns > 0 {
		e.Spec.Session = &workload.Session{}
	}
	return e
}

func (p process) arrivals(rng *rand.Rand) *arrivals {
	out := &arrivals{}
	for w, n := range p.closed {
		for k := range n {
			*out = append(*out, arrival{0, k*p.workers + w, w})
		}
	}
	t := 0.0
	for i := 0; p.rate > 0 && i < p.n; i++ {
		if p.burst == 0 || i%p.burst == 0 {
			gap := 1000 / p.rate * float64(max(1, p.burst))
			if !p.constant {
				gap *= rng.ExpFloat64()
			}
			t += gap
		}
		*out = append(*out, arrival{t, i, i % p.workers})
	}
	heap.Init(out)
	return out
}

func fixed(ms float64, tokens int) func(int, *rand.Rand) (float64, int) {
	return func(int, *rand.Rand) (float64, int) { return ms, tokens }
}

func processes() []process {
	two := func(_ int, rng *rand.Rand) (float64, int) {
		if rng.Float64() < 0.3 {
			return 900, 4000
		}
		return 60, 128
	}
	lengths := func(_ int, rng *rand.Rand) (float64, int) {
		n := 300 * math.Exp(0.8*rng.NormFloat64())
		return 40 + 0.1*n, int(n)
	}
	return []process{
		{name: "lognormal", found: 0.75, n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.05},
		{name: "lognormal, wide", n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.3},
		{name: "heavy tail", found: 0.75, n: 400, workers: 4, rate: 20, spread: 0.02, prefill: func(_ int, rng *rand.Rand) (float64, int) {
			return 80 + 3*math.Pow(1-rng.Float64(), -1/1.5), 256
		}},
		{name: "AR(1) 0.95", found: 0.5, n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), memory: 0.95, spread: 0.3},
		{name: "M/G/4 95 %", n: 400, workers: 4, rate: 38, slots: 4, prefill: fixed(100, 256), spread: 0.3},
		{name: "M/G/4 50 %", n: 400, workers: 4, rate: 20, slots: 4, prefill: fixed(100, 256), spread: 0.1},
		{name: "M/D/1 90 %", found: 0.75, n: 400, workers: 4, rate: 9, slots: 1, prefill: fixed(100, 256), spread: 0.01},
		{name: "overload", found: 0.75, n: 400, workers: 4, rate: 12, slots: 1, prefill: fixed(100, 256), spread: 0.1},
		{name: "two lengths", found: 0.75, n: 400, workers: 4, rate: 5, slots: 4, prefill: two, spread: 0.03},
		{name: "lognormal lengths", found: 0.75, n: 400, workers: 4, rate: 10, slots: 4, prefill: lengths, spread: 0.03},
		{name: "conversations", n: 400, workers: 4, closed: []int{4, 4, 4, 4}, prefill: fixed(100, 256), spread: 0.1, turns: 5},
		{name: "bursts of 20 into 4", n: 400, workers: 4, rate: 10, burst: 20, slots: 4, prefill: fixed(50, 256), spread: 0.2},
		{name: "bursts of 20 into batches", n: 400, workers: 4, rate: 10, burst: 20, batch: 8, base: 20, each: 5, spread: 0.2},
		{name: "bursts of 10 from 3", found: 0.25, n: 400, workers: 3, rate: 10, burst: 10, slots: 2, prefill: fixed(50, 256), spread: 0.2},
		{name: "constant", n: 400, workers: 4, rate: 20, constant: true, slots: 4, prefill: fixed(100, 256), spread: 0.1},
		{name: "constant into batches", found: 0.5, n: 400, workers: 4, rate: 100, constant: true, batch: 16, base: 20, each: 5, spread: 0.2},
		{name: "batches", found: 0.5, n: 400, workers: 4, rate: 60, batch: 16, base: 20, each: 5, spread: 0.2},
		{name: "closed loop", n: 400, workers: 4, closed: []int{4, 4, 4, 4}, slots: 4, prefill: fixed(50, 256), spread: 0.2},
		{name: "closed loop, unequal", n: 400, workers: 4, closed: []int{1, 2, 2, 3}, slots: 2, prefill: fixed(50, 256), spread: 0.2},
		{name: "closed loop in waves", found: 0.5, n: 400, workers: 4, closed: []int{2, 2, 2, 2}, slots: 1, prefill: fixed(20, 256)},
		{name: "closed loop in batches", n: 400, workers: 4, closed: []int{4, 4, 4, 4}, batch: 4, base: 20, each: 5, spread: 0.1},
		{name: "replicas", n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.05, replicas: []float64{1, 1.3}},
		{name: "ten workers", n: 1000, workers: 10, rate: 38, slots: 4, prefill: fixed(100, 256), spread: 0.2},
		{name: "two workers", n: 300, workers: 2, rate: 20, slots: 4, prefill: fixed(100, 256), spread: 0.1},
		{name: "two workers, little scatter", found: 0.75, n: 300, workers: 2, rate: 20, slots: 4, prefill: fixed(100, 256), spread: 0.03},
	}
}

// At most 1 % of rows whose workers are alike has a finding, and 5 ms of one worker are found where the row scatters
// little beside them. A few rows of each process, or with BENCH_LONG the 1000 behind docs/findings.md.
func TestWorkersOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	runs := 4
	if os.Getenv("BENCH_LONG") != "" {
		runs = 1000
	}
	wrongs := 0
	for k, p := range processes() {
		rng := rand.New(rand.NewPCG(7, uint64(k)))
		wrong, found, other := 0, 0, 0
		for range runs {
			if len(differences(p.run(0, rng))) > 0 {
				wrong++
			}
			all := differences(p.run(5, rng))
			if slices.ContainsFunc(all, func(d difference) bool { return d.party == p.slow() && d.metric == "ttft_from_send" && d.by > 0 }) {
				found++
			} else if len(all) > 0 {
				other++
			}
		}
		n := float64(runs)
		t.Logf("%-28s false %5.1f %%, 5 ms found %5.1f %%, another worker or metric %5.1f %%", p.name, 100*float64(wrong)/n, 100*float64(found)/n, 100*float64(other)/n)
		if runs >= 1000 && float64(wrong) > 0.03*n || float64(found) < p.found*n {
			t.Errorf("%s: %d false of %d rows; 5 ms found in %d", p.name, wrong, runs, found)
		}
		wrongs += wrong
	}
	if all := runs * len(processes()); float64(wrongs) > 0.02*float64(all)+3 {
		t.Errorf("%d false of %d rows", wrongs, all)
	}
}

func (p process) slow() int { return p.workers / 2 }

func differences(e *Measured) []difference {
	out, _ := e.differing(e.workersParting())
	return out
}
