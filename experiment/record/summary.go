package record

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"

	"bench/experiment"
	"bench/experiment/stats"
)

// Summarize computes the metrics of a row, or of one class of it, from its records. gpus 0 = not
// stated. Every figure comes from the stored µs, so that anybody gets the same from the records.
func Summarize(records []*Record, w Window, stream bool, each []experiment.Limit, gpus int) Summary {
	s := Summary{DurationS: w.Seconds()}
	s.Requests.Errors = map[string]int{}
	for _, r := range records {
		switch r.Phase {
		case PhaseWarmup:
			s.Requests.Warmup++
		case PhaseWindow:
			s.count(r)
		}
	}
	if s.Requests.Planned > 0 {
		s.ErrorRate = float64(s.Requests.Failed) / float64(s.Requests.Planned)
	}
	l := latencies{ordered: CompletedByArrival(records), rng: rand.New(rand.NewPCG(Seed, 0))}
	l.summarize(&s, stream)
	s.Throughput = throughputOf(records, w, gpus)
	s.Concurrency = ConcurrencyOf(records, w)
	s.Goodput = goodputOf(records, w, stream, each)
	return s
}

// count enters a request of the window into the counts and token sums.
func (s *Summary) count(r *Record) {
	q := &s.Requests
	q.Planned++
	q.TurnsLost += r.TurnsLost
	if !r.Sent.IsZero() {
		q.Sent++
	}
	if !r.OK() {
		q.Failed++
		q.Errors[r.Outcome]++
		if r.Outcome == "unfinished" {
			q.Unfinished++
		}
		return
	}
	q.Completed++
	if r.Finish != "" {
		if q.Finish == nil {
			q.Finish = map[string]int{}
		}
		q.Finish[r.Finish]++
	}
	if r.Outcome == "short" {
		q.Short++
	}
	s.Tokens.Output += r.OutputTokens
	s.Tokens.Estimated = s.Tokens.Estimated || r.Estimated
	if r.PromptTokens != nil {
		s.Tokens.Prompt += *r.PromptTokens
	} else {
		s.Tokens.Prompt += r.PromptAsked
		s.Tokens.Estimated = true
	}
	if r.CachedTokens != nil {
		if s.Tokens.Cached == nil {
			s.Tokens.Cached = new(int)
		}
		*s.Tokens.Cached += *r.CachedTokens
	}
}

// completed are the ok and short requests of the window: those that latencies and lengths are over.
func Completed(records []*Record) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, r := range records {
			if r.Phase == PhaseWindow && r.OK() && !yield(r) {
				return
			}
		}
	}
}

// CompletedByArrival are the completed requests by intended arrival. Records stand in the order of their ends, but the
// dependence of neighbours shows in the order of arrival.
func CompletedByArrival(records []*Record) []*Record { return byArrival(slices.Collect(Completed(records))) }

// WindowByArrival are the requests of the window by intended arrival.
func WindowByArrival(records []*Record) []*Record {
	return byArrival(slices.DeleteFunc(slices.Clone(records), func(r *Record) bool { return r.Phase != PhaseWindow }))
}

// byArrival sorts its argument.
func byArrival(records []*Record) []*Record {
	slices.SortStableFunc(records, func(a, b *Record) int { return cmp.Or(cmp.Compare(a.At.us, b.At.us), cmp.Compare(a.I, b.I)) })
	return records
}

// latencies makes the samples of each metric, in ms, in the order of the arrivals. It makes one after the other: of a row of
// millions all of them together would be as large as the records.
type latencies struct {
	ordered []*Record
	rng     *rand.Rand
	room    []float64 // of the sample that was made last
}

// usPerMs makes the figures' ms of the records' µs.
const UsPerMs = 1e3

// since appends to − from in ms where both happened.
func AppendSince(dst []float64, from, to Micros) []float64 {
	if !from.ok || !to.ok {
		return dst
	}
	return append(dst, float64(to.us-from.us)/1e3)
}

// tpot is (last − first) / (output tokens − 1) in ms, for two tokens or more.
func (r *Record) tpot() (ms float64, ok bool) {
	if r.OutputTokens < 2 || !r.First.ok || !r.Last.ok {
		return 0, false
	}
	return float64(r.Last.us-r.First.us) / 1e3 / float64(r.OutputTokens-1), true
}

// seed of the resampling behind intervals: always the same, so that anybody gets the same from the records.
const Seed = 0x62656e6368

func (l *latencies) summarize(s *Summary, stream bool) {
	if stream {
		s.TTFT = l.of("ttft", stream)
		s.TTFTFromSend = l.of("ttft_from_send", stream)
		s.TTFE = l.of("ttfe", stream)
		s.TPOT = l.of("tpot", stream)
		s.ITL, s.ITLRequests = l.gaps()
		s.TokensPerEvent = l.tokensPerEvent()
	}
	s.E2E = l.of("e2e", stream)
	s.E2EFromSend = l.of("e2e_from_send", stream)
	s.CapWait = l.of("cap_wait", stream)
	s.Lag = l.of("lag", stream)
}

// of describes the requests that have the metric.
func (l *latencies) of(metric string, stream bool) *stats.Summary {
	l.room = slices.Grow(l.room[:0], len(l.ordered))
	for _, r := range l.ordered {
		if ms, ok := r.Latency(metric, stream); ok {
			l.room = append(l.room, ms)
		}
	}
	return stats.SummarizeInOrder(l.room, l.rng)
}

// gaps describes the pooled gaps, with intervals that resample the requests that have any.
func (l *latencies) gaps() (s *stats.Summary, requests int) {
	var itl stats.Counts // there can be many millions of them
	for _, r := range l.ordered {
		for us := range r.Gaps.All() {
			itl.Add(us)
		}
		if r.Gaps.Len() > 0 {
			requests++
		}
	}
	pooled := stats.Pooled{Unit: UsPerMs, Requests: requests}
	pooled.Begin(itl.Sorted(UsPerMs))
	for _, r := range l.ordered {
		if r.Gaps.Len() == 0 {
			continue
		}
		pooled.Request()
		for us := range r.Gaps.All() {
			pooled.Gap(us)
		}
	}
	return pooled.Summarize(l.rng), requests
}

// tokensPerEvent is a mean over all token-bearing events; 0 = there is none.
func (l *latencies) tokensPerEvent() float64 {
	events, tokens := 0, 0
	for _, r := range l.ordered {
		if r.First.ok {
			events += r.Gaps.Len() + 1
			tokens += r.OutputTokens
		}
	}
	if events == 0 {
		return 0
	}
	return float64(tokens) / float64(events)
}

// throughput counts what came inside the window, of any request: output tokens at their own times,
// prompt tokens at the first token of their answer (their prefill was done by then), requests at
// their last token.
func throughputOf(records []*Record, w Window, gpus int) Throughput {
	var requests, prompt, output float64
	for _, r := range records {
		output += r.outputInside(w)
		first := r.First
		if first.IsZero() {
			first = r.Last
		}
		if w.has(first) {
			prompt += float64(r.Prompt())
		}
		if r.OK() && w.has(r.Last) {
			requests++
		}
	}
	d := w.Seconds()
	if d <= 0 {
		return Throughput{}
	}
	t := Throughput{RequestsPerS: requests / d, PromptTokensPerS: prompt / d, OutputTokensPerS: output / d}
	if gpus > 0 {
		perGPU := t.OutputTokensPerS / float64(gpus)
		t.OutputTokensPerSPerGPU = &perGPU
	}
	return t
}

func (w Window) has(m Micros) bool { return m.ok && m.us >= w.StartUs && m.us < w.EndUs }

func (r *Record) Prompt() int {
	if r.PromptTokens != nil {
		return *r.PromptTokens
	}
	return r.PromptAsked
}

// outputInside is how many output tokens came inside the window. Where an event's tokens are not
// known one by one, each carries the request's mean.
func (r *Record) outputInside(w Window) float64 {
	if r.First.IsZero() { // not streamed: all at once, at the last byte
		if w.has(r.Last) {
			return float64(r.OutputTokens)
		}
		return 0
	}
	each := float64(r.OutputTokens) / float64(r.Gaps.Len()+1)
	tokens := r.TokensPerEvent
	inside, at := 0.0, r.First
	event := func() {
		n := each
		if tokens.Len() > 0 {
			n = float64(tokens.take())
		}
		if w.has(at) {
			inside += n
		}
	}
	event()
	for us := range r.Gaps.All() {
		at.us += us
		event()
	}
	return inside
}

// concurrency is the time-weighted mean and the maximum of requests sent and not over.
func ConcurrencyOf(records []*Record, w Window) Concurrency {
	return atOnce(records, w, func(r *Record) (from, to Micros) { return r.Sent, r.End })
}

// atOnce counts how many of the records' spans overlap, over the window.
func atOnce(records []*Record, w Window, span func(*Record) (from, to Micros)) Concurrency {
	type edge struct {
		at   int64
		step int
	}
	edges := make([]edge, 0, 2*len(records))
	for _, r := range records {
		if from, to := span(r); from.ok && to.ok && to.us > w.StartUs && from.us < w.EndUs {
			edges = append(edges, edge{max(from.us, w.StartUs), 1}, edge{min(to.us, w.EndUs), -1})
		}
	}
	// At equal times the ends come first: a slot handed over is not two requests.
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	var c Concurrency
	n, area, last := 0, 0.0, w.StartUs
	for _, e := range edges {
		area += float64(n) * float64(e.at-last)
		last = e.at
		n += e.step
		c.Max = max(c.Max, n)
	}
	if w.EndUs > w.StartUs {
		c.Mean = area / float64(w.EndUs-w.StartUs)
	}
	return c
}

// goodput counts the requests of the window that met every per-request limit.
func goodputOf(records []*Record, w Window, stream bool, each []experiment.Limit) *Goodput {
	if len(each) == 0 || w.Seconds() <= 0 {
		return nil
	}
	g := &Goodput{}
	for _, l := range each {
		g.Limits = append(g.Limits, l.String())
	}
	n, good, tokens := 0, 0, 0
	for _, r := range records {
		if r.Phase != PhaseWindow {
			continue
		}
		n++
		if r.meets(each, stream) {
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

func (r *Record) meets(each []experiment.Limit, stream bool) bool {
	if !r.OK() {
		return false
	}
	for _, l := range each {
		ms, ok := r.Latency(l.Metric, stream)
		if ok && ms > l.Value {
			return false
		}
	}
	return true
}

// latency is one metric of one request in ms; ok is false where it has none.
func (r *Record) Latency(metric string, stream bool) (ms float64, ok bool) {
	var from, to Micros
	switch metric {
	case "tpot":
		if !stream {
			return 0, false
		}
		return r.tpot()
	case "ttft":
		from, to = r.At, r.First
	case "ttft_from_send":
		from, to = r.Sent, r.First
	case "ttfe":
		from, to = r.Sent, r.FirstEvent
	case "e2e":
		from, to = r.At, r.Last
	case "e2e_from_send":
		from, to = r.Sent, r.Last
	case "cap_wait":
		from, to = r.At, r.Ready
	case "lag":
		from, to = r.Ready, r.Sent
	}
	if !from.ok || !to.ok {
		return 0, false
	}
	return float64(to.us-from.us) / 1e3, true
}

// lengths compares the asked with the counted, over the completed requests of the window.
func LengthsOf(records []*Record) Lengths {
	var l Lengths
	var pAsked, pGot, oAsked, oGot []float64
	for r := range Completed(records) {
		pAsked = append(pAsked, float64(r.PromptAsked))
		oAsked = append(oAsked, float64(r.OutputAsked))
		oGot = append(oGot, float64(r.OutputTokens))
		if r.PromptTokens != nil {
			pGot = append(pGot, float64(*r.PromptTokens))
			if *r.PromptTokens != r.PromptAsked {
				l.PromptOff++
			}
		}
		if r.OutputTokens != r.OutputAsked {
			l.OutputOff++
		}
	}
	l.PromptAsked, l.PromptTokens = stats.Summarize(pAsked), stats.Summarize(pGot)
	l.OutputAsked, l.OutputTokens = stats.Summarize(oAsked), stats.Summarize(oGot)
	return l
}
