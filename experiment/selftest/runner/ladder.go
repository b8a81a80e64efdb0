package runner

import (
	"fmt"
	"time"

	"bench/experiment/selftest"
	"bench/experiment/workload"
)

// Ladder says which steps are made.
type Ladder struct {
	Streams   []int         // each a burst and, from spreadFrom on, a spread one
	Rates     []float64     // requests per second
	Tokens    int           // of an answer of a burst or spread step
	TTFT, ITL time.Duration // of the server: when its tokens are due
	Window    time.Duration // of each step, about
}

// DefaultLadder takes about a minute; QuickLadder a quarter of it, and says less.
func DefaultLadder() Ladder {
	return Ladder{Streams: []int{1, 10, 100, 500, 1000, 2000}, Rates: []float64{100, 1000, 5000}, Tokens: 100,
		TTFT: 50 * time.Millisecond, ITL: 10 * time.Millisecond, Window: 2 * time.Second}
}

// QuickLadder is the short ladder.
func QuickLadder() Ladder {
	l := DefaultLadder()
	l.Streams, l.Rates, l.Tokens, l.Window = []int{10, 100, 1000}, []float64{1000}, 50, time.Second
	return l
}

// spreadFrom is the smallest number of streams for which it matters whether they are in step.
const spreadFrom = 100

// shortTokens are those of an answer of a rate step: a first one and a gap.
const shortTokens = 2

// What the server remembers must hold the step's truth.
const (
	mostRequests = 15_000
	mostEvents   = 3_500_000
)

// Check reports what is wrong or impossible.
func (l Ladder) Check(bad func(flag, problem, hint string)) {
	if len(l.Streams)+len(l.Rates) == 0 {
		bad("streams", "no steps", "give some, e.g. --streams 1,100,1000")
	}
	for _, n := range l.Streams {
		if n < 1 || n > mostRequests {
			bad("streams", fmt.Sprintf("%d is not between 1 and %d", n, mostRequests), "--streams 1,100,1000")
		}
	}
	for _, r := range l.Rates {
		if !(r >= 1 && r <= 1e5) {
			bad("rates", fmt.Sprintf("%g is not between 1 and 100000 requests/s", r), "--rates 100,1000")
		}
	}
	if l.Tokens < 1 || l.Tokens > 10_000 {
		bad("tokens", fmt.Sprintf("%d is not between 1 and 10000", l.Tokens), "--tokens 100")
	}
	if l.TTFT <= 0 {
		bad("ttft", fmt.Sprintf("%v is not above 0", l.TTFT), "--ttft 50ms")
	}
	if l.ITL <= 0 {
		bad("itl", fmt.Sprintf("%v is not above 0", l.ITL), "--itl 10ms")
	}
	if l.Window < 100*time.Millisecond || l.Window > 10*time.Minute {
		bad("window", fmt.Sprintf("%v is not between 100ms and 10m", l.Window), "--window 2s")
	}
}

// Steps are those of the ladder, each kind with the load rising.
func (l Ladder) Steps() []selftest.Step {
	var burst, spread, rate []selftest.Step
	for _, n := range l.Streams {
		s := selftest.Step{Kind: selftest.Burst, Size: float64(n), Tokens: l.Tokens, WindowS: l.Window.Seconds()}
		burst = append(burst, s)
		if s.Kind = selftest.Spread; n >= spreadFrom {
			spread = append(spread, s)
		}
	}
	for _, r := range l.Rates {
		rate = append(rate, selftest.Step{Kind: selftest.Rate, Size: r, Tokens: min(shortTokens, l.Tokens), WindowS: l.Window.Seconds()})
	}
	return append(append(burst, spread...), rate...)
}

// answer is how long an answer of the step takes.
func (l Ladder) answer(s selftest.Step) time.Duration {
	return l.TTFT + time.Duration(s.Tokens-1)*l.ITL
}

// Expected is how long the whole ladder takes, about.
func (l Ladder) Expected() time.Duration {
	total := time.Second
	for _, s := range l.Steps() {
		total += l.answer(s) + max(l.Window, l.answer(s)) + 500*time.Millisecond
	}
	return total
}

// load is the step as the driver takes it. The warm-up opens connections, and is over when as much is in flight as in
// the window.
func (l Ladder) load(s selftest.Step) (workload.Workload, workload.Load) {
	w := workload.Workload{Input: workload.Fixed(promptTokens), Output: workload.Fixed(s.Tokens)}
	answer := l.answer(s)
	window := time.Duration(s.WindowS * float64(time.Second))
	if s.Kind == selftest.Burst {
		n := int(s.Size)
		rounds := max(1, int((window+answer/2)/answer))
		rounds = max(1, min(rounds, mostRequests/n, mostEvents/(n*s.Tokens)))
		return w, workload.Load{Concurrency: n, Warmup: workload.Extent{Requests: n}, Requests: n * rounds, Grace: grace}
	}
	rate, warmup := s.Size, answer+500*time.Millisecond
	if s.Kind == selftest.Rate {
		w.Arrival.Process = "poisson"
	} else {
		w.Arrival.Process, rate = "constant", s.Size/answer.Seconds()
	}
	w.Rate = workload.Rate(rate)
	most := min(mostRequests/rate, mostEvents/(rate*float64(s.Tokens)))
	window = min(window, max(time.Duration(most*float64(time.Second))-answer, 200*time.Millisecond))
	return w, workload.Load{Warmup: workload.Extent{Time: workload.Span(warmup)}, Duration: workload.Span(window), Grace: grace}
}

// connections is how many the step has in use at once, and some to spare.
func (l Ladder) connections(s selftest.Step) int {
	if s.Kind == selftest.Rate {
		return int(2*s.Size*l.answer(s).Seconds()) + 16
	}
	return int(s.Size) + 16
}

const (
	promptTokens = 32
	grace        = workload.Span(5 * time.Second) // longer than any answer is late on a machine of which something could be believed
)
