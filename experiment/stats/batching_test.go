package stats

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// batchingServer is a server with continuous batching: a step gives every running request a token, and takes longer
// the more run and the more prompt tokens join. It is written apart from the simulated server of package mock.
type batchingServer struct {
	batch         int     // requests that run together, at most
	base, each    float64 // ms of a step, and for each running request
	prefill       float64 // ms for each prompt token
	input, output lengths // tokens
}

type lengths struct{ median, sigma float64 } // lognormal

func (l lengths) draw(rng *rand.Rand) float64 {
	return max(2, math.Round(l.median*math.Exp(l.sigma*rng.NormFloat64())))
}

func (l lengths) mean() float64 { return l.median * math.Exp(l.sigma*l.sigma/2) }

// perRequest is the time of a request in a full batch, in ms: its reciprocal is the capacity.
func (s batchingServer) perRequest() float64 {
	return s.output.mean()*(s.base+s.each*float64(s.batch))/float64(s.batch) + s.input.mean()*s.prefill
}

// served are the latencies of successive requests, by arrival, in ms.
type served struct {
	ttft, e2e, tpot []float64
	gap             float64 // mean, between arrivals
}

type inService struct {
	at, first, left, output, input float64
	user, index                    int
}

type byTime []inService

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].at < h[j].at }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(x any)        { *h = append(*h, x.(inService)) }
func (h *byTime) Pop() any          { x := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return x }

// traffic returns the next request of a user at a time, or of nobody (−1) at the arrival before: its own arrival and
// its prompt's length.
type traffic func(rng *rand.Rand, now float64, user, turn int) (at, input float64)

// serve runs n requests. users = 0: an open loop.
func (s batchingServer) serve(n, users int, next traffic, rng *rand.Rand) served {
	out := served{make([]float64, 0, n), make([]float64, n), make([]float64, n), 0}
	out.ttft = out.ttft[:n]
	var coming byTime
	turns := make([]int, max(1, users))
	issued := 0
	issue := func(now float64, user int) {
		at, input := next(rng, now, user, turns[max(0, user)])
		turns[max(0, user)]++
		heap.Push(&coming, inService{at: at, input: input, output: s.output.draw(rng), user: user})
	}
	if users == 0 {
		issue(0, -1)
	}
	for u := range users {
		issue(0, u)
	}
	now, done := 0.0, 0
	var waiting, active []inService
	for done < n {
		for len(coming) > 0 && coming[0].at <= now {
			r := heap.Pop(&coming).(inService)
			r.index, r.left = issued, r.output
			issued++
			waiting = append(waiting, r)
			if users == 0 {
				issue(r.at, -1)
			}
		}
		if len(active) == 0 && len(waiting) == 0 {
			now = coming[0].at
			continue
		}
		joined := 0.0
		for len(active) < s.batch && len(waiting) > 0 {
			joined += waiting[0].input
			active, waiting = append(active, waiting[0]), waiting[1:]
		}
		now += s.base + s.each*float64(len(active)) + s.prefill*joined
		kept := active[:0]
		for _, r := range active {
			if r.first == 0 {
				r.first = now
			}
			if r.left--; r.left > 0 {
				kept = append(kept, r)
				continue
			}
			if r.index < n {
				out.ttft[r.index], out.e2e[r.index] = microseconds(r.first-r.at), microseconds(now-r.at)
				out.tpot[r.index] = microseconds((now - r.first) / max(1, r.output-1))
				done++
			}
			if users > 0 {
				issue(now, r.user)
			}
		}
		active = kept
	}
	out.gap = now / float64(n)
	return out
}

// microseconds rounds ms as records do, so that equal latencies are equal.
func microseconds(ms float64) float64 { return math.Round(1e3*ms) / 1e3 }

// poisson arrivals at a share of the capacity; shape 1 = Poisson, below 1 = bursts (gamma).
func (s batchingServer) arrivals(load, shape float64) traffic {
	gap := s.perRequest() / load
	return func(rng *rand.Rand, now float64, _, _ int) (float64, float64) {
		return now + gap*gamma(shape, rng)/shape, s.input.draw(rng)
	}
}

func (s batchingServer) users() traffic {
	return func(rng *rand.Rand, now float64, _, _ int) (float64, float64) { return now, s.input.draw(rng) }
}

// conversations of ten turns, whose prompt is everything before.
func (s batchingServer) conversations() traffic {
	return func(rng *rand.Rand, now float64, _, turn int) (float64, float64) {
		return now + 500*rng.ExpFloat64(), s.input.draw(rng) + float64(turn%10)*(s.input.median+s.output.median)
	}
}

// gamma draws by Marsaglia and Tsang's method.
func gamma(shape float64, rng *rand.Rand) float64 {
	if shape == 1 {
		return rng.ExpFloat64()
	}
	if shape < 1 {
		return gamma(shape+1, rng) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := rng.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(rng.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
