// Twin asks the twin for the operating point of simulated servers of many kinds, each with a known one, in virtual time.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"bench/experiment/mock"
	"bench/experiment/twin"
)

type world struct {
	name           string
	cfg            mock.Config
	inP50, inP95   float64
	outP50, outP95 float64
	outMax         int
	bimodal        float64 // share of requests with ten times the prompt
	prefix         int     // tokens of a shared prefix; groups of them
	groups         int
	replicas       int
	stall          float64 // s of a stall of the host every 20 s or so
	closed         bool
	limits         []twin.Limit
	min, max       float64
	truth          float64
}

const ms = time.Millisecond
const us = time.Microsecond

func ttft(s float64) twin.Limit { return twin.Limit{Metric: "ttft", P: 0.95, Value: s} }
func tpot(s float64) twin.Limit { return twin.Limit{Metric: "tpot", P: 0.95, Value: s} }
func e2e(s float64) twin.Limit  { return twin.Limit{Metric: "e2e", P: 0.95, Value: s} }

var worlds = []*world{
	{name: "queueing", cfg: mock.Config{MaxNumSeqs: 16, StepBase: 20 * ms, StepPerSeq: 500 * us}, inP50: 64, outP50: 32, limits: []twin.Limit{ttft(.5)}, max: 64},
	{name: "chat2", cfg: mock.Config{MaxNumSeqs: 64, StepBase: 8 * ms, StepPerSeq: 150 * us, StepPerContextToken: 40, StepPerPrefillToken: 18 * us, MaxNumBatchedTokens: 2048},
		inP50: 800, inP95: 2400, outP50: 150, outP95: 500, outMax: 1500, limits: []twin.Limit{ttft(.6), tpot(.022)}, max: 64},
	{name: "tpot2", cfg: mock.Config{MaxNumSeqs: 256, StepBase: 10 * ms, StepPerSeq: 120 * us, StepPerContextToken: 20, StepPerPrefillToken: 15 * us, MaxNumBatchedTokens: 8192},
		inP50: 500, inP95: 1500, outP50: 120, outP95: 400, outMax: 1200, limits: []twin.Limit{ttft(1), tpot(.020)}, max: 64},
	{name: "lenq", cfg: mock.Config{MaxNumSeqs: 32, StepBase: 10 * ms, StepPerSeq: 300 * us, StepPerContextToken: 100, StepPerPrefillToken: 15 * us},
		inP50: 512, outP50: 100, outP95: 600, outMax: 4000, limits: []twin.Limit{ttft(1)}, max: 64},
	{name: "cliff", cfg: mock.Config{MaxNumSeqs: 128, MaxModelLen: 4096, KVBlocks: 1600, StepBase: 6 * ms, StepPerSeq: 100 * us, StepPerPrefillToken: 10 * us},
		inP50: 512, outP50: 128, limits: []twin.Limit{tpot(.015)}, max: 128},
	{name: "spec", cfg: mock.Config{MaxNumSeqs: 24, StepBase: 12 * ms, StepPerSeq: 400 * us, StepPerPrefillToken: 20 * us, StepPerContextToken: 50, Speculation: mock.Speculation{Tokens: 3, Acceptance: .6}},
		inP50: 300, inP95: 900, outP50: 80, outP95: 250, outMax: 800, limits: []twin.Limit{ttft(.4), e2e(4)}, max: 64},
	{name: "chunked", cfg: mock.Config{MaxNumSeqs: 48, StepBase: 9 * ms, StepPerSeq: 200 * us, StepPerPrefillToken: 40 * us, StepPerContextToken: 30, MaxNumBatchedTokens: 512},
		inP50: 1500, inP95: 5000, outP50: 100, outP95: 300, outMax: 900, limits: []twin.Limit{ttft(1.5), tpot(.03)}, max: 64},
	{name: "prefix", cfg: mock.Config{MaxNumSeqs: 48, MaxModelLen: 4096, StepBase: 9 * ms, StepPerSeq: 200 * us, StepPerPrefillToken: 40 * us, StepPerContextToken: 20, KVBlocks: 3000},
		inP50: 1200, outP50: 100, prefix: 900, groups: 40, limits: []twin.Limit{ttft(.8)}, max: 64},
	{name: "replicas", cfg: mock.Config{MaxNumSeqs: 16, StepBase: 15 * ms, StepPerSeq: 400 * us, StepPerPrefillToken: 20 * us}, replicas: 2,
		inP50: 300, inP95: 900, outP50: 60, outP95: 180, outMax: 600, limits: []twin.Limit{ttft(.6)}, max: 128},
	{name: "drift", cfg: mock.Config{MaxNumSeqs: 32, StepBase: 12 * ms, StepPerSeq: 300 * us, StepPerPrefillToken: 20 * us, Drift: "60%/h"},
		inP50: 300, inP95: 900, outP50: 60, outP95: 180, outMax: 600, limits: []twin.Limit{ttft(.6), tpot(.03)}, max: 128},
	{name: "stalls", cfg: mock.Config{MaxNumSeqs: 32, StepBase: 12 * ms, StepPerSeq: 300 * us, StepPerPrefillToken: 20 * us}, stall: .1,
		inP50: 300, inP95: 900, outP50: 60, outP95: 180, outMax: 600, limits: []twin.Limit{ttft(.6)}, max: 128},
	{name: "bimodal", cfg: mock.Config{MaxNumSeqs: 64, StepBase: 10 * ms, StepPerSeq: 200 * us, StepPerPrefillToken: 30 * us, StepPerContextToken: 20, MaxNumBatchedTokens: 2048}, bimodal: .1,
		inP50: 400, outP50: 120, outP95: 300, outMax: 1000, limits: []twin.Limit{ttft(.5), tpot(.03)}, max: 64},
	{name: "full", cfg: mock.Config{MaxNumSeqs: 256, StepBase: 20 * ms, StepPerSeq: 50 * us, StepPerPrefillToken: 8 * us},
		inP50: 128, outP50: 200, limits: []twin.Limit{ttft(.2)}, max: 256},
	{name: "closed", closed: true, cfg: mock.Config{MaxNumSeqs: 48, StepBase: 9 * ms, StepPerSeq: 250 * us, StepPerPrefillToken: 25 * us, StepPerContextToken: 30},
		inP50: 500, inP95: 1500, outP50: 100, outP95: 300, outMax: 900, limits: []twin.Limit{ttft(.4), tpot(.02)}, max: 128},
	{name: "closed cap", closed: true, cfg: mock.Config{MaxNumSeqs: 16, StepBase: 9 * ms, StepPerSeq: 250 * us, StepPerPrefillToken: 25 * us},
		inP50: 500, inP95: 1500, outP50: 100, outP95: 300, outMax: 900, limits: []twin.Limit{ttft(1)}, max: 128},
}

func length(rng *rand.Rand, p50, p95 float64, most int) int {
	x := rng.NormFloat64()
	if p95 == 0 {
		return int(p50)
	}
	if most == 0 {
		most = 1 << 13
	}
	return min(most, max(2, int(math.Round(p50*math.Exp(math.Log(p95/p50)/1.6448536*x)))))
}

// draw is the i-th request of a seed: the same at every load.
func (w *world) draw(seed uint64, i int) (in, out, group int, gap float64) {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	in, out = length(rng, w.inP50, w.inP95, 0), length(rng, w.outP50, w.outP95, w.outMax)
	gap = rng.ExpFloat64()
	if rng.Float64() < w.bimodal {
		in *= 10
	}
	if w.groups > 0 {
		group = rng.IntN(w.groups)
	}
	return in, out, group, gap
}

// serve runs a server from empty: warm-up and window in seconds.
func (w *world) serve(load, warm, window float64, seed uint64) []twin.Request {
	out, _ := w.serveCounting(load, warm, window, seed)
	return out
}

// serveCounting counts the preemptions, too, as an engine's own counter does.
func (w *world) serveCounting(load, warm, window float64, seed uint64) (out []twin.Request, preemptions int) {
	type sent struct {
		at         float64
		in, out, g int
	}
	var plan []sent
	t, i := 0.0, 0
	next := func() sent {
		in, out, g, gap := w.draw(seed, i)
		i++
		t += gap / load
		return sent{t, in, out, g}
	}
	prompt := func(k int, s sent) []int32 {
		p := make([]int32, s.in)
		if w.prefix > 0 {
			for j := range min(w.prefix, s.in) {
				p[j] = int32(s.g*1000+j) + 5
			}
			if s.in > w.prefix {
				p[w.prefix] = int32(k + 100000)
			}
			return p
		}
		p[0], p[1] = int32(k%10000+1), int32(k/10000+1)
		return p
	}
	cfg := w.cfg
	cfg.Queue = 1 << 30
	replicas := max(1, w.replicas)
	for rep := range replicas {
		e, err := mock.NewEngine(cfg)
		if err != nil {
			panic(err)
		}
		add := func(r *mock.Record) {
			preemptions += r.Preemptions
			last := float64(r.DueNS[len(r.DueNS)-1]) / 1e9
			events := []float64{}
			for k := 1; k < len(r.DueNS); k++ {
				if r.DueNS[k] != r.DueNS[k-1] {
					events = append(events, float64(r.DueNS[k])/1e9)
				}
			}
			out = append(out, twin.Request{Arrival: float64(r.ArrivalNS) / 1e9, First: float64(r.DueNS[0]) / 1e9, Last: last,
				Prompt: r.PromptTokens, Cached: r.CachedTokens, Output: r.OutputTokens, Events: events, Window: float64(r.ArrivalNS)/1e9 >= warm})
		}
		const forever = time.Duration(math.MaxInt64)
		if w.closed {
			for range int(load) {
				s := next()
				e.Add(mock.Job{Prompt: prompt(i, s), Output: s.out})
			}
			for e.Jobs() > 0 {
				r := e.Next(forever)
				add(r)
				if end := time.Duration(r.DueNS[len(r.DueNS)-1]); end.Seconds() < warm+window {
					s := next()
					e.Add(mock.Job{At: end, Prompt: prompt(i, s), Output: s.out})
				}
			}
			break
		}
		if rep == 0 {
			for s := next(); s.at < warm+window; s = next() {
				plan = append(plan, s)
			}
		}
		var mine []mock.Job
		for k, s := range plan {
			if k%replicas == rep {
				mine = append(mine, mock.Job{At: time.Duration(s.at * 1e9), Prompt: prompt(k, s), Output: s.out})
			}
		}
		for len(mine) > 0 || e.Jobs() > 0 {
			until := forever
			if len(mine) > 0 {
				until = mine[0].At
			}
			if r := e.Next(until); r != nil {
				add(r)
				continue
			}
			for len(mine) > 0 && mine[0].At <= until {
				e.Add(mine[0])
				mine = mine[1:]
			}
		}
	}
	slices.SortStableFunc(out, func(a, b twin.Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	if w.stall > 0 { // the host stops the server: later by the stall, within a second it has caught up
		rng := rand.New(rand.NewPCG(seed, 77))
		for at := rng.ExpFloat64() * 10; at < warm+window; at += rng.ExpFloat64() * 10 {
			for k := range out {
				if r := &out[k]; r.First > at && r.First < at+w.stall {
					r.First += w.stall
					r.Last += w.stall
				} else if r.First < at && r.Last > at {
					r.Last += w.stall
				}
			}
		}
	}
	return out, preemptions
}

func (w *world) quantile(rs []twin.Request, l twin.Limit) float64 {
	var v []float64
	for _, r := range rs {
		if !r.Window {
			continue
		}
		switch l.Metric {
		case "ttft":
			v = append(v, r.First-r.Arrival)
		case "e2e":
			v = append(v, r.Last-r.Arrival)
		default:
			if r.Output > 1 {
				v = append(v, (r.Last-r.First)/float64(r.Output-1))
			}
		}
	}
	slices.Sort(v)
	return v[int(math.Ceil(l.P*float64(len(v))))-1]
}

func (w *world) findTruth(requests float64) float64 {
	if w.cfg.Drift != "" { // the truth is of a server as on average in a search of 300 s
		own := *w
		own.cfg.Drift = "2.5%@0s"
		w = &own
	}
	low, high := 0.5, w.max
	if w.closed {
		low = 1
	}
	for high/low > 1.004 {
		x := math.Sqrt(low * high)
		if w.closed {
			if high-low <= 1 {
				break
			}
			x = math.Floor((low + high) / 2)
		}
		over := false
		window := requests / x
		if w.closed {
			window = 2000
		}
		rs := w.serve(x, 60, window, 999)
		for _, l := range w.limits {
			over = over || w.quantile(rs, l) > l.Value
		}
		if over {
			high = x
		} else {
			low = x
		}
	}
	if w.closed {
		return low
	}
	return math.Sqrt(low * high)
}

type result struct {
	op    twin.Operating
	model twin.Model
	cpu   time.Duration
}

func (w *world) once(seed uint64, budget float64) result {
	rng := rand.New(rand.NewPCG(seed, 5))
	uniform := func(a, b float64) float64 { return a + (b-a)*rng.Float64() }
	var trials []twin.Trial
	full := math.Inf(1)
	fractions := []float64{uniform(.3, .6), uniform(.6, .85), uniform(.8, .97), uniform(.9, 1.05), uniform(1.05, 1.5)}
	for k, f := range fractions {
		load := f * w.truth
		if w.closed {
			load = max(1, math.Round(load))
		}
		warm, window := 5.0, budget/5-12
		if f > 1.05 {
			window /= 2
		}
		server := *w
		if w.cfg.Drift != "" { // which the trials share: the k-th has its middle
			server.cfg.Drift = fmt.Sprintf("%v%%@0s", float64(k)+0.5)
		}
		requests, preemptions := server.serveCounting(load, warm, window, seed*1000+uint64(k)+7)
		// As experiment/series leaves such rows out, and knows no load near them; theirs are of the window alone.
		if float64(preemptions) >= max(3, 0.02*float64(len(requests))) {
			full = min(full, load)
			continue
		}
		t := twin.Trial{Load: load, Requests: requests}
		if w.closed {
			t.Workers = int(load)
		}
		trials = append(trials, t)
	}
	if len(trials) == 0 {
		return result{op: twin.Operating{Outside: "requests are preempted"}}
	}
	begun := time.Now()
	m, err := twin.Fit(trials, 0)
	if err != nil {
		panic(err)
	}
	source := w.source(trials)
	op := m.Operating(trials, twin.Question{Limits: w.limits, Min: fractions[0] * w.truth / 2, Max: 4 * w.truth, Whole: w.closed, Source: source, Requests: twin.Fine})
	if op.Best > 0.9*full {
		op.Outside = "requests are preempted"
	}
	return result{op, m, time.Since(begun)}
}

func (w *world) source(trials []twin.Trial) twin.Source {
	hit, all := 0.0, 0.0
	for _, t := range trials {
		for _, r := range t.Requests {
			hit, all = hit+float64(r.Cached), all+float64(r.Prompt)
		}
	}
	perToken := 0.0
	tokens := 0.0
	for _, t := range trials {
		for _, r := range t.Requests {
			if r.Output > 1 {
				perToken += float64(len(r.Events))
				tokens += float64(r.Output - 1)
			}
		}
	}
	type one struct {
		in, out int
		at      float64
	}
	var plan []one
	t := 0.0
	for i := range twin.Fine {
		in, out, _, gap := w.draw(12345, i)
		t += gap
		plan = append(plan, one{in, out, t})
	}
	return func(load float64, n int) []twin.Request {
		out := make([]twin.Request, n)
		for i, p := range plan[:n] {
			out[i] = twin.Request{Arrival: p.at / load, Prompt: p.in, Cached: int(hit / all * float64(p.in)), Output: p.out, Steps: int(math.Round(perToken / tokens * float64(p.out-1))), Window: i > 800}
			if w.closed {
				out[i].Arrival = 0
			}
		}
		return out
	}
}

func main() {
	names := flag.String("worlds", "", "comma-separated; empty: all")
	seeds := flag.Int("seeds", 20, "")
	budget := flag.Float64("budget", 300, "s")
	truths := flag.String("truths", "truths.json", "`FILE` of true operating points")
	show := flag.Bool("v", false, "")
	run, fit := flag.String("run", "", "a run of a real engine"), flag.String("fit", "", "its loads to fit, by commas")
	seqs := flag.Int("seqs", 0, "sequences that it runs at most")
	flag.Parse()
	if *run != "" {
		if err := real(*run, *fit, *seqs); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	known := map[string]float64{}
	if b, err := os.ReadFile(*truths); err == nil {
		json.Unmarshal(b, &known)
	}
	fmt.Println("world        truth   held  accept  width50 width90  err50  err90   bias  z95   cpu")
	for _, w := range worlds {
		if *names != "" && !slices.Contains(strings.Split(*names, ","), w.name) {
			continue
		}
		if known[w.name] == 0 {
			known[w.name] = w.findTruth(300000)
			b, _ := json.Marshal(known)
			os.WriteFile(*truths, b, 0o644)
		}
		w.truth = known[w.name]
		rs := make([]result, *seeds)
		var wg sync.WaitGroup
		gate := make(chan bool, 2)
		for s := range *seeds {
			wg.Add(1)
			gate <- true
			go func() {
				defer wg.Done()
				defer func() { <-gate }()
				rs[s] = w.once(uint64(s), *budget)
			}()
		}
		wg.Wait()
		held, accepted, cpu := 0, 0, time.Duration(0)
		var widths, errs, bias, z []float64
		for s, r := range rs {
			cpu += r.cpu
			if *show {
				fmt.Printf("   %d %+v %+v\n", s, r.op, r.model)
			}
			if r.op.Rejected != "" || r.op.Outside != "" { // no estimate
				continue
			}
			accepted++
			low, high := r.op.Low, r.op.High
			if w.closed {
				low, high = math.Floor(low), math.Ceil(high)
			}
			if low <= w.truth && w.truth <= high {
				held++
			}
			d := math.Log(r.op.Best / w.truth)
			widths, errs, bias = append(widths, high/low-1), append(errs, math.Abs(math.Expm1(d))), append(bias, math.Expm1(d))
			half := math.Log(r.op.High / r.op.Best)
			if d > 0 {
				half = math.Log(r.op.Best / r.op.Low)
			}
			z = append(z, math.Abs(d)/half)
		}
		q := func(v []float64, p float64) float64 {
			if len(v) == 0 {
				return math.NaN()
			}
			slices.Sort(v)
			return v[min(len(v)-1, int(p*float64(len(v))))]
		}
		fmt.Printf("%-11s %6.2f  %2d/%2d  %2d/%2d  %6.1f %6.1f   %5.1f  %5.1f  %+5.1f  %4.2f  %s\n", w.name, w.truth, held, accepted, accepted, len(rs),
			100*q(widths, .5), 100*q(widths, .9), 100*q(errs, .5), 100*q(errs, .9), 100*q(bias, .5), q(z, .95), (cpu / time.Duration(len(rs))).Round(ms))
	}
}
