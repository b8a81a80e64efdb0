package record

import (
	"iter"
	"math"
	"slices"

	"bench/experiment"
)

func throughputOf(records []*Record, w Window, gpus int) Throughput {
	d := w.Seconds()
	if d <= 0 {
		return Throughput{}
	}
	t := countInParts(records, w, 1)[0].per(d)
	if gpus > 0 {
		t.OutputTokensPerSPerGPU = new(t.OutputTokensPerS / float64(gpus))
	}
	return t
}

func ThroughputInParts(records []*Record, w Window, parts int) []Throughput {
	out := make([]Throughput, parts)
	for i, n := range countInParts(records, w, parts) {
		out[i] = n.per(w.Seconds() / float64(parts))
	}
	return out
}

type counts struct{ requests, prompt, output float64 }

func (n counts) per(seconds float64) Throughput {
	return Throughput{RequestsPerS: n.requests / seconds, PromptTokensPerS: n.prompt / seconds,
		OutputTokensPerS: n.output / seconds}
}

// countInParts counts what arrived in equal parts of the window, of any request: output tokens at their own times,
// prompt tokens at the first token of their answer (their prefill is done by then), requests at their last token.
func countInParts(records []*Record, w Window, parts int) []counts {
	out, own := make([]counts, parts), make([]float64, parts) // own: output tokens of one request
	for _, r := range records {
		clear(own)
		r.eachOutput(func(at Micros, tokens float64) {
			if w.has(at) {
				own[w.part(at, parts)] += tokens
			}
		})
		for i, tokens := range own {
			out[i].output += tokens
		}
		first := r.First
		if first.IsZero() {
			first = r.lastOrEnd()
		}
		if w.has(first) {
			out[w.part(first, parts)].prompt += float64(r.Prompt())
		}
		if last := r.lastOrEnd(); r.OK() && w.has(last) {
			out[w.part(last, parts)].requests++
		}
	}
	return out
}

// part is the number of the equal part of the window that has a time in it.
func (w Window) part(at Micros, parts int) int {
	length := float64(w.EndUs-w.StartUs) / float64(parts)
	return min(parts-1, int(float64(at.us-w.StartUs)/length))
}

func (w Window) has(m Micros) bool { return m.ok && m.us >= w.StartUs && m.us < w.EndUs }

// Prompt is the number of prompt tokens: the server's count, else the requested one.
func (r *Record) Prompt() int {
	if r.PromptTokens != nil {
		return *r.PromptTokens
	}
	return r.PromptRequested
}

func (r *Record) lastOrEnd() Micros {
	if r.Last.IsZero() && r.OK() {
		return r.End
	}
	return r.Last
}

func (r *Record) eachOutput(yield func(at Micros, tokens float64)) {
	if r.First.IsZero() { // not streamed, or not known when: all at the end
		yield(r.lastOrEnd(), float64(r.OutputTokens))
		return
	}
	each := float64(r.OutputTokens) / float64(r.Gaps.Len()+1)
	tokens := r.TokensPerEvent
	event := func(at Micros) {
		n := each
		if tokens.Len() > 0 {
			n = float64(tokens.take())
		}
		yield(at, n)
	}
	at := r.First
	event(at)
	for us := range r.Gaps.All() {
		at.us += us
		event(at)
	}
}

// Overlap counts spans that have begun and not ended, such as requests in flight. Of equal times the ends come first:
// the next request of a worker does not overlap the last one.
type Overlap struct{ begun, ended []int64 }

func OverlapOf(spans iter.Seq2[int64, int64]) (o Overlap) {
	for from, to := range spans {
		o.begun, o.ended = append(o.begun, from), append(o.ended, to)
	}
	slices.Sort(o.begun)
	slices.Sort(o.ended)
	return o
}

func (o *Overlap) At(us int64) int {
	begun, _ := slices.BinarySearch(o.begun, us+1)
	ended, _ := slices.BinarySearch(o.ended, us+1)
	return begun - ended
}

// Ends are in order.
func (o *Overlap) Ends() []int64 { return o.ended }

func (o *Overlap) Most() (most int) {
	ended := 0
	for i, at := range o.begun {
		for ended < len(o.ended) && o.ended[ended] <= at {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}

// inServer are the times from sending to the end of the requests.
func inServer(records []*Record) iter.Seq2[int64, int64] {
	return func(yield func(from, to int64) bool) {
		for _, r := range records {
			if r.Sent.ok && r.End.ok && !yield(r.Sent.us, r.End.us) {
				return
			}
		}
	}
}

// ConcurrencyOf is the time-weighted mean and the maximum of the number of requests in flight.
func ConcurrencyOf(records []*Record, w Window) (c Concurrency) {
	area := int64(0)
	inside := OverlapOf(func(yield func(from, to int64) bool) {
		for from, to := range inServer(records) {
			if from, to = max(from, w.StartUs), min(to, w.EndUs); from < to {
				area += to - from
				yield(from, to)
			}
		}
	})
	c.Max = inside.Most()
	if w.EndUs > w.StartUs {
		c.Mean = float64(area) / float64(w.EndUs-w.StartUs)
	}
	return c
}

// HasBeside reports whether a request arrived in the window and does not count: a load worker that has its part of a
// number of requests sends on until the others have theirs.
func (w Window) HasBeside(r *Record) bool {
	return r.Worker != nil && r.Phase == PhaseCooldown && w.DecidedUs == 0 && w.has(r.Arrival)
}

// GoodputOf is nil without a limit of single requests.
func GoodputOf(records []*Record, w Window, stream bool, each []experiment.Limit) *Goodput {
	if len(each) == 0 || w.Seconds() <= 0 {
		return nil
	}
	g := &Goodput{}
	for _, l := range each {
		g.Limits = append(g.Limits, l.String())
	}
	n, good, tokens := 0, 0, 0
	for _, r := range records {
		if r.Phase != PhaseWindow && !w.HasBeside(r) || r.Left() {
			continue
		}
		n++
		tooLate := func(l experiment.Limit) bool {
			ms, ok := r.atLatest(l.Metric, stream)
			return ok && ms > l.Value
		}
		if r.OK() && !slices.ContainsFunc(each, tooLate) {
			good++
			tokens += r.OutputTokens
		}
	}
	if n > 0 {
		g.Share = float64(good) / float64(n)
	}
	g.RequestsPerS = float64(good) / w.Seconds()
	g.OutputTokensPerS = float64(tokens) / w.Seconds()
	return g
}

// Within is no more than what was completed: a server that is overloaded leaves requests of the window for later, which
// can be within their limits, too.
func (g *Goodput) Within(t Throughput) *Goodput {
	if g != nil {
		g.RequestsPerS = min(g.RequestsPerS, t.RequestsPerS)
		g.OutputTokensPerS = min(g.OutputTokensPerS, t.OutputTokensPerS)
	}
	return g
}

// atLatest is Latency; of a token without a known time the largest that it can be, so that goodput is a lower bound.
func (r *Record) atLatest(metric string, stream bool) (ms float64, ok bool) {
	switch ms, ok = r.Latency(metric, stream); {
	case ok || !stream:
		return ms, ok
	case metric == "ttfo" && r.Unanswered():
		return math.Inf(1), true
	}
	late := *r
	if late.Last.IsZero() {
		late.Last = r.End
	}
	if late.First.IsZero() {
		late.First = r.End
		if metric == "tpot" {
			late.First = r.Sent
		}
	}
	return late.Latency(metric, stream)
}

// Little is Little's law applied to the row: requests in flight = arrival rate × mean stay. It holds for
// every steady load. If it does not, a queue grew or drained, or records are missing.
type Little struct {
	InFlight  float64 `json:"in_flight"`            // N: mean number of requests in flight
	RequestsS float64 `json:"ended_requests_per_s"` // λ: requests that ended in the window, of any phase and outcome
	MeanMs    float64 `json:"mean_stay_ms"`         // W: their mean time from sent to end
	Off       float64 `json:"off"`                  // λ·W / N − 1
	// of |off| for a steady row: at most one stay is cut at the ends of the window
	Tolerance  float64 `json:"tolerance"`
	Consistent bool    `json:"consistent"`
}

// LittlesLaw is nil if no request ended in the window.
func LittlesLaw(records []*Record, w Window) *Little {
	const least = 0.02
	ended, stay, inside := 0, 0.0, 0.0
	for _, r := range records {
		if !r.Sent.ok || !r.End.ok {
			continue
		}
		inside += float64(max(0, min(r.End.us, w.EndUs)-max(r.Sent.us, w.StartUs)))
		if w.has(r.End) {
			ended++
			stay += float64(r.End.us - r.Sent.us)
		}
	}
	length := float64(w.EndUs - w.StartUs)
	if ended == 0 || inside == 0 || length <= 0 {
		return nil
	}
	l := &Little{InFlight: inside / length, RequestsS: float64(ended) / length * 1e6,
		MeanMs: stay / float64(ended) / 1e3}
	l.Off = stay/inside - 1
	l.Tolerance = max(least, l.MeanMs*1e3/length)
	l.Consistent = math.Abs(l.Off) <= l.Tolerance
	return l
}
