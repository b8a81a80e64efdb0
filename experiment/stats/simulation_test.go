package stats

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The simulations behind docs/statistics.md. A sample of them runs with the other tests; all of them, by
// make simulate, take an hour and write testdata/verdicts.csv.
var simulateAll = flag.Bool("simulate", false, "run the whole simulations and write their tables")

// simulated makes latencies of successive requests.
type simulated struct {
	name string
	draw func(n int, rng *rand.Rand) []float64
	// above is the true share of requests above a latency; nil = by a long run.
	above func(x float64) float64
	// blind: a window can lack what makes it slow, which no procedure can see.
	blind bool
	queue bool // not bounded
}

func normalAbove(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

func oneByOne(draw func(*rand.Rand) float64) func(int, *rand.Rand) []float64 {
	return func(n int, rng *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = draw(rng)
		}
		return out
	}
}

func lognormal(rho float64) simulated {
	return simulated{
		name: fmt.Sprintf("AR(1) %g", rho),
		draw: func(n int, rng *rand.Rand) []float64 {
			out := autoregressive(n, rho, rng)
			for i, x := range out {
				out[i] = math.Exp(0.3 * x)
			}
			return out
		},
		above: func(x float64) float64 { return normalAbove(math.Log(x) / 0.3) },
	}
}

// exponentialQueue is the time in an M/M/1 queue: exponential, with the mean 1/(1−load).
func exponentialQueue(load float64) simulated {
	return simulated{
		name: fmt.Sprintf("M/M/1 %g %%", 100*load),
		draw: func(n int, rng *rand.Rand) []float64 {
			out, wait := make([]float64, n), 0.0
			if rng.Float64() < load {
				wait = rng.ExpFloat64() / (1 - load)
			}
			for i := range out {
				out[i] = wait + rng.ExpFloat64()
				wait = max(0, out[i]-rng.ExpFloat64()/load)
			}
			return out
		},
		above: func(x float64) float64 { return math.Exp(-(1 - load) * x) },
	}
}

// constantQueue is the time in an M/D/1 queue, after a warm-up from empty.
func constantQueue(load float64) simulated {
	warmup := int(20 / ((1 - load) * (1 - load)))
	return simulated{
		name: fmt.Sprintf("M/D/1 %g %%", 100*load),
		draw: func(n int, rng *rand.Rand) []float64 {
			out, wait := make([]float64, n), 0.0
			for i := -warmup; i < n; i++ {
				if i >= 0 {
					out[i] = wait + 1 + 1e-6*rng.Float64()
				}
				wait = max(0, wait+1-rng.ExpFloat64()/load)
			}
			return out
		},
	}
}

// batchServer is a server that begins a step as soon as requests wait, takes up to 16 of them, and needs 20 ms
// and 0.5 ms a request: continuous batching with requests of one step each. A short window shows the steps, and
// not how long a queue of several batches lasts.
func batchServer(load float64) simulated {
	const most, base, each = 16, 20.0, 0.5
	rate := load * most / (base + each*most)
	return simulated{
		name: fmt.Sprintf("batches of 16 at %g %%", 100*load),
		draw: func(n int, rng *rand.Rand) []float64 {
			const warmup = 5000
			arrivals := make([]float64, n+warmup)
			at := 0.0
			for i := range arrivals {
				at += rng.ExpFloat64() / rate
				arrivals[i] = at
			}
			out := make([]float64, n+warmup)
			now := 0.0
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
		},
		blind: true,
		queue: true,
	}
}

// slowPhases: a fifth of the phases is 1.6 times slower.
func slowPhases(length float64) simulated {
	const slow, factor, spread = 0.2, 1.6, 0.2
	return simulated{
		name: fmt.Sprintf("slow phases of %g", length),
		draw: func(n int, rng *rand.Rand) []float64 {
			out := make([]float64, 0, n)
			for len(out) < n {
				median := 20.0
				if rng.Float64() < slow {
					median *= factor
				}
				for left := max(1, int(rng.ExpFloat64()*length)); left > 0 && len(out) < n; left-- {
					out = append(out, median*math.Exp(spread*rng.NormFloat64()))
				}
			}
			return out
		},
		above: func(x float64) float64 {
			return (1-slow)*normalAbove(math.Log(x/20)/spread) + slow*normalAbove(math.Log(x/20/factor)/spread)
		},
		blind: true,
	}
}

// slowClusters: clusters of ten requests on average, 6 % of all, are five times slower.
func slowClusters() simulated {
	const slow, factor, spread = 0.06, 5.0, 0.2
	return simulated{
		name: "clusters of 10",
		draw: func(n int, rng *rand.Rand) []float64 {
			out, inside := make([]float64, n), rng.Float64() < slow
			for i := range out {
				if inside {
					inside = rng.Float64() >= 0.1
				} else {
					inside = rng.Float64() < 0.1*slow/(1-slow)
				}
				out[i] = 20 * math.Exp(spread*rng.NormFloat64())
				if inside {
					out[i] *= factor
				}
			}
			return out
		},
		above: func(x float64) float64 {
			return (1-slow)*normalAbove(math.Log(x/20)/spread) + slow*normalAbove(math.Log(x/20/factor)/spread)
		},
		blind: true,
	}
}

func simulatedLatencies() []simulated {
	out := []simulated{
		{name: "lognormal", draw: lognormal(0).draw, above: lognormal(0).above},
		{name: "Pareto 1.5", draw: oneByOne(func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/1.5) }),
			above: func(x float64) float64 { return math.Pow(x, -1.5) }},
		{name: "bimodal", draw: oneByOne(func(r *rand.Rand) float64 {
			x := 20 * math.Exp(0.1*r.NormFloat64())
			if r.Float64() < 0.07 {
				x *= 8
			}
			return x
		}), above: func(x float64) float64 {
			return 0.93*normalAbove(math.Log(x/20)/0.1) + 0.07*normalAbove(math.Log(x/160)/0.1)
		}},
		{name: "ties", draw: oneByOne(func(r *rand.Rand) float64 { return math.Floor(10 * r.ExpFloat64()) }),
			above: func(x float64) float64 { return math.Exp(-(math.Floor(x) + 1) / 10) }},
	}
	for _, rho := range []float64{0.5, 0.9, 0.98} {
		out = append(out, lognormal(rho))
	}
	for _, load := range []float64{0.5, 0.7, 0.85, 0.9, 0.95} {
		out = append(out, exponentialQueue(load), constantQueue(load))
	}
	for i := range out {
		out[i].queue = strings.HasPrefix(out[i].name, "M/")
	}
	return append(out, batchServer(0.7), batchServer(0.9), slowPhases(50), slowPhases(500), slowClusters())
}

// quantile is the true p-quantile, from the distribution or a sorted long run.
func (s simulated) quantile(p float64, long []float64) float64 {
	if s.above == nil {
		return long[int(p*float64(len(long)))]
	}
	low, high := 0.0, 1e7
	for range 200 {
		if mid := (low + high) / 2; s.above(mid) > 1-p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// trueTime is the autocorrelation time of exceeding a limit, from the variance of long batches.
func trueTime(values []float64, limit float64) float64 {
	const batches = 400
	over := make([]float64, len(values))
	share := 0.0
	for i, x := range values {
		if x > limit {
			over[i] = 1
			share += 1 / float64(len(values))
		}
	}
	means := blockMeans(over, batches)
	sum := 0.0
	for _, x := range means {
		sum += (x - share) * (x - share)
	}
	return sum / (batches - 1) * float64(len(values)/batches) / (share * (1 - share))
}

// cell is one process, number of requests and percentile: shares of the windows.
type cell struct {
	process string
	queue   bool
	n       int
	p       float64
	windows float64 // length, in true autocorrelation times of exceeding the percentile

	falsePass, falseFail float64 // limit at the true percentile
	// The same by the rules of a closed loop, for sources that are no queue.
	closedPass, closedFail float64
	covered                float64 // the 95 % interval covers it, or the end that misses it is open
	closed                 float64 // both ends are finite
	sound, soundCovered    float64 // graded sound; of these, covered by the interval
	pass, fail             float64 // right, at 1.5 times the true percentile (p50: 1.25) and below it by that factor
	oraclePass             float64 // the same by the plain binomial at the true effective number
	oracleFail             float64
}

func (s simulated) simulate(n, trials int, ps []float64, long []float64, times []float64, rng *rand.Rand) []cell {
	cells := make([]cell, len(ps))
	one := 1 / float64(trials)
	for range trials {
		x := s.draw(n, rng)
		sorted := slices.Sorted(slices.Values(x))
		in := NewInOrder(x)
		over := func(limit float64) float64 {
			return float64(n - sortSearch(sorted, limit))
		}
		decide := func(limit, p float64) Verdict {
			return in.DecideFar(limit, sorted[0], sorted[n-1], over(limit), p, 0.99).Verdict
		}
		for i, p := range ps {
			c := &cells[i]
			c.process, c.queue, c.n, c.p, c.windows = s.name, s.queue, n, p, float64(n)/times[i]
			truth, far := s.quantile(p, long), 1.5
			if p == 0.5 {
				far = 1.25
			}
			count := func(to *float64, yes bool) {
				if yes {
					*to += one
				}
			}
			count(&c.falsePass, decide(truth*(1-1e-9), p) == Pass)
			certain := Overloaded(x, truth, p) || FarOver(x, truth, p)
			count(&c.falseFail, certain || decide(truth*(1+1e-9), p) == Fail)
			in.Bounded = true
			count(&c.closedPass, decide(truth*(1-1e-9), p) == Pass)
			count(&c.closedFail, FarOver(x, truth, p) || decide(truth*(1+1e-9), p) == Fail)
			in.Bounded = false
			count(&c.pass, decide(truth*far, p) == Pass)
			count(&c.fail, decide(truth/far, p) == Fail)
			worth := func(k float64) float64 { return k / times[i] }
			count(&c.oraclePass, atLeastShare(worth(float64(n)-over(truth*far)), worth(float64(n)), p) <= 0.01)
			count(&c.oracleFail, atLeastShare(worth(over(truth/far)), worth(float64(n)), 1-p) <= 0.01)
			iv := in.interval(ascending(sorted), p, 0.95)
			inside := iv.Lo <= truth*(1+1e-9) && truth*(1-1e-9) <= iv.Hi
			count(&c.covered, inside)
			count(&c.closed, !math.IsInf(iv.Lo, 0) && !math.IsInf(iv.Hi, 0))
			if in.needed(p) <= n && !math.IsInf(iv.Hi, 1) {
				count(&c.sound, true)
				count(&c.soundCovered, inside)
			}
		}
	}
	return cells
}

func sortSearch(sorted []float64, limit float64) int {
	i, _ := slices.BinarySearchFunc(sorted, limit, func(x, limit float64) int {
		if x <= limit {
			return -1
		}
		return 1
	})
	return i
}

var simulatedPercentiles = []float64{0.5, 0.95, 0.99}

// prepare computes the true times, by a long run.
func (s simulated) prepare(length int, rng *rand.Rand) (long, times []float64) {
	run := s.draw(length, rng)
	if s.above == nil {
		long = slices.Sorted(slices.Values(run))
	}
	for _, p := range simulatedPercentiles {
		times = append(times, max(1, trueTime(run, s.quantile(p, long))))
	}
	return long, times
}

// A sample of the table: no process is passed or failed wrongly more often than stated.
func TestVerdictsOfProcesses(t *testing.T) {
	simulation(t)
	trials, length, sizes := 100, 1_000_000, []int{300, 2000}
	if *simulateAll {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		trials, length, sizes = 600, 10_000_000, []int{100, 300, 1000, 3000, 10_000, 30_000}
	}
	var cells []cell
	var mu sync.Mutex
	var group sync.WaitGroup
	free := make(chan bool, 2)
	for i, s := range simulatedLatencies() {
		group.Go(func() {
			free <- true
			defer func() { <-free }()
			rng := rand.New(rand.NewPCG(31, uint64(i)))
			long, times := s.prepare(length, rng)
			for _, n := range sizes {
				out := s.simulate(n, windowsOf(n, trials), simulatedPercentiles, long, times, rng)
				mu.Lock()
				cells = append(cells, out...)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.SortStableFunc(cells, func(a, b cell) int { return a.n - b.n })
	for _, c := range cells {
		chance := 3 * math.Sqrt(0.015/float64(windowsOf(c.n, trials))) // three standard errors
		most := 0.03
		if c.windows >= 100 {
			most = 0.015
		}
		blind := slices.ContainsFunc(simulatedLatencies(), func(s simulated) bool { return s.name == c.process && s.blind })
		if blind && c.windows >= 100 {
			blind, most = false, 0.03
		}
		wrong := max(c.falsePass, c.falseFail)
		if !c.queue {
			wrong = max(wrong, c.closedPass, c.closedFail)
		}
		if !blind && (wrong > most+chance || c.covered < 0.93-2*chance) {
			t.Errorf("%s, n=%d, p=%v, %.0f autocorrelation times: false PASS %.1f %%, in a closed loop %.1f %%; false FAIL %.1f, %.1f %%; covered %.0f %%",
				c.process, c.n, c.p, c.windows, 100*c.falsePass, 100*c.closedPass, 100*c.falseFail, 100*c.closedFail, 100*c.covered)
		}
	}
	if *simulateAll {
		writeCells(t, cells)
	}
}

// windowsOf is the number of windows: long ones are dear.
func windowsOf(n, trials int) int {
	if n >= 10_000 {
		return trials / 2
	}
	return trials
}

func writeCells(t *testing.T, cells []cell) {
	f, err := os.Create("testdata/verdicts.csv")
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	w.Write([]string{"process", "requests", "percentile", "autocorrelation_times", "false_pass_pct", "false_fail_pct", "closed_false_pass_pct", "closed_false_fail_pct", "covered_or_open_pct", "closed_pct",
		"sound_pct", "sound_covered_pct", "right_pass_pct", "right_fail_pct", "oracle_pass_pct", "oracle_fail_pct"})
	pct := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }
	for _, c := range cells {
		soundCovered := ""
		closed := func(x float64) string {
			if c.queue {
				return ""
			}
			return pct(x)
		}
		if c.sound > 0 {
			soundCovered = pct(c.soundCovered / c.sound)
		}
		w.Write([]string{c.process, strconv.Itoa(c.n), strconv.FormatFloat(c.p, 'g', -1, 64), strconv.FormatFloat(c.windows, 'f', 1, 64),
			pct(c.falsePass), pct(c.falseFail), closed(c.closedPass), closed(c.closedFail), pct(c.covered), pct(c.closed), pct(c.sound), soundCovered, pct(c.pass), pct(c.fail), pct(c.oraclePass), pct(c.oracleFail)})
	}
	w.Flush()
	if err := errors.Join(w.Error(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
