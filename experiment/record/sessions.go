package record

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/stats"
)

// Sessions are the conversations or agent runs of a row whose first request arrived in the window. Their times are
// of completed sessions alone: where many were cut, the long ones are missing in them.
type Sessions struct {
	Started   int `json:"started"`
	Completed int `json:"completed"`      // every request completed
	Failed    int `json:"failed"`         // a request failed: those that waited for it were not sent
	Left      int `json:"left,omitempty"` // its user left: likewise
	Cut       int `json:"cut"`            // went on when the row ended
	Partial   int `json:"partial"`        // of the row, that began at a sampled point of their life; in no other count
	InFlight  int `json:"max_in_flight"`  // of the row, of every phase

	Requests *stats.Summary `json:"requests,omitempty"` // of a completed session
	// from the intended arrival of the first request to the end of the last
	Time     *stats.Summary `json:"session_time_s,omitempty"`
	TurnTime *stats.Summary `json:"turn_time_s,omitempty"` // session time over the requests of the main agent
	// ToolShare is the share of the sessions' time in which none of their requests was in flight: tools and users.
	ToolShare *float64 `json:"tool_time_share,omitempty"`
	// Parallel is the mean number of a session's requests in flight while it had any.
	Parallel *float64 `json:"parallel_requests,omitempty"`

	// PerToken is E2E over output tokens, of the completed requests of the window.
	PerToken *stats.Summary `json:"e2e_per_token_ms,omitempty"`
	// Interactivity is 1 / p90 of PerToken: InferenceX's E2E-normalized interactivity of AgentX (MODELS.md). Absent =
	// no completed request.
	Interactivity *Interactivity `json:"e2e_interactivity,omitempty"`
}

type Interactivity struct {
	TokensPerS float64     `json:"tokens_per_s"`   // nine of ten requests had at least this
	CI95       *[2]float64 `json:"ci95,omitempty"` // absent = n too small
}

func interactivityOf(perToken *stats.Summary) *Interactivity {
	const msPerS = 1e3
	if perToken == nil || perToken.P90 <= 0 {
		return nil
	}
	x := &Interactivity{TokensPerS: msPerS / perToken.P90}
	if ci, ok := perToken.CI95["p90"]; ok && ci.Lo > 0 && !math.IsInf(ci.Hi, 1) {
		x.CI95 = &[2]float64{msPerS / ci.Hi, msPerS / ci.Lo}
	}
	return x
}

func perToken(records []*Record) *stats.Summary {
	var ms []float64
	for _, r := range CompletedByArrival(records) {
		if x, ok := r.Latency(metric.E2EPerToken, true); ok {
			ms = append(ms, x)
		}
	}
	return stats.SummarizeInOrder(ms, rand.New(rand.NewPCG(Seed, 0)))
}

// SessionsOf is nil for a row without sessions. A trace that is sent request by request has none.
func SessionsOf(records []*Record, replayed bool) *Sessions {
	out := &Sessions{}
	var whole []*session
	known := replayed
	all := sessionsByArrival(records)
	open := OverlapOf(func(yield func(from, to int64) bool) {
		for _, s := range all {
			if s.first.Sent.ok {
				yield(s.first.Sent.us, max(s.end, s.first.Sent.us))
			}
		}
	})
	out.InFlight = open.Most()
	for _, s := range all {
		known = known || s.first.Turns > 0
		switch {
		case s.first.Turns == 0:
			out.Partial++
		case s.first.Phase == PhaseWindow && out.count(s):
			whole = append(whole, s)
		}
	}
	if !known {
		return nil
	}
	out.measure(whole)
	out.PerToken = perToken(records)
	out.Interactivity = interactivityOf(out.PerToken)
	return out
}

// mostMissing: the sessions without a time belong beyond a percentile, most often.
const mostMissing = 5

func (x *Sessions) Missing() int { return x.Started - x.Completed }

// LacksLong reports whether a percentile of session times would be larger with the missing sessions.
func (x *Sessions) LacksLong(percentile string) bool {
	share, _ := metric.Stat(percentile).P()
	return float64(x.Missing()) > (1-share)/mostMissing*float64(x.Started)
}

func (x *Sessions) Percentiles(of *stats.Summary) Percentiles {
	all := PercentilesOf(of)
	for i := range all {
		if x.LacksLong(all[i].Name) {
			all[i].Grade, all[i].CI95.Hi = stats.NoBound, math.Inf(1)
		}
	}
	return all
}

type session struct {
	first     *Record // turn 0
	requests  int
	completed int
	failed    bool // a request failed
	left      bool // its user left
	main      int  // requests of the main agent
	busy      []interval
	end       int64 // of its last request, µs
}

// SessionTimes are the times of the completed sessions that Sessions.Time describes, s, in order of arrival.
func SessionTimes(records []*Record) (seconds []float64) {
	for _, s := range sessionsByArrival(records) {
		if s.first.Phase == PhaseWindow && s.first.Turns > 0 && s.completed == s.first.Turns {
			end, _, _ := s.spans()
			seconds = append(seconds, float64(end-s.first.Arrival.us)/usPerS)
		}
	}
	return seconds
}

type interval struct{ from, to int64 }

func sessionsByArrival(records []*Record) []*session {
	byNumber := map[int]*session{}
	for _, r := range records {
		if r.Session == nil || r.Turn == nil {
			continue
		}
		s := byNumber[*r.Session]
		if s == nil {
			s = &session{}
			byNumber[*r.Session] = s
		}
		s.add(r)
	}
	out := slices.DeleteFunc(slices.Collect(maps.Values(byNumber)), func(s *session) bool { return s.first == nil })
	slices.SortFunc(out, func(a, b *session) int {
		return cmp.Or(cmp.Compare(a.first.Arrival.us, b.first.Arrival.us), cmp.Compare(a.first.I, b.first.I))
	})
	return out
}

func (s *session) add(r *Record) {
	if *r.Turn == 0 {
		s.first = r
	}
	s.requests++
	if r.Agent == 0 {
		s.main++
	}
	s.end = max(s.end, r.End.us)
	switch {
	case r.OK():
		s.completed++
		s.busy = append(s.busy, interval{r.Arrival.us, r.End.us})
	case r.Left():
		s.left = true
	case r.Outcome != "unfinished" && r.Outcome != "cancelled":
		s.failed = true
	}
}

func (x *Sessions) count(s *session) bool {
	x.Started++
	switch {
	case s.completed == s.first.Turns:
		x.Completed++
		return true
	case s.failed:
		x.Failed++
	case s.left:
		x.Left++
	default:
		x.Cut++
	}
	return false
}

func (x *Sessions) measure(whole []*session) {
	var requests, times, turns []float64
	var life, stay, busy int64
	for _, s := range whole {
		end, inFlight, sum := s.spans()
		took := end - s.first.Arrival.us
		life, busy, stay = life+took, busy+inFlight, stay+sum
		requests = append(requests, float64(s.requests))
		times = append(times, float64(took)/usPerS)
		turns = append(turns, float64(took)/usPerS/float64(max(s.main, 1)))
	}
	rng := rand.New(rand.NewPCG(Seed, 0))
	x.Requests, x.Time, x.TurnTime = stats.Summarize(requests), stats.SummarizeInOrder(times,
		rng), stats.SummarizeInOrder(turns, rng)
	if life > 0 && busy > 0 {
		x.ToolShare, x.Parallel = new(1-float64(busy)/float64(life)), new(float64(stay)/float64(busy))
	}
}

const usPerS = 1e6

func (s *session) spans() (end, inFlight, sum int64) {
	slices.SortFunc(s.busy, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	end = s.first.Arrival.us
	for _, b := range s.busy {
		sum += b.to - b.from
		inFlight += max(0, b.to-max(b.from, end))
		end = max(end, b.to)
	}
	return end, inFlight, sum
}
