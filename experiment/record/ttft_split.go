package record

import (
	"cmp"
	"fmt"

	"bench/experiment/telemetry"
)

// ServerTimes are a request's times in the server, µs, as its answer reports them; absent = not reported.
type ServerTimes struct {
	Queue   *int64 `json:"queue,omitempty"`   // from the arrival to being scheduled
	Prefill *int64 `json:"prefill,omitempty"` // from being scheduled to the first token
	Decode  *int64 `json:"decode,omitempty"`  // from the first token to the last
}

// TTFTSplit is where the time to the first token goes: means in ms over the same requests. The parts sum to the
// total, ttft_from_send. A part that the server does not report apart is absent, and in the rest.
type TTFTSplit struct {
	Requests int `json:"requests"`
	// Source is "requests": each answer reports its own times; or "histograms": the server's means of the whole
	// row, warm-up included, which the total then includes, too.
	Source  string   `json:"source"`
	Missing string   `json:"missing,omitempty"` // why there are no parts
	Total   float64  `json:"total_ms"`
	Network *float64 `json:"network_ms,omitempty"` // outside of the server: network, gateway, HTTP on both sides
	// in the server, neither queued nor computed: tokenizer, detokenizer, messages between its processes
	Frontend *float64 `json:"frontend_ms,omitempty"`
	Queue    *float64 `json:"queue_ms,omitempty"`
	Prefill  *float64 `json:"prefill_ms,omitempty"`
	Rest     *float64 `json:"rest_ms,omitempty"` // the absent parts together
}

const (
	SplitOfRequests   = "requests"
	SplitOfHistograms = "histograms"
)

type Part struct {
	Name string
	Ms   float64
}

func (s *TTFTSplit) Parts() (out []Part) {
	rest := -1 // its index
	for _, p := range s.fields() {
		switch {
		case *p.ms != nil:
			out = append(out, Part{p.name, **p.ms})
		case s.Rest == nil:
		case rest < 0:
			rest = len(out)
			out = append(out, Part{p.name, *s.Rest})
		default:
			out[rest].Name += " + " + p.name
		}
	}
	return out
}

type splitField struct {
	name string
	ms   **float64
}

func (s *TTFTSplit) fields() []splitField {
	return []splitField{{"network", &s.Network}, {"frontend", &s.Frontend}, {"queue", &s.Queue},
		{"prefill", &s.Prefill}}
}

// SplitTTFT splits TTFT by each answer's own times, else by the server's histograms. nil: not reported, or no streams.
func SplitTTFT(records []*Record, m *telemetry.ServerUsage) *TTFTSplit {
	if s := splitByRequests(records); s != nil {
		return s
	}
	if m == nil || m.Whole == nil {
		return nil
	}
	times := m.Whole.Times
	if m.TTFTOfPrefill() {
		times.TTFT = nil
	}
	return splitByHistograms(records, &times)
}

func splitByRequests(records []*Record) *TTFTSplit {
	s := &TTFTSplit{Source: SplitOfRequests}
	var total, queue, prefill float64
	queues, prefills := 0, 0
	for r := range Completed(records) {
		first, ok := r.First.Get()
		if t := r.Server; t != nil && ok && (t.Queue != nil || t.Prefill != nil) {
			s.Requests++
			total += float64(first - r.Sent.Us())
			queues += addTime(&queue, t.Queue)
			prefills += addTime(&prefill, t.Prefill)
		}
	}
	if s.Requests == 0 {
		return nil
	}
	mean := func(sum float64, n int) *float64 {
		if n < s.Requests { // some answers lack it
			return nil
		}
		return new(telemetry.Round(sum/float64(n)/UsPerMs, 6))
	}
	s.Total = *mean(total, s.Requests)
	s.Queue, s.Prefill = mean(queue, queues), mean(prefill, prefills)
	s.complete()
	return s
}

func addTime(sum *float64, us *int64) int {
	if us == nil {
		return 0
	}
	*sum += float64(*us)
	return 1
}

// splitByHistograms is over all requests that the server counted, whoever sent them. It counts a first token at once,
// and queue and prefill only at the end of the answer: so the network is over all first tokens, the rest over
// complete answers.
func splitByHistograms(records []*Record, t *telemetry.ServerTimes) *TTFTSplit {
	if t.TTFT == nil && t.Queue == nil && t.Prefill == nil {
		return nil
	}
	begun, ended, cut := firstTokens(records)
	if begun.n == 0 {
		return nil
	}
	s := &TTFTSplit{Source: SplitOfHistograms}
	own := begun
	for _, h := range []*telemetry.ServerTime{t.Queue, t.Prefill} {
		if h != nil && h.N != begun.n {
			own = ended
		}
	}
	s.Requests, s.Total = own.n, own.mean()
	ttft := t.TTFT
	if ttft != nil && ttft.N > begun.n && ttft.N <= begun.n+cut && (t.Queue != nil || t.Prefill != nil) {
		ttft = nil // it has first tokens that the cut requests did not get
	}
	if s.Missing = cmp.Or(otherCount(ttft, begun.n), otherCount(t.Queue, own.n),
		otherCount(t.Prefill, own.n)); s.Missing != "" {
		return s
	}
	if t.Queue != nil {
		s.Queue = new(t.Queue.Mean)
	}
	if t.Prefill != nil {
		s.Prefill = new(t.Prefill.Mean)
	}
	if ttft != nil {
		s.Network = new(telemetry.Round(begun.mean()-ttft.Mean, 6))
		if own != begun && s.left() < 0 { // the network of the cut requests was worse: left with the frontend
			s.Network = nil
		}
	}
	s.complete()
	return s
}

type sum struct {
	n  int
	ms float64
}

func (s *sum) add(ms float64) { s.n, s.ms = s.n+1, s.ms+ms }

func (s *sum) mean() float64 { return telemetry.Round(s.ms/float64(max(s.n, 1)), 6) }

func firstTokens(records []*Record) (begun, ended sum, cut int) {
	for _, r := range records {
		first, ok := r.First.Get()
		switch {
		case ok:
			ms := float64(first-r.Sent.Us()) / UsPerMs
			if begun.add(ms); r.OK() {
				ended.add(ms)
			}
		case !r.Sent.IsZero():
			cut++
		}
	}
	return begun, ended, cut
}

func otherCount(h *telemetry.ServerTime, n int) string {
	if h == nil || h.N == n {
		return ""
	}
	return fmt.Sprintf("the server counted %d requests, this row %d", h.N, n)
}

// roundingMs bounds what the parts can exceed the total by because the server's means are stored in µs.
const roundingMs = 0.003

func (s *TTFTSplit) left() float64 {
	left := s.Total
	for _, p := range s.fields() {
		if *p.ms != nil {
			left -= **p.ms
		}
	}
	return telemetry.Round(left, 6)
}

func (s *TTFTSplit) complete() {
	var absent []splitField
	var longest *float64
	for _, p := range s.fields() {
		if *p.ms == nil {
			absent = append(absent, p)
		} else if longest == nil || **p.ms > *longest {
			longest = *p.ms
		}
	}
	left := s.left()
	if longest != nil && left < 0 && left >= -roundingMs && *longest >= -left {
		*longest, left = telemetry.Round(*longest+left, 6), 0
	}
	switch {
	case left < 0 || s.Network != nil && *s.Network < 0:
		*s = TTFTSplit{Requests: s.Requests, Source: s.Source, Total: s.Total,
			Missing: "the server's mean times exceed the client's TTFT"}
	case len(absent) == 1:
		*absent[0].ms = &left
	case len(absent) > 1:
		s.Rest = &left
	}
}
