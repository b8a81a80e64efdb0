package twin

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/mock"
)

// served is a row of the simulated server: Poisson arrivals, lognormal lengths, a window behind five seconds.
func served(t testing.TB, c mock.Config, load, window float64, seed uint64) Trial {
	t.Helper()
	const warmup = 5
	e, err := mock.NewEngine(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	length := func(median, spread float64) int { return max(2, int(median*math.Exp(spread*rng.NormFloat64()))) }
	out := Trial{Load: load}
	keep := func(r *mock.Record) {
		q := Request{Arrival: float64(r.ArrivalNS) / 1e9, Prompt: r.PromptTokens, Cached: r.CachedTokens,
			Output: r.OutputTokens, Events: []float64{}}
		q.First, q.Last = float64(r.DueNS[0])/1e9, float64(r.DueNS[len(r.DueNS)-1])/1e9
		for _, at := range r.DueNS[1:] {
			q.Events = append(q.Events, float64(at)/1e9)
		}
		q.Window = q.Arrival >= warmup
		out.Requests = append(out.Requests, q)
	}
	for at, n := rng.ExpFloat64()/load, int32(0); at < warmup+window; at, n = at+rng.ExpFloat64()/load, n+1 {
		for r := e.Next(time.Duration(at * 1e9)); r != nil; r = e.Next(time.Duration(at * 1e9)) {
			keep(r)
		}
		prompt := make([]int32, length(400, 0.5))
		prompt[0], prompt[1] = n%10000+1, n/10000+1
		e.Add(mock.Job{At: time.Duration(at * 1e9), Prompt: prompt, Output: length(80, 0.5)})
	}
	for e.Jobs() > 0 {
		keep(e.Next(math.MaxInt64))
	}
	slices.SortFunc(out.Requests, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return out
}

var batching = mock.Config{
	MaxNumSeqs: 24, StepBase: 9 * time.Millisecond, StepPerSeq: 250 * time.Microsecond,
	StepPerPrefillToken: 25 * time.Microsecond, Queue: 1 << 30,
}

// The parameters of a server that has them are found from what its client saw, and it is then the twin of itself.
func TestFitRecovers(t *testing.T) {
	trials := []Trial{served(t, batching, 4, 30, 1), served(t, batching, 9, 30, 2), served(t, batching, 16, 20, 3)}
	m, err := Fit(trials, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name      string
		got, want float64
	}{{"base", m.Base, 0.009}, {"sequence", m.PerSequence, 250e-6}, {"prefill", m.PerPrefillToken, 25e-6},
		{"sequences", float64(m.MaxSequences), 24}} {
		if math.Abs(x.got/x.want-1) > 0.05 {
			t.Errorf("%s: %v, the server has %v", x.name, x.got, x.want)
		}
	}
	for _, l := range []Limit{{"ttft", 0.95, 1}, {"tpot", 0.5, 1}, {"e2e", 0, 1}} {
		for _, r := range m.Residuals(trials, l)[0] {
			if math.Abs(r.Log) > 0.05 {
				t.Errorf("%s at %v: %+v", l.Metric, r.Load, r)
			}
		}
	}
}

// Responses that a busy machine held back come at once: a few of them do not hide what the others say.
func TestFitOfHeldResponses(t *testing.T) {
	trial := served(t, batching, 9, 60, 1)
	for i := range trial.Requests {
		if r := &trial.Requests[i]; i%25 == 0 {
			r.First = r.Last - 1e-4
			for k := range r.Events {
				r.Events[k] = r.Last
			}
		}
	}
	m, err := Fit([]Trial{trial}, 24)
	if err != nil {
		t.Fatal(err)
	}
	step, prefill := m.StepTime(6, 0, 0)/batching.StepBase.Seconds(), m.PerPrefillToken/25e-6
	if math.Abs(step/(10.5/9)-1) > 0.05 || math.Abs(prefill-1) > 0.25 {
		t.Errorf("%+v", m)
	}
}

// With one sequence at most no prompt is computed beside decoding: the first tokens tell what a prompt token takes.
func TestFitOfOneSequence(t *testing.T) {
	one := batching
	one.MaxNumSeqs, one.StepPerPrefillToken = 1, 250*time.Microsecond
	trial := served(t, one, 0.4, 600, 1)
	m, err := Fit([]Trial{trial}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(m.PerPrefillToken/250e-6-1) > 0.02 || m.FrontEnd > 0.005 {
		t.Errorf("%+v", m)
	}
	for i := range trial.Requests { // equal prompts do not tell it from the front end
		trial.Requests[i].Prompt = 400
	}
	if m, err = Fit([]Trial{trial}, 1); err != nil || m.PerPrefillToken != 0 {
		t.Errorf("of equal prompts %+v: %v", m, err)
	}
}

// A server with one more rule than the twin: from a load on it takes twice the time. The residual there rejects the
// twin.
func TestFitRejects(t *testing.T) {
	slow := batching
	slow.StepBase, slow.StepPerSeq, slow.StepPerPrefillToken = 2*slow.StepBase, 2*slow.StepPerSeq, 2*slow.StepPerPrefillToken
	trials := []Trial{served(t, batching, 3, 30, 1), served(t, batching, 5, 30, 2), served(t, slow, 7, 30, 3)}
	m, err := Fit(trials, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := Limit{"tpot", 0.95, 0.025}
	a := m.Operating(trials, Question{Limits: []Limit{l}, Min: 1, Max: 40, Source: unitSource, Requests: 5000})
	if !strings.Contains(a.Rejected, "residual") {
		t.Errorf("%+v of %+v: %+v", a, m, m.Residuals(trials, l))
	}
}

func TestFitNeedsAnswers(t *testing.T) {
	few := served(t, batching, 2, 5, 1)
	few.Requests = few.Requests[:5]
	if _, err := Fit([]Trial{few}, 0); err == nil || !strings.HasPrefix(err.Error(), "too few") {
		t.Error(err)
	}
}

// unitSource has the lengths of served.
func unitSource(load float64, n int) []Request {
	rng := rand.New(rand.NewPCG(9, 9))
	out := make([]Request, n)
	at := 0.0
	for i := range out {
		at += rng.ExpFloat64() / load
		length := func(median, spread float64) int { return max(2, int(median*math.Exp(spread*rng.NormFloat64()))) }
		out[i] = Request{Arrival: at, Prompt: length(400, 0.5), Output: length(80, 0.5), Window: i > 200}
	}
	return out
}

// One request at a time, each as long: the wait is that of an M/D/1 queue, whose distribution Erlang gave (1909).
func TestOperatingOfMD1(t *testing.T) {
	const service, limit, p = 0.1, 0.5, 0.95
	m := Model{Base: service, MaxSequences: 1}
	source := func(load float64, n int) []Request {
		rng := rand.New(rand.NewPCG(4, 4))
		out := make([]Request, n)
		at := 0.0
		for i := range out {
			at += rng.ExpFloat64() / load
			out[i] = Request{Arrival: at, Prompt: 1, Output: 1, Window: i > 500}
		}
		return out
	}
	var trials []Trial
	for _, load := range []float64{5, 7, 8} {
		trials = append(trials, Trial{Load: load, Requests: m.Run(source(load, 3000), 0)})
	}
	got := m.Operating(trials, Question{Limits: []Limit{{"ttft", p, limit}}, Min: 1, Max: 20, Source: source,
		Requests: Fine})
	low, high := 1.0, 10.0
	for high-low > 1e-3 {
		if middle := (low + high) / 2; waitOfMD1(middle, service, limit-service) < p {
			high = middle
		} else {
			low = middle
		}
	}
	if got.Rejected != "" || math.Abs(got.Best/low-1) > 0.02 || got.Low > low || got.High < low {
		t.Errorf("%+v, Erlang has %.3f/s", got, low)
	}
}

// waitOfMD1 is P(wait ≤ t) at a rate.
func waitOfMD1(rate, service, t float64) (sum float64) {
	term := func(k int, x float64) float64 {
		log := x
		for i := 1; i <= k; i++ {
			log += math.Log(x / float64(i))
		}
		return math.Exp(log) * map[bool]float64{true: 1, false: -1}[k%2 == 0]
	}
	for k := 0; float64(k)*service <= t; k++ {
		x := rate * (t - float64(k)*service)
		if k == 0 {
			sum += math.Exp(x)
			continue
		}
		if x > 0 {
			sum += term(k, x)
		}
	}
	return (1 - rate*service) * sum
}

func TestCorrection(t *testing.T) {
	same := newCorrection([]Residual{{Load: 5, Log: 0.1, Error: 0.01}, {Load: 10, Log: 0.1, Error: 0.01}})
	mean, err := same.near(math.Log(7))
	if math.Abs(mean-0.1) > 0.01 || err > 0.03 {
		t.Errorf("between equal residuals: %v ± %v", mean, err)
	}
	rising := newCorrection([]Residual{{Load: 5, Log: 0, Error: 0.01}, {Load: 10, Log: 0.3, Error: 0.01}})
	if _, far := rising.near(math.Log(40)); far < 0.1 {
		t.Errorf("far from residuals that differ: ± %v", far)
	}
}

// A p95 of 45 requests has the luck of one of them: such rows reject a twin together, on each side of the operating
// point, one of many requests by itself.
func TestRejectedBySmallRows(t *testing.T) {
	row := func(load float64, n int, log float64) Residual {
		return Residual{Load: load, N: n, Measured: math.Exp(log), Twin: 1, Log: log, Error: 0.05}
	}
	for _, tt := range []struct {
		p    float64
		rows []Residual
		want string
	}{
		{0.95, []Residual{row(4, 45, 0.6), row(4.1, 45, -0.4), row(4.2, 45, -0.3), row(4.3, 45, 0.1)}, ""},
		{0.95, []Residual{row(4, 45, 0.6), row(4, 45, 0.6), row(4, 45, 0.6), row(4, 45, 0.6)},
			"TTFT residual +82 % near load 4"},
		{0.95, []Residual{row(4, 45, 0.6)}, ""},
		{0.95, []Residual{row(4, 45, 1.1)}, "TTFT residual +200 % at load 4"},
		{0.95, []Residual{row(4, 72, 0.6), row(4, 45, -0.6)}, "TTFT residual +82 % at load 4"},
		{0.95, []Residual{row(4, 39, 0.6)}, ""},
		// a slope is not averaged away, nor is a row by its neighbour
		{0.95, []Residual{row(3.5, 45, -0.6), row(3.6, 45, -0.6), row(4.4, 45, 0.6), row(4.5, 45, 0.6)},
			"TTFT residual -45 % near load 3.55"},
		{0.99, []Residual{row(4, 300, -0.6), row(4, 300, -0.5), row(5, 300, 0.5)}, "TTFT residual -45 % at load 4"},
		{0.999, []Residual{row(4, 3600, -0.9), row(5, 3600, 0.9)}, "TTFT residual -59 % at load 4"},
		{0.99, []Residual{row(4, 300, 0.9), row(4, 300, 0.2)}, "TTFT residual +146 % at load 4"},
	} {
		limits := []Limit{{Metric: "ttft", P: tt.p, Value: 1}}
		if got := rejected([][]Residual{tt.rows}, limits, 4.1, false); got != tt.want {
			t.Errorf("p%v %+v: %q, want %q", 100*tt.p, tt.rows, got, tt.want)
		}
	}
}

// A server that reports fewer sequences than run at once is one of several.
func TestSlotsOfOneOfSeveral(t *testing.T) {
	trials := []Trial{{Load: 1}}
	for i := range 40 {
		at := 0.1 * float64(i)
		trials[0].Requests = append(trials[0].Requests,
			Request{Arrival: at, First: at + 0.05, Last: at + 1.05, Prompt: 10, Output: 20})
	}
	m := Model{Base: 0.05}
	if got := m.limits(trials, 4).MaxSequences; got == 4 {
		t.Error("ten requests run at once, and the model has the four that the server reports")
	}
	if got := m.limits(trials, 16).MaxSequences; got != 16 {
		t.Errorf("16 are reported: %d", got)
	}
}

// uneven is the trial of a server whose speed changes by a twentieth every half second, in which all requests share.
func uneven(t Trial, rng *rand.Rand) Trial {
	const block, share = 0.5, 0.05
	last := t.Requests[len(t.Requests)-1].Last + 60
	at := []float64{0}
	for sum := 0.0; float64(len(at)) < last/block+2; {
		sum += block * math.Exp(share*rng.NormFloat64())
		at = append(at, sum)
	}
	warp := func(x *float64) {
		i := int(*x / block)
		*x = at[i] + (*x/block-float64(i))*(at[i+1]-at[i])
	}
	for i := range t.Requests {
		r := &t.Requests[i]
		warp(&r.Arrival)
		warp(&r.First)
		warp(&r.Last)
		for k := range r.Events {
			warp(&r.Events[k])
		}
	}
	return t
}

// The standard errors are those of servers with arrivals and an unevenness of their own: the median distance of fitted
// from true times is about two thirds of one.
func TestErrors(t *testing.T) {
	const runs, frontEnd = 10, 0.008
	var z [2][]float64 // of step times, of the front end
	within := [2]int{}
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 4))
		trials := []Trial{uneven(served(t, batching, 5, 30, 10+seed), rng),
			uneven(served(t, batching, 14, 30, 50+seed), rng)}
		for i := range trials {
			for k := range trials[i].Requests {
				trials[i].Requests[k].Arrival -= frontEnd
			}
		}
		m, err := Fit(trials, 24)
		if err != nil {
			t.Fatal(err)
		}
		e := m.Errors
		for i, x := range [][3]float64{{m.Base, 0.009, e.Base}, {m.PerSequence, 250e-6, e.PerSequence},
			{m.PerPrefillToken, 25e-6, e.PerPrefillToken}, {m.FrontEnd, frontEnd, e.FrontEnd}} {
			if x[2] <= 0 || x[2] > x[1] {
				t.Errorf("seed %d: %v of %v has the error %v", seed, x[0], x[1], x[2])
			}
			d := math.Abs(x[0]-x[1]) / x[2]
			if z[i/3] = append(z[i/3], d); d <= 2 {
				within[i/3]++
			}
		}
	}
	for i, z := range z {
		slices.Sort(z)
		t.Logf("%d of %d within two errors; median distance %.2f, p90 %.2f", within[i], len(z), z[len(z)/2], z[len(z)*9/10])
		if middle := z[len(z)/2]; middle < 0.2 || middle > 1.2 || within[i] < len(z)*7/10 {
			t.Errorf("the median distance is %.2f standard errors; %d of %d are within two", middle, within[i], len(z))
		}
	}
}
