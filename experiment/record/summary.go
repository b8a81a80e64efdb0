package record

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/stats"
)

// Summary has the metrics of docs/reading.md for the requests of the window. A nil metric was not measured,
// or does not exist for the row.
type Summary struct {
	TTFT         *stats.Summary `json:"ttft_ms,omitempty"`
	TTFTFromSend *stats.Summary `json:"ttft_from_send_ms,omitempty"`
	TTFE         *stats.Summary `json:"ttfe_ms,omitempty"`
	TTFO         *stats.Summary `json:"ttfo_ms,omitempty"` // absent = as ttft_ms: no request had reasoning
	TPOT         *stats.Summary `json:"tpot_ms,omitempty"`
	ITL          *stats.Summary `json:"itl_ms,omitempty"`
	E2E          *stats.Summary `json:"e2e_ms,omitempty"`
	E2EFromSend  *stats.Summary `json:"e2e_from_send_ms,omitempty"`
	CapWait      *stats.Summary `json:"cap_wait_ms,omitempty"`
	Lag          *stats.Summary `json:"lag_ms,omitempty"`

	Reasoning *Reasoning `json:"reasoning,omitempty"` // absent = no completed request had any

	Speculation *Speculation `json:"speculation,omitempty"` // by the answers; absent = they have no counts

	ITLRequests    int     `json:"itl_requests,omitempty"` // requests that the pooled gaps come from
	TokensPerEvent float64 `json:"tokens_per_event,omitempty"`

	Answers *Answers `json:"answers,omitempty"` // absent = none was checked

	Requests Requests `json:"requests"`
	// failed / requests of the window whose users stayed; null = there are none
	ErrorRate   *float64    `json:"error_rate"`
	Tokens      Tokens      `json:"tokens"`
	DurationS   float64     `json:"duration_s"` // of the window
	Throughput  Throughput  `json:"throughput"`
	Goodput     *Goodput    `json:"goodput,omitempty"` // absent = no per-request limit
	Concurrency Concurrency `json:"concurrency"`
}

type Requests struct {
	Planned    int `json:"planned"` // intended arrivals in the window
	Sent       int `json:"sent"`
	Completed  int `json:"completed"` // ok + short
	Short      int `json:"short"`
	Failed     int `json:"failed"`         // all others, with unfinished and cancelled
	Unfinished int `json:"unfinished"`     // not ended at the end of grace, or of max_duration
	Left       int `json:"left,omitempty"` // the user left before the answer ended: neither completed nor failed
	Warmup     int `json:"warmup"`         // sent before the window; in no other count
	// of Warmup, failed before the end of the row; only of a window without requests, else absent
	WarmupFailed int            `json:"warmup_failed,omitempty"`
	Errors       map[string]int `json:"errors"` // failed, by outcome

	// completed, by finish reason: length (all requested tokens), stop, tool_calls, …
	Finish map[string]int `json:"finish,omitempty"`
	// turns not sent because an earlier turn failed; in no other count
	TurnsLost int `json:"turns_lost,omitempty"`
	// turns that did not come because the user had left; in no other count
	TurnsLeft int `json:"turns_left,omitempty"`
}

func (q *Requests) Stayed() int { return q.Planned - q.Left }

// Tokens of the completed requests of the window.
type Tokens struct {
	Prompt    int  `json:"prompt"`
	Output    int  `json:"output"`
	Cached    *int `json:"cached"`    // null = not reported
	Estimated bool `json:"estimated"` // at least one count is the client's
}

// Throughput is what arrived inside the window, of any request, per second of the window.
type Throughput struct {
	RequestsPerS           float64  `json:"requests_per_s"`
	PromptTokensPerS       float64  `json:"prompt_tokens_per_s"`
	OutputTokensPerS       float64  `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *float64 `json:"output_tokens_per_s_per_gpu"` // null = number of GPUs not specified
}

// Goodput counts only the requests of the window that met every per-request limit.
type Goodput struct {
	RequestsPerS     float64  `json:"requests_per_s"`
	OutputTokensPerS float64  `json:"output_tokens_per_s"`
	Share            float64  `json:"share"`  // of the window's requests
	Limits           []string `json:"limits"` // as text: "ttft ≤ 1000 ms"
}

// Concurrency is the number of requests in flight in the window: sent and not ended.
type Concurrency struct {
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
}

// Lengths compares requested and counted tokens of the completed requests.
type Lengths struct {
	PromptRequested *stats.Summary `json:"prompt_asked,omitempty"`
	PromptTokens    *stats.Summary `json:"prompt_tokens,omitempty"`
	PromptOff       int            `json:"prompt_off"` // requests whose prompt count differs from the requested one
	OutputRequested *stats.Summary `json:"output_asked,omitempty"`
	OutputTokens    *stats.Summary `json:"output_tokens,omitempty"`
	OutputOff       int            `json:"output_off"`
}

// Mode is how a row sent its requests, where that decides what its figures mean.
type Mode struct {
	Streams bool // answers come token by token
	closed  bool // a closed loop: no queue without a bound
}

// ModeOf is how a row sends its requests.
func ModeOf(s *experiment.Spec) Mode { return Mode{Streams: s.Streams(), closed: s.Closed()} }

// Bounded reports whether no queue without a bound is part of a latency.
func (m Mode) Bounded(latency string) bool {
	return m.closed || metric.ByName(latency).Span == metric.BetweenTokens
}

func Summarize(records []*Record, w Window, mode Mode, each []experiment.Limit, gpus int) Summary {
	s := Summary{DurationS: w.Seconds()}
	s.Requests.Errors = map[string]int{}
	warmupFailed := 0
	for _, r := range records {
		switch r.Phase {
		case PhaseWarmup:
			if s.Requests.Warmup++; r.Failed() && r.Outcome != "unfinished" {
				warmupFailed++
			}
		case PhaseWindow:
			s.count(r)
		}
	}
	if s.Requests.Planned == 0 {
		s.Requests.WarmupFailed = warmupFailed
	}
	if n := s.Requests.Stayed(); n > 0 {
		s.ErrorRate = new(float64(s.Requests.Failed) / float64(n))
	}
	l := latencies{ordered: CompletedByArrival(records), rng: rand.New(rand.NewPCG(Seed, 0)), mode: mode}
	l.summarize(&s)
	s.Throughput = throughputOf(records, w, gpus)
	s.Concurrency = ConcurrencyOf(records, w)
	s.Goodput = GoodputOf(records, w, mode.Streams, each).Within(s.Throughput)
	s.Answers = answersOf(l.ordered)
	return s
}

func (s *Summary) FailedShare() float64 {
	share, _ := known(s.ErrorRate)
	return share
}

func (s *Summary) count(r *Record) {
	q := &s.Requests
	q.Planned++
	if !r.Sent.IsZero() {
		q.Sent++
	}
	switch {
	case r.Left():
		q.Left++
		q.TurnsLeft += r.TurnsLost
		return
	case r.Failed():
		q.TurnsLost += r.TurnsLost
		q.Failed++
		q.Errors[r.Outcome]++
		if r.Outcome == "unfinished" {
			q.Unfinished++
		}
		return
	}
	q.Completed++
	if r.Finish != "" {
		q.Finish = counted(q.Finish, r.Finish)
	}
	if r.Outcome == "short" {
		q.Short++
	}
	s.Tokens.Output += r.OutputTokens
	s.Tokens.Estimated = s.Tokens.Estimated || r.Estimated
	if r.PromptTokens != nil {
		s.Tokens.Prompt += *r.PromptTokens
	} else {
		s.Tokens.Prompt += r.PromptRequested
		s.Tokens.Estimated = true
	}
	if r.CachedTokens != nil {
		if s.Tokens.Cached == nil {
			s.Tokens.Cached = new(int)
		}
		*s.Tokens.Cached += *r.CachedTokens
	}
}

func Completed(records []*Record) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, r := range records {
			if r.Phase == PhaseWindow && r.OK() && !yield(r) {
				return
			}
		}
	}
}

// CompletedByArrival are the completed requests by intended arrival. Records stand in the order of their
// ends, but the dependence of neighbours shows in the order of arrival.
func CompletedByArrival(records []*Record) []*Record {
	return byArrival(slices.Collect(Completed(records)))
}

// WindowByArrival are the requests of the window, as ByArrival has them.
func WindowByArrival(records []*Record) []*Record {
	outside := func(r *Record) bool { return r.Phase != PhaseWindow }
	return ByArrival(slices.DeleteFunc(slices.Clone(records), outside))
}

// ByArrival are the requests by intended arrival, without those whose user left: how they would have ended is not
// known.
func ByArrival(records []*Record) []*Record {
	return byArrival(slices.DeleteFunc(slices.Clone(records), (*Record).Left))
}

func byArrival(records []*Record) []*Record {
	slices.SortStableFunc(records, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Arrival.us, b.Arrival.us), cmp.Compare(a.I, b.I))
	})
	return records
}

func LengthsOf(records []*Record) Lengths {
	var l Lengths
	var pAsked, pGot, oAsked, oGot []float64
	for r := range Completed(records) {
		if r.PromptRequested > 0 { // of a real prompt it is not known
			pAsked = append(pAsked, float64(r.PromptRequested))
		}
		oAsked = append(oAsked, float64(r.OutputRequested))
		oGot = append(oGot, float64(r.OutputTokens))
		if r.PromptTokens != nil {
			pGot = append(pGot, float64(*r.PromptTokens))
			if r.PromptRequested > 0 && *r.PromptTokens != r.PromptRequested {
				l.PromptOff++
			}
		}
		if r.OutputTokens != r.OutputRequested {
			l.OutputOff++
		}
	}
	l.PromptRequested, l.PromptTokens = stats.Summarize(pAsked), stats.Summarize(pGot)
	l.OutputRequested, l.OutputTokens = stats.Summarize(oAsked), stats.Summarize(oGot)
	return l
}

// SummarizeBy summarizes the requests of each name by itself; an empty name belongs to no group. nil: there is none.
func SummarizeBy(records []*Record, name func(*Record) string,
	summarize func(name string, own []*Record) Summary) map[string]Summary {
	groups := map[string][]*Record{}
	for _, r := range records {
		if n := name(r); n != "" {
			groups[n] = append(groups[n], r)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	out := map[string]Summary{}
	for n, own := range groups {
		out[n] = summarize(n, own)
	}
	return out
}
