package record

import (
	"cmp"
	"slices"

	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// Speculation is the speculative decoding of the window. A figure that is not reported is absent.
type Speculation struct {
	Source   string `json:"source"`             // of the figures: "server" or "answers"
	Requests int    `json:"requests,omitempty"` // answers with counts; 0 = the server's counters

	Drafts         *float64 `json:"drafts,omitempty"`          // steps that verified a draft
	DraftTokens    *float64 `json:"draft_tokens,omitempty"`    // proposed tokens
	AcceptedTokens *float64 `json:"accepted_tokens,omitempty"` // of them

	AcceptanceRate *float64 `json:"acceptance_rate,omitempty"` // accepted / proposed
	// RateCI95 is by Clopper and Pearson, of the effective number of tokens, since those of one prompt resemble each
	// other; absent for the server's counters, which do not list requests.
	RateCI95 *stats.Interval `json:"acceptance_rate_ci95,omitempty"`
	// AcceptanceLength is the mean number of tokens of a step that verified a draft: 1 + accepted / drafts.
	AcceptanceLength *float64        `json:"acceptance_length,omitempty"`
	LengthCI95       *stats.Interval `json:"acceptance_length_ci95,omitempty"`
	// TokensPerStep is the mean number of tokens of a request's decode steps, with and without a draft: the tokens
	// behind its first one / (those − accepted), of at least as many steps as drafts.
	TokensPerStep *float64 `json:"tokens_per_step,omitempty"`
	// DraftedPerStep is the mean number of proposed tokens of these steps.
	DraftedPerStep *float64 `json:"drafted_per_step,omitempty"`
	// ByPosition are the shares of the drafts whose first, second, … token was accepted.
	ByPosition []float64 `json:"acceptance_by_position,omitempty"`
}

const (
	SpeculationOfServer  = "server"  // counters of its metrics page, of all clients
	speculationOfAnswers = "answers" // counts in the answers of the completed requests
)

func speculationOf(completed []*Record) *Speculation {
	var clusters promptClusters
	requests := 0
	var drafts, drafted, accepted, behindFirst int
	steps := true // every answer has them
	for _, r := range completed {
		if r.DraftTokens == nil || r.AcceptedTokens == nil {
			continue
		}
		requests++
		clusters.add(r, *r.AcceptedTokens, *r.DraftTokens)
		drafted, accepted = drafted+*r.DraftTokens, accepted+*r.AcceptedTokens
		behindFirst += max(0, r.OutputTokens-1)
		if r.Drafts == nil {
			steps = false
		} else {
			drafts += *r.Drafts
		}
	}
	if drafted == 0 {
		return nil
	}
	s := &Speculation{Source: speculationOfAnswers, Requests: requests, DraftTokens: new(float64(drafted)),
		AcceptedTokens: new(float64(accepted))}
	if steps {
		s.Drafts = new(float64(drafts))
	}
	s.derive(float64(behindFirst))
	rate := stats.ShareInterval(float64(accepted)/float64(drafted), stats.EffectiveSize(clusters.all), 0.95)
	if s.RateCI95 = &rate; s.AcceptanceLength != nil {
		perDraft := *s.DraftTokens / *s.Drafts
		s.LengthCI95 = &stats.Interval{Lo: 1 + rate.Lo*perDraft, Hi: 1 + rate.Hi*perDraft}
	}
	return s
}

// SpeculationOf is the row's: by the server's counters, else by the answers; nil = the server reports none.
func SpeculationOf(s *Summary, m *telemetry.ServerUsage) *Speculation {
	if m == nil || !m.Speculates() {
		return s.Speculation
	}
	out := &Speculation{Source: SpeculationOfServer, Drafts: m.Drafts, DraftTokens: m.DraftTokens,
		AcceptedTokens: m.AcceptedTokens,
		AcceptanceRate: m.AcceptanceRate, AcceptanceLength: m.AcceptanceLength}
	if m.AcceptedTokens != nil && m.DraftTokens != nil {
		behindFirst := 0.0
		if m.GenerationTokens != nil {
			behindFirst = *m.GenerationTokens - float64(s.Requests.Completed)
		}
		out.derive(behindFirst)
	}
	if m.Drafts != nil && *m.Drafts > 0 {
		for _, accepted := range m.AcceptedAt {
			out.ByPosition = append(out.ByPosition, telemetry.Round(accepted / *m.Drafts, 6))
		}
	}
	return out
}

func (s *Speculation) derive(behindFirst float64) {
	if *s.DraftTokens > 0 {
		s.AcceptanceRate = new(telemetry.Round(*s.AcceptedTokens / *s.DraftTokens, 6))
	}
	if s.Drafts != nil && *s.Drafts > 0 {
		s.AcceptanceLength = new(telemetry.Round(1 + *s.AcceptedTokens / *s.Drafts, 6))
	}
	steps := behindFirst - *s.AcceptedTokens
	if s.Drafts != nil { // engines count accepted tokens that the end of the answer cuts off
		steps = max(steps, min(*s.Drafts, behindFirst))
	}
	if steps > 0 {
		s.TokensPerStep = new(telemetry.Round(behindFirst/steps, 6))
		s.DraftedPerStep = new(telemetry.Round(*s.DraftTokens/steps, 6))
	}
}

// Step is the mean number of tokens that a decode step yields, and drafts; 1 and 0 if not known.
func (s *Speculation) Step() (tokens, drafted float64) {
	switch {
	case s == nil:
		return 1, 0
	case s.TokensPerStep != nil:
		return max(1, *s.TokensPerStep), *s.DraftedPerStep
	case s.AcceptanceLength != nil:
		return max(1, *s.AcceptanceLength), 0
	}
	return 1, 0
}

// Decoding is the server's batch as the client observes it: the requests between their first and last token.
type Decoding struct {
	batch   float64 // mean number of decoding requests at a token, its own included; 0 = none, as without streaming
	context float64 // mean tokens of prompt and answer so far, at a token

	perStep, drafted float64 // tokens that a step of a request yields, and drafts; 0 = one, without a draft
}

func (d Decoding) Speculated(s *Speculation) Decoding {
	d.perStep, d.drafted = s.Step()
	return d
}

// ObserveDecoding averages over tokens, not over time: a step with a long prefill takes as long as ten decode steps.
func ObserveDecoding(records []*Record, w Window) Decoding {
	busy := changes(records)
	var tokens, batch, context float64
	for _, r := range records {
		if !r.decoded() {
			continue
		}
		i, _ := slices.BinarySearchFunc(busy, r.First.us, func(c change, us int64) int { return cmp.Compare(c.us, us) })
		at, each, n := r.First, float64(r.OutputTokens)/float64(r.Gaps.Len()+1), 1.0
		for us := range r.Gaps.All() {
			at.us += us
			n++
			for i+1 < len(busy) && busy[i+1].us < at.us {
				i++
			}
			if w.has(at) {
				tokens++
				batch += float64(busy[i].n)
				context += float64(r.Prompt()) + n*each
			}
		}
	}
	if tokens == 0 {
		return Decoding{}
	}
	return Decoding{batch: batch / tokens, context: context / tokens}
}

func (r *Record) decoded() bool { return r.First.ok && r.Last.ok && r.Last.us > r.First.us }

type change struct {
	us int64
	n  int
}

func changes(records []*Record) []change {
	var all []change
	for _, r := range records {
		if r.decoded() {
			all = append(all, change{r.First.us, 1}, change{r.Last.us, -1})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.us, b.us) })
	out := all[:0]
	n := 0
	for _, c := range all {
		n += c.n
		if len(out) > 0 && out[len(out)-1].us == c.us {
			out[len(out)-1].n = n
		} else {
			out = append(out, change{c.us, n})
		}
	}
	return out
}
