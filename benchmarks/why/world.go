package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bench/experiment/mock"
)

// world is a server and what it is sent.
type world struct {
	server   mock.Config
	rates    []float64 // requests/s, a row each, the highest first
	input    length
	output   length
	prefix   int     // tokens that all prompts begin with
	shape    float64 // of the gamma distribution of the gaps; 1 = Poisson
	requests float64 // of the first row's window, before anything is planted
	seconds  float64 // of each window

	frontEnd time.Duration // before the queue, ± 20 %
	lag      time.Duration // of the client: mean of an exponential distribution
	quota    float64       // share of each period in which the server runs; 1 = all of it
}

// period is of a CPU quota, as cgroups have it.
const period = 100 * time.Millisecond

// length is a lognormal distribution in tokens.
type length struct {
	median, sigma float64
	least         int
}

func (l length) mean() float64 { return l.median * math.Exp(l.sigma*l.sigma/2) }

func (l length) String() string {
	const p95 = 1.645
	return fmt.Sprintf(`{ dist = "lognormal", p50 = %.0f, p95 = %.0f, min = %d, max = %.0f }`, l.median,
		l.median*math.Exp(p95*l.sigma), max(2, l.least), 8*l.median)
}

// draw draws a server at 40 to 85 % of its capacity. A server whose prefix cache will be off has a prefix, and one
// whose rate will be raised has one rate.
func draw(rng *rand.Rand, prefixed, raised bool) *world {
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	duration := func(low, high time.Duration) time.Duration {
		return time.Duration(between(float64(low), float64(high)))
	}
	w := &world{shape: 1, quota: 1}
	w.server = mock.Config{
		Model: "m", MaxNumSeqs: 16 << rng.IntN(3), MaxNumBatchedTokens: 2048 << rng.IntN(3), Seed: rng.Uint64(),
		StepBase: duration(4*time.Millisecond, 20*time.Millisecond), StepPerSeq: duration(100*time.Microsecond,
			time.Millisecond),
		StepPerPrefillToken: duration(5*time.Microsecond, 60*time.Microsecond),
	}
	w.input = length{median: between(150, 1500), sigma: between(0.2, 0.7)}
	w.output = length{median: between(30, 150), sigma: between(0.2, 0.6)}
	if rng.IntN(2) == 0 {
		w.server.StepPerContextToken = duration(20, 200) // ns
	}
	if prefixed || rng.IntN(3) == 0 {
		const block = 16
		w.prefix = block * int(w.input.median*between(0.3, 0.6)/block)
		w.input.least = w.prefix + block
	}
	w.requests = between(300, 1000)
	rate := between(0.4, 0.85) * w.capacity()
	w.rates = []float64{rate}
	if !raised && rng.IntN(2) == 0 { // rows are matched by their rates
		w.rates = append(w.rates, rate*between(0.4, 0.8))
	}
	w.seconds = w.requests / rate
	return w
}

// work is the time of a request beside the steps' bases, and of its steps, in seconds.
func (w *world) work() (own, bases float64) {
	prompt, steps := w.input.mean(), w.output.mean()
	if w.prefix > 0 && !w.server.NoPrefixCaching {
		prompt -= float64(w.prefix)
	}
	own = prompt*w.server.StepPerPrefillToken.Seconds() + steps*(w.server.StepPerSeq.Seconds()+
		w.server.StepPerContextToken.Seconds()*(w.input.mean()+steps/2))
	return own / w.quota, steps * w.server.StepBase.Seconds() / w.quota
}

// capacity is in requests/s, with a full batch.
func (w *world) capacity() float64 {
	own, bases := w.work()
	return 1 / (own + bases/float64(w.server.MaxNumSeqs))
}

// batch is the mean number of sequences at the highest rate, and step the time of a step with them.
func (w *world) batch() (batch, step float64) {
	own, bases := w.work()
	batch = max(1, w.rates[0]*bases/max(0.02, 1-w.rates[0]*own))
	return batch, batch / (w.rates[0] * w.output.mean())
}

// bearable reports whether the queue stays short.
func (w *world) bearable() bool { return w.rates[0] < 0.93*w.capacity() }

// matrix is what a user would write.
func (w *world) matrix(seed uint64) string {
	rate := fmt.Sprintf("%.4f", w.rates[0])
	if len(w.rates) > 1 { // a list is in the rows' names
		rate = fmt.Sprintf("[%.4f, %.4f]", w.rates[0], w.rates[1])
	}
	text := fmt.Sprintf("name = \"m\"\nseed = %d\n[target]\nendpoint = \"mock\"\n[[row]]\n"+
		"name = \"r\"\ninput = %s\noutput = %s\nrate = %s\nwarmup = \"%.0fs\"\nduration = \"%.0fs\"\n", seed%1e6,
		w.input, w.output, rate, 5+w.seconds/20, w.seconds)
	if w.prefix > 0 {
		text += fmt.Sprintf("prefix = { tokens = %d }\n", w.prefix)
	}
	if w.shape != 1 {
		return text + fmt.Sprintf("arrival = \"gamma\"\nburstiness = %.3f\n", w.shape)
	}
	return text + "arrival = \"poisson\"\n"
}
