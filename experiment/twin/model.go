// Package twin is a small model of a server that batches continuously: a step takes
//
//	Base + PerSequence·(decoding sequences) + PerContextToken·(their tokens) + PerPrefillToken·(prompt tokens in it),
//
// of which the first FreePrefillTokens cost nothing: a step that waits for memory computes them beside. At most
// MaxSequences run at once, and a queue is in front of them. Fit finds its parameters from what a client saw.
// Run lets it serve the very arrivals of a row: what differs between row and twin, the residual, has a small error,
// since the luck of the arrivals and the empty start are in both. So the percentile of a long run of the twin,
// corrected by the residuals of all rows, is known more exactly than any row alone shows it: the twin is a control
// variate (Lavenberg, Moeller and Welch 1982). A large residual near the operating point rejects it.
//
// It knows no clock, no file and no verdict. The simulated server (experiment/mock) has the same steps, with a cache,
// preemption and more beside; a test holds the two together.
package twin

import (
	"container/heap"
	"math"
)

// Request is one request. Times are seconds from the row's start.
type Request struct {
	Arrival     float64 // intended; of a closed loop: when a worker was free
	First, Last float64 // first and last token
	Prompt      int     // tokens
	Cached      int     // of them: not computed
	Output      int     // tokens
	Steps       int     // decode steps; 0 = one for each token after the first
	// Events are the times of the token-bearing events after the first, one for each step; nil = even between First and
	// Last.
	Events []float64
	Window bool // it counts
	Failed bool // it has no latency: it ranks as infinite
}

func (r *Request) steps() int {
	if r.Steps > 0 {
		return r.Steps
	}
	if r.Events != nil {
		return len(r.Events)
	}
	return max(0, r.Output-1)
}

// Model is a server. Times are in seconds.
type Model struct {
	Base            float64 `json:"base_s"`
	PerSequence     float64 `json:"per_sequence_s"`
	PerContextToken float64 `json:"per_context_token_s"` // 0 = not told apart from PerSequence
	PerPrefillToken float64 `json:"per_prefill_token_s"`
	// FreePrefillTokens of a step cost nothing.
	FreePrefillTokens int     `json:"free_prefill_tokens,omitempty"`
	FrontEnd          float64 `json:"front_end_s"` // from the arrival of a request to the queue
	// standard error of all step times, as a share: by how much loads differ
	SpeedError    float64 `json:"speed_error"`
	MaxSequences  int     `json:"max_sequences"`             // 0 = unknown: no row queued
	MaxStepTokens int     `json:"max_step_tokens,omitempty"` // 0 = a prompt is computed in one step
}

// ending is a running sequence and the step that gives its last token.
type ending struct{ step, request int }

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].step < e[j].step }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// Run is what the model makes of requests, which are in the order of their arrival: First and Last are its own. With
// workers > 0 that many requests are in flight: each later request arrives when one has ended.
func (m *Model) Run(requests []Request, workers int) []Request {
	out := append([]Request(nil), requests...)
	most, budget := m.MaxSequences, m.MaxStepTokens
	if most == 0 {
		most = math.MaxInt
	}
	if budget == 0 {
		budget = math.MaxInt
	}
	known := len(out) // requests whose arrival is known
	if workers > 0 {
		known = min(workers, known)
	}
	var running endings
	var prefilling []int // of them, in this step or before it; only the last can have tokens left
	left := 0            // of the last one's prompt
	context := 0
	if n := len(out); workers == 0 && n > 0 && !(math.Abs(out[n-1].Arrival) <= math.MaxFloat64) {
		return out // an arrival that never comes
	}
	now, step, next := 0.0, 0, 0
	free := func(at float64) { // a worker
		if workers > 0 && known < len(out) {
			out[known].Arrival = at
			known++
		}
	}
	for next < len(out) || len(running) > 0 || left > 0 {
		idle := false
		if len(running) == 0 && left == 0 {
			first := out[next].Arrival + m.FrontEnd
			idle, now = first >= now, max(now, first)
		}
		waits := func(i int) bool { // a request that comes as a step begins misses it
			at := out[i].Arrival + m.FrontEnd
			return at < now || idle && at == now
		}
		decoding, room := len(running), budget-len(running)
		prefill := min(left, max(room, 0))
		left -= prefill
		room -= prefill
		active := decoding + len(prefilling)
		for ; left == 0 && room > 0 && active < most && next < known && waits(next); next++ {
			tokens := max(1, out[next].Prompt-out[next].Cached)
			share := min(tokens, room)
			left, room, prefill = tokens-share, room-share, prefill+share
			prefilling = append(prefilling, next)
			active++
		}
		now += m.Base + m.PerSequence*float64(decoding) + m.PerContextToken*float64(context) +
			m.PerPrefillToken*float64(max(0, prefill-m.FreePrefillTokens))
		step++
		context += decoding
		for len(running) > 0 && running[0].step <= step {
			r := &out[heap.Pop(&running).(ending).request]
			context -= r.Prompt + r.steps()
			r.Last = now
			free(now)
		}
		ready := len(prefilling)
		if left > 0 {
			ready--
		}
		for _, i := range prefilling[:ready] {
			r := &out[i]
			r.First, r.Last = now, now
			if n := r.steps(); n > 0 {
				heap.Push(&running, ending{step + n, i})
				context += r.Prompt
			} else {
				free(now)
			}
		}
		prefilling = append(prefilling[:0], prefilling[ready:]...)
	}
	return out
}
