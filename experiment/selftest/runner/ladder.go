package runner

import (
	"fmt"
	"time"

	"bench/experiment/selftest"
	"bench/experiment/workload"
)

type Ladder struct {
	Streams   []int         // each a burst step and, from spreadFrom on, a spread step
	Rates     []float64     // requests per second
	Tokens    int           // per response of a burst or spread step
	TTFT, ITL time.Duration // of the server
	Window    time.Duration // of each step, approximately
}

// DefaultLadder takes about a minute.
func DefaultLadder() Ladder {
	return Ladder{Streams: []int{1, 10, 100, 500, 1000, 2000}, Rates: []float64{100, 1000, 5000}, Tokens: 100,
		TTFT: 50 * time.Millisecond, ITL: 10 * time.Millisecond, Window: 2 * time.Second}
}

// QuickLadder has fewer and shorter steps: about 15 s.
func QuickLadder() Ladder {
	l := DefaultLadder()
	l.Streams, l.Rates, l.Tokens, l.Window = []int{10, 100, 1000}, []float64{1000}, 50, time.Second
	return l
}

// spreadFrom is the smallest number of streams of a spread step: below it, staggering makes no difference.
const spreadFrom = 100

// rateStepTokens per response of a rate step: a first token and one gap.
const rateStepTokens = 2

// The server must store the records of a whole step.
const (
	maxRequests = 15_000
	maxEvents   = 3_500_000
)

func (l Ladder) Check(bad func(flag, problem, hint string)) {
	if len(l.Streams)+len(l.Rates) == 0 {
		bad("streams", "no steps", "for example --streams 1,100,1000")
	}
	for _, n := range l.Streams {
		if n < 1 || n > maxRequests {
			bad("streams", fmt.Sprintf("%d is not between 1 and %d", n, maxRequests), "--streams 1,100,1000")
		}
	}
	for _, r := range l.Rates {
		if !(r >= 1 && r <= 1e5) {
			bad("rates", fmt.Sprintf("%g is not between 1 and 100000 requests/s", r), "--rates 100,1000")
		}
	}
}

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
		rate = append(rate, selftest.Step{Kind: selftest.Rate, Size: r, Tokens: min(rateStepTokens, l.Tokens),
			WindowS: l.Window.Seconds()})
	}
	return append(append(burst, spread...), rate...)
}

func (l Ladder) responseTime(s selftest.Step) time.Duration {
	return l.TTFT + time.Duration(s.Tokens-1)*l.ITL
}

func (l Ladder) Expected() time.Duration {
	total := time.Second
	for _, s := range l.Steps() {
		total += l.responseTime(s) + max(l.Window, l.responseTime(s)) + 500*time.Millisecond
	}
	return total
}

// load is the step's workload and load. The warm-up opens the connections of the window's concurrency.
func (l Ladder) load(s selftest.Step) (workload.Workload, workload.Load) {
	w := workload.Workload{Input: workload.Fixed(promptTokens), Output: workload.Fixed(s.Tokens)}
	answer := l.responseTime(s)
	window := time.Duration(s.WindowS * float64(time.Second))
	if s.Kind == selftest.Burst {
		n := int(s.Size)
		rounds := max(1, int((window+answer/2)/answer))
		rounds = max(1, min(rounds, maxRequests/n, maxEvents/(n*s.Tokens)))
		return w, workload.Load{Concurrency: n, Warmup: workload.Extent{Requests: n}, Requests: n * rounds,
			Grace: grace}
	}
	rate, warmup := s.Size, answer+500*time.Millisecond
	if s.Kind == selftest.Rate {
		w.Arrival.Process = "poisson"
	} else {
		w.Arrival.Process, rate = "constant", s.Size/answer.Seconds()
	}
	w.Rate = workload.Rate(rate)
	most := min(maxRequests/rate, maxEvents/(rate*float64(s.Tokens)))
	window = min(window, max(time.Duration(most*float64(time.Second))-answer, 200*time.Millisecond))
	return w, workload.Load{Warmup: workload.Extent{Time: workload.Span(warmup)}, Duration: workload.Span(window),
		Grace: grace}
}

func (l Ladder) connections(s selftest.Step) int {
	if s.Kind == selftest.Rate {
		return int(2*s.Size*l.responseTime(s).Seconds()) + 16
	}
	return int(s.Size) + 16
}

const (
	promptTokens = 32
	grace        = workload.Span(5 * time.Second) // longer than any delay of a response on a usable machine
)
