package world

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bench/experiment/mock"
)

// Request is one request of a probe. Times are since the probe's start, when the server was empty.
type Request struct {
	Arrival     time.Duration // intended; of a closed loop: when its worker was free
	First, End  time.Duration // first and last token
	Output      int           // tokens
	Preemptions int
	Warmup      bool // arrived in the warm-up
}

// TTFT is the time from arrival to the first token.
func (r Request) TTFT() time.Duration { return r.First - r.Arrival }

// E2E is the time from arrival to the last token.
func (r Request) E2E() time.Duration { return r.End - r.Arrival }

// TPOT is the mean time between tokens; 0: the answer has one token.
func (r Request) TPOT() time.Duration {
	if r.Output < 2 {
		return 0
	}
	return (r.End - r.First) / time.Duration(r.Output-1)
}

// Value is the latency that s limits. It is known at the first token (ttft) or at the end.
func (s SLO) Value(r Request) time.Duration {
	switch s.Metric {
	case "ttft":
		return r.TTFT()
	case "tpot":
		return r.TPOT()
	}
	return r.E2E()
}

// Probe runs the server from empty under load for a warm-up and a window, and drains it. It returns all requests
// in the order of arrival. The future never changes the past: what a client knows at time t is the requests with
// First ≤ t or End ≤ t, so a probe that stops early is a part of this one, and a longer window with the same
// warm-up and seed begins with the shorter one.
//
// It simulates some thousand seconds per second; an overload for hours is slow, since the queue is copied.
func (w *World) Probe(load float64, warmup, window time.Duration, seed uint64) ([]Request, error) {
	rng := rand.New(rand.NewPCG(seed, math.Float64bits(load)))
	until := warmup + window
	var jobs []mock.Job
	var after func(*mock.Record) (mock.Job, bool)
	sent := 0
	job := func(at time.Duration) mock.Job {
		sent++
		return mock.Job{At: at, Prompt: prompt(sent, w.Work.Input), Output: w.Work.output(rng)}
	}
	switch w.Search.Load {
	case "concurrency":
		for range int(load) {
			jobs = append(jobs, job(0))
		}
		after = func(r *mock.Record) (mock.Job, bool) {
			if end(r) >= until {
				return mock.Job{}, false
			}
			return job(end(r)), true
		}
	case "constant":
		for at := time.Duration(0); at < until; at = time.Duration(float64(sent) / load * float64(time.Second)) {
			jobs = append(jobs, job(at))
		}
	default:
		for at := gap(rng, load); at < until; at += gap(rng, load) {
			jobs = append(jobs, job(at))
		}
	}
	ended, _, err := mock.Simulate(w.Mock, jobs, after, 1000*time.Hour)
	if err != nil {
		return nil, err
	}
	out := make([]Request, len(ended))
	for i, r := range ended {
		out[i] = Request{
			Arrival: time.Duration(r.ArrivalNS), First: time.Duration(r.DueNS[0]), End: end(r),
			Output: r.OutputTokens, Preemptions: r.Preemptions, Warmup: time.Duration(r.ArrivalNS) < warmup,
		}
	}
	slices.SortStableFunc(out, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return out, nil
}

// end is the time of the last token.
func end(r *mock.Record) time.Duration { return time.Duration(r.DueNS[len(r.DueNS)-1]) }

// gap is the time between two arrivals of a Poisson process.
func gap(rng *rand.Rand, rate float64) time.Duration {
	return max(1, time.Duration(rng.ExpFloat64()/rate*float64(time.Second)))
}

// output is the length of an answer, in tokens.
func (w Work) output(rng *rand.Rand) int {
	if w.Output > 0 {
		return w.Output
	}
	const z95 = 1.6448536269514722
	sigma := math.Log(w.OutputP95/w.OutputP50) / z95
	return min(w.OutputMax, max(1, int(math.Round(w.OutputP50*math.Exp(sigma*rng.NormFloat64())))))
}

// prompt is n tokens whose first block no other request has.
func prompt(request, n int) []int32 {
	out := make([]int32, n)
	out[0], out[1] = int32(request%10000+1), int32(request/10000+1)
	return out
}

// InFlight is the number of requests that have arrived and not ended, at each multiple of every from 0 until the
// end of the last request.
func InFlight(requests []Request, every time.Duration) []int {
	var out []int
	for at, end := time.Duration(0), ServerTime(requests); at <= end; at += every {
		n := 0
		for _, r := range requests {
			if r.Arrival > at {
				break
			}
			if r.End > at {
				n++
			}
		}
		out = append(out, n)
	}
	return out
}

// ServerTime is the time from the start of a probe to the end of its last request.
func ServerTime(requests []Request) (end time.Duration) {
	for _, r := range requests {
		end = max(end, r.End)
	}
	return end
}

// Quantile is the p-th percentile of a window by nearest rank; 0: the window has no request.
func (s SLO) Quantile(requests []Request) time.Duration {
	var all []time.Duration
	for _, r := range requests {
		if !r.Warmup {
			all = append(all, s.Value(r))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[max(0, int(math.Ceil(s.Percentile/100*float64(len(all))))-1)]
}
