package verdict

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
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
	burst    int // arrivals at once
	closed   int // concurrency

	// A queue of several servers takes requests in order, each for its own time; a server with batches takes up to batch
	// waiting requests at once, and needs base and each for each. With neither the latency depends on nothing.
	servers    int
	batch      int
	base, each float64 // ms

	prefill  func(i int, rng *rand.Rand) (ms float64, tokens int)
	memory   float64 // of the latency's logarithm on that of the request before, without a server
	spread   float64 // of its logarithm
	turns    int     // mean requests of a conversation; 0 = none
	replicas []float64
	from     float64 // ms of one worker that are found
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
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Seed = workload.Rate(p.rate), p.closed, rng.Uint64()
	e.Spec.Mix, e.Workers = nil, make([]record.Worker, p.workers)
	deal := dealer{share: e.Spec.Share(0, p.workers), next: make([]int, p.workers)}
	queue := p.arrivals(&deal, rng)
	free := make([]float64, max(1, p.servers))
	now, state := 0.0, rng.NormFloat64()
	session, left := make([]int, p.workers), make([]int, p.workers)
	effect := make([]float64, p.workers)
	sessions, dealt := 0, dealer{share: deal.share, next: make([]int, p.workers)}
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
			heap.Push(queue, arrival{last + delay, deal.take(a.worker), a.worker})
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
				session[w], left[w], effect[w] = dealt.take(w), -1, math.Exp(0.3*rng.NormFloat64())
			}
			left[a.worker]++
			ms *= effect[a.worker]
		}
		if p.replicas != nil {
			ms *= p.replicas[a.i%len(p.replicas)]
		}
		begin := a.ms
		if p.servers > 0 {
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

// dealer gives each worker its next arrival of the plan.
type dealer struct {
	share workload.Share
	next  []int
}

func (d *dealer) take(worker int) int {
	for d.share.Owner(d.next[worker]) != worker {
		d.next[worker]++
	}
	d.next[worker]++
	return d.next[worker] - 1
}

func (p process) arrivals(deal *dealer, rng *rand.Rand) *arrivals {
	out := &arrivals{}
	for i := range p.closed {
		w := deal.share.Owner(i)
		*out = append(*out, arrival{0, deal.take(w), w})
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
		*out = append(*out, arrival{t, i, deal.share.Owner(i)})
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
		{from: 300, name: "lognormal", n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.05},
		{from: 300, name: "lognormal, wide", n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.3},
		{from: 300, name: "heavy tail", n: 400, workers: 4, rate: 20, spread: 0.02, prefill: func(_ int, rng *rand.Rand) (float64, int) {
			return 80 + 3*math.Pow(1-rng.Float64(), -1/1.5), 256
		}},
		{from: 300, name: "AR(1) 0.95", n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), memory: 0.95, spread: 0.3},
		{from: 300, name: "M/G/4 95 %", n: 400, workers: 4, rate: 38, servers: 4, prefill: fixed(100, 256), spread: 0.3},
		{from: 300, name: "M/G/4 50 %", n: 400, workers: 4, rate: 20, servers: 4, prefill: fixed(100, 256), spread: 0.1},
		{from: 300, name: "M/D/1 90 %", n: 400, workers: 4, rate: 9, servers: 1, prefill: fixed(100, 256), spread: 0.01},
		{from: 300, name: "overload", n: 400, workers: 4, rate: 12, servers: 1, prefill: fixed(100, 256), spread: 0.1},
		{from: 300, name: "two lengths", n: 400, workers: 4, rate: 5, servers: 4, prefill: two, spread: 0.03},
		{from: 300, name: "lognormal lengths", n: 400, workers: 4, rate: 10, servers: 4, prefill: lengths, spread: 0.03},
		{from: 300, name: "conversations", n: 400, workers: 4, closed: 16, prefill: fixed(100, 256), spread: 0.1, turns: 5},
		{from: 300, name: "bursts of 20 into 4", n: 400, workers: 4, rate: 10, burst: 20, servers: 4, prefill: fixed(50, 256), spread: 0.2},
		{from: 300, name: "bursts of 20 into batches", n: 400, workers: 4, rate: 10, burst: 20, batch: 8, base: 20, each: 5, spread: 0.2},
		{from: 300, name: "bursts of 10 from 3", n: 400, workers: 3, rate: 10, burst: 10, servers: 2, prefill: fixed(50, 256), spread: 0.2},
		{from: 300, name: "constant", n: 400, workers: 4, rate: 20, constant: true, servers: 4, prefill: fixed(100, 256), spread: 0.1},
		{from: 300, name: "constant into batches", n: 400, workers: 4, rate: 100, constant: true, batch: 16, base: 20, each: 5, spread: 0.2},
		{from: 300, name: "batches", n: 400, workers: 4, rate: 60, batch: 16, base: 20, each: 5, spread: 0.2},
		{from: 300, name: "closed loop", n: 400, workers: 4, closed: 16, servers: 4, prefill: fixed(50, 256), spread: 0.2},
		{from: 300, name: "closed loop, unequal", n: 400, workers: 4, closed: 10, servers: 2, prefill: fixed(50, 256), spread: 0.2},
		{from: 300, name: "closed loop in waves", n: 400, workers: 4, closed: 8, servers: 1, prefill: fixed(20, 256)},
		{from: 300, name: "closed loop in batches", n: 400, workers: 4, closed: 16, batch: 4, base: 20, each: 5, spread: 0.1},
		{from: 300, name: "replicas", n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.05, replicas: []float64{1, 1.3}},
		{from: 300, name: "ten workers", n: 1000, workers: 10, rate: 38, servers: 4, prefill: fixed(100, 256), spread: 0.2},
		{from: 300, name: "two workers", n: 300, workers: 2, rate: 20, servers: 4, prefill: fixed(100, 256), spread: 0.1},
		{from: 300, name: "two workers, little scatter", n: 300, workers: 2, rate: 20, servers: 4, prefill: fixed(100, 256), spread: 0.03},
	}
}

// simulation is a row of workers.
type simulation struct {
	name string
	slow int     // number of the slow worker
	from float64 // a difference that is found, ms
	run  func(slow float64, rng *rand.Rand) *Measured
}

// rows are simulations with the least difference of the grid that nearly every row finds.
func rows() (out []simulation) {
	for _, p := range processes() {
		out = append(out, simulation{name: p.name, slow: p.slow(), from: p.from, run: p.run})
	}
	for _, p := range engines() {
		out = append(out, simulation{name: p.name, slow: p.workers / 2, from: p.from, run: p.run})
	}
	return out
}

// grid is of differences, ms.
var grid = []float64{5, 20, 50, 100, 300, 1000}

// Of rows whose workers are alike at most 1 % have a finding. A difference of one worker is found the more often the
// larger it is, and no other worker is named. A few rows of each process, or with BENCH_LONG those behind
// docs/findings.md.
func TestWorkersOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	alike, runs, slows := 1, 1, []float64{300}
	if os.Getenv("BENCH_LONG") != "" {
		alike, runs, slows = 300, 20, grid
	}
	wrongs, finds, others := 0, 0, 0
	for i, p := range rows() {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		wrong := 0
		for range alike {
			if checkWorkers(p.run(0, rng)).severity != "" {
				wrong++
			}
		}
		text, before := "", 0.0
		for _, slow := range slows {
			found := 0
			for range runs {
				if is, other := foundIn(p.run(slow, rng), p.slow); is {
					found++
					others += other
				}
			}
			finds += found
			share := float64(found) / float64(runs)
			text += fmt.Sprintf(" %v ms %.0f %%", slow, 100*share)
			if share < before-0.2 || slow >= p.from && share < 0.95 {
				t.Errorf("%s: %v ms found in %.0f %% of rows, less in %.0f %%", p.name, slow, 100*share, 100*before)
			}
			before = share
		}
		t.Logf("%-28s alike %.1f %%, found:%s", p.name, 100*float64(wrong)/float64(alike), text)
		if alike >= 100 && float64(wrong) > 0.02*float64(alike)+3 {
			t.Errorf("%s: %d of %d rows with alike workers have a finding", p.name, wrong, alike)
		}
		wrongs += wrong
	}
	t.Logf("alike: %d of %d; others named in %d of %d finds", wrongs, alike*len(rows()), others, finds)
	if float64(wrongs) > 0.02*float64(alike*len(rows()))+2 || float64(others) > 0.05*float64(finds)+2 {
		t.Errorf("%d findings in %d rows that are alike; others named in %d of %d", wrongs, alike*len(rows()), others, finds)
	}
}

// foundIn reports whether a row's finding names the worker as slow, and 1 if it names another, too.
func foundIn(e *Measured, worker int) (is bool, other int) {
	f := checkWorkers(e)
	for _, text := range strings.Split(f.problem, "; ") {
		switch {
		case strings.HasPrefix(text, fmt.Sprintf("worker %d", worker)) && !strings.Contains(text, "shorter"):
			is = true
		case f.severity != "":
			other = 1
		}
	}
	return is, other
}

func (p process) slow() int { return p.workers / 2 }

func differences(e *Measured) []difference {
	out, _ := e.differing(e.workersParting())
	return out
}
