package record

import (
	"math/rand/v2"
	"slices"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/stats"
)

// Latency is a metric of the summary by its name in metric.Latencies; nil = not measured.
func (s *Summary) Latency(metric string) *stats.Summary {
	if metric == "ttfo" && s.TTFO == nil && s.Reasoning == nil {
		metric = "ttft"
	}
	if field, ok := s.latencies()[metric]; ok {
		return *field
	}
	return nil
}

func (s *Summary) latencies() map[string]**stats.Summary {
	return map[string]**stats.Summary{
		"ttft": &s.TTFT, "ttft_from_send": &s.TTFTFromSend, "ttfe": &s.TTFE, "ttfo": &s.TTFO, "tpot": &s.TPOT,
		"itl": &s.ITL, "e2e": &s.E2E, "e2e_from_send": &s.E2EFromSend, "cap_wait": &s.CapWait, "lag": &s.Lag,
	}
}

// Latency is one metric of the request in ms; ok is false if it has none.
func (r *Record) Latency(latency string, stream bool) (ms float64, ok bool) {
	var from, to Micros
	switch latency {
	case "tpot":
		if !stream {
			return 0, false
		}
		return r.tpot()
	case metric.E2EPerToken:
		ms, ok = r.Latency("e2e", stream)
		return ms / float64(max(r.OutputTokens, 1)), ok && r.OutputTokens > 0
	case "ttft":
		from, to = r.Arrival, r.First
	case "ttfo":
		from, to = r.Arrival, r.FirstOfAnswer()
	case "ttft_from_send":
		from, to = r.Sent, r.First
	case "ttfe":
		from, to = r.Sent, r.FirstEvent
	case "e2e":
		from, to = r.Arrival, r.Last
	case "e2e_from_send":
		from, to = r.Sent, r.Last
	case "cap_wait":
		from, to = r.Arrival, r.Ready
	case "lag":
		from, to = r.Ready, r.Sent
	}
	if !from.ok || !to.ok {
		return 0, false
	}
	return float64(to.us-from.us) / UsPerMs, true
}

// tpot is (last − first) / (tokens in events − 1) in ms, for at least two tokens.
func (r *Record) tpot() (ms float64, ok bool) {
	tokens := r.streamed()
	if tokens < 2 || !r.First.ok || !r.Last.ok {
		return 0, false
	}
	return float64(r.Last.us-r.First.us) / UsPerMs / float64(tokens-1), true
}

// latencies computes the samples of each metric, in ms, by arrival, in the memory of the last one.
type latencies struct {
	ordered []*Record
	rng     *rand.Rand
	room    []float64 // memory of the last sample
	mode    Mode
}

const UsPerMs = 1e3

// Seed of the resampling for intervals: constant, so that the same records give the same intervals.
const Seed = 0x62656e6368

func (l *latencies) summarize(s *Summary) {
	stream := l.mode.Streams
	s.Reasoning, s.Speculation = reasoningOf(l.ordered), speculationOf(l.ordered)
	fields := s.latencies()
	for _, latency := range metric.Latencies { // in a fixed order: the intervals share one random stream
		switch {
		case latency == "ttfo" && s.Reasoning == nil:
		case !stream && (experiment.Limit{Metric: latency}).NeedsStream():
		case latency == "itl":
			s.ITL, s.ITLRequests = l.gaps()
			s.TokensPerEvent = l.tokensPerEvent()
		default:
			*fields[latency] = l.of(latency)
		}
	}
}

func (l *latencies) of(metric string) *stats.Summary {
	l.room = slices.Grow(l.room[:0], len(l.ordered))
	for _, r := range l.ordered {
		if ms, ok := r.Latency(metric, l.mode.Streams); ok {
			l.room = append(l.room, ms)
		}
	}
	if n := len(l.ordered); n > 1 && l.ordered[0].Arrival == l.ordered[n-1].Arrival { // their order means nothing
		return stats.Summarize(l.room)
	}
	order := stats.NewInOrder(l.room)
	if order.Bounded = l.mode.Bounded(metric); !order.Bounded {
		order.InFlight = InFlight(l.ordered)
	}
	return order.Summarize(l.rng)
}

// InFlight is the mean number of these requests, by arrival, in the server: by Little's law.
func InFlight(ordered []*Record) float64 {
	stay := 0.0
	for _, r := range ordered {
		if ms, ok := r.Latency("e2e_from_send", true); ok {
			stay += ms * UsPerMs
		}
	}
	if span := ArrivalsUs(ordered); span > 0 {
		return stay / span
	}
	return 0
}

// ArrivalsUs is the time between the first and the last arrival of requests in their order, µs.
func ArrivalsUs(ordered []*Record) float64 {
	if len(ordered) == 0 {
		return 0
	}
	return float64(ordered[len(ordered)-1].Arrival.Us() - ordered[0].Arrival.Us())
}

func (l *latencies) gaps() (s *stats.Summary, requests int) {
	var itl stats.Counts // can be many millions
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

func (l *latencies) tokensPerEvent() float64 {
	events, tokens := 0, 0
	for _, r := range l.ordered {
		if r.First.ok {
			events += r.Gaps.Len() + 1
			tokens += r.streamed()
		}
	}
	if events == 0 {
		return 0
	}
	return float64(tokens) / float64(events)
}
