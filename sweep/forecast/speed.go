package forecast

import (
	"math"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
)

// Speed predicts how fast a server answers. The zero value predicts nothing.
type Speed struct {
	Basis string // in a few words: "simulated step times"
	// RequestMs is the time of a request of these tokens in a batch that stays full, with the prompts of the requests
	// that replace ended ones.
	RequestMs func(batch, input, cached, output float64) float64
	// Sequences is the number of requests with this context that run at once; 0 = no limit.
	Sequences func(context float64) int
}

// tokens are the means of a point's requests.
type tokens struct{ input, cached, output float64 }

// counted is the number of requests whose lengths are averaged: enough for a duration.
const counted = 300

// meanTokens averages the first requests of a point's plan, with the cached tokens of an unbounded cache. Its blocks
// have one token: such a cache takes the same time for a run of any length.
func meanTokens(s *experiment.Spec) tokens {
	var sum tokens
	n := 0.0
	for r, hit := range s.PrefixHits(experiment.PrefixCache{Block: 1}) {
		sum.input, sum.cached, sum.output = sum.input+float64(r.Input), sum.cached+float64(hit), sum.output+float64(r.Output)
		if n++; n == counted {
			break
		}
	}
	if n == 0 {
		return sum
	}
	return tokens{sum.input / n, sum.cached / n, sum.output / n}
}

// residence is the time of a request while batch of them run.
func (v *Speed) residence(batch float64, t tokens) float64 {
	return v.RequestMs(batch, t.input, t.cached, t.output) / 1e3
}

// most is the largest batch of requests like t.
func (v *Speed) most(t tokens) float64 {
	if n := v.Sequences(t.input + t.output); n > 0 {
		return float64(n)
	}
	return math.Inf(1)
}

// perS is the throughput of a closed loop in requests per second, and the time of one of its requests, its wait
// included.
func (v *Speed) perS(workers int, t tokens) (rate, each float64) {
	batch := min(float64(workers), v.most(t))
	rate = batch / v.residence(batch, t)
	return rate, float64(workers) / rate
}

// after is how long an open loop takes after its last arrival: the time of a request at that rate, by Little's law,
// and of the backlog if the server does not sustain the rate.
func (v *Speed) after(rate, seconds float64, t tokens) float64 {
	most := min(v.most(t), 1<<16)
	batch := 1.0
	for batch < most && batch/v.residence(batch, t) < rate {
		batch++
	}
	capacity := batch / v.residence(batch, t)
	return v.residence(batch, t) + max(0, rate-capacity)*seconds/capacity
}

// row predicts the duration of a row; false = it can't.
func (v *Speed) row(s *experiment.Spec) (time.Duration, bool) {
	if v.blind(s) || s.Rate == 0 && s.Concurrency == 0 && !s.IsColdStart() {
		return 0, false
	}
	t := meanTokens(s)
	var d float64 // seconds
	switch phases, known := s.ExpectedDuration(); {
	case s.IsColdStart():
		d = float64(s.Requests+s.Warmup.Requests) * (time.Duration(s.EffectiveLoad().Idle).Seconds() + v.residence(1, t))
	case s.Rate.IsInf():
		workers := s.Requests
		if s.Concurrency > 0 {
			workers = min(workers, s.Concurrency)
		}
		rate, _ := v.perS(workers, t)
		d = float64(s.Requests) / rate
	case known && s.Rate > 0:
		d = phases.Seconds()
		if n := enough(s); n > 0 && s.Until != "" {
			d = min(d, time.Duration(s.Warmup.Time).Seconds()+float64(n)/float64(s.Rate))
		}
		d += min(v.after(float64(s.Rate), d, t), s.GraceTime().Seconds())
	default:
		rate, each := v.perS(s.Concurrency, t)
		d = max(time.Duration(s.Warmup.Time).Seconds(), float64(s.Warmup.Requests)/rate) + window(s, rate) + each
	}
	took := seconds(d)
	if s.MaxDuration > 0 {
		took = min(took, time.Duration(s.MaxDuration))
	}
	return took + perRow, true
}

// window is the time of a closed loop's window at so many requests per second.
func window(s *experiment.Spec, rate float64) float64 {
	d := math.Inf(1)
	if s.Duration > 0 {
		d = time.Duration(s.Duration).Seconds()
	}
	if n := enough(s); n > 0 {
		d = min(d, float64(n)/rate)
	}
	return d
}

// blind reports whether nothing is known of the server, or the row's requests depend on more than its speed:
// conversations, traces, tiling.
func (v *Speed) blind(s *experiment.Spec) bool {
	return v.RequestMs == nil || s.HasConversations() || s.Trace != nil || s.Tile != nil || s.UntilInterrupted() || !s.Arrival.IsSteady()
}

// enough is the number of requests after which a window ends by itself: those stated, or the first look of
// until = "decided" at which every limit can pass; 0 = only time ends it.
func enough(s *experiment.Spec) int {
	if s.Until != experiment.UntilDecided {
		return s.Requests
	}
	looks, k := stats.Looks{Risk: 0.01}, 1
	for _, l := range s.SLO.Limits {
		p, ok := quantile(l)
		for passes := !ok; !passes && (s.Requests == 0 || looks.At(k) < s.Requests); {
			v, _ := stats.Decide(looks.At(k), 0, p, looks.Confidence(k))
			if passes = v == stats.Pass; !passes {
				k++
			}
		}
	}
	if s.Requests > 0 {
		return min(s.Requests, looks.At(k))
	}
	return looks.At(k)
}
