package record

import "bench/experiment/stats"

// Reasoning describes the completed requests of the window whose answers have reasoning.
type Reasoning struct {
	Requests   int  `json:"requests"`
	Unanswered int  `json:"unanswered"` // of them, ended before an answer token: their ttfo is infinite
	Estimated  bool `json:"estimated"`  // at least one count of reasoning tokens is the client's

	Tokens       *stats.Summary `json:"tokens"`        // reasoning tokens of a request
	AnswerTokens *stats.Summary `json:"answer_tokens"` // its other output tokens
	TimeMs       *stats.Summary `json:"time_ms"`       // first token → first answer token; null = not streamed
}

func reasoningOf(completed []*Record) *Reasoning {
	var r Reasoning
	var tokens, answers, times []float64
	for _, q := range completed {
		if q.ReasoningTokens == nil {
			continue
		}
		r.Requests++
		r.Estimated = r.Estimated || q.ReasoningEstimated
		tokens = append(tokens, float64(*q.ReasoningTokens))
		answers = append(answers, float64(max(0, q.OutputTokens-*q.ReasoningTokens)))
		if ms, ok := q.reasoningTime(); ok {
			times = append(times, ms)
		}
		if q.Unanswered() {
			r.Unanswered++
		}
	}
	if r.Requests == 0 {
		return nil
	}
	r.Tokens, r.AnswerTokens, r.TimeMs = stats.Summarize(tokens), stats.Summarize(answers), stats.Summarize(times)
	return &r
}

// FirstOfAnswer is the first answer token: without reasoning the first token, and zero for reasoning without an answer.
func (r *Record) FirstOfAnswer() Micros {
	if r.ReasoningTokens == nil {
		return r.First
	}
	return r.FirstAnswer
}

// Unanswered reports whether a complete answer is reasoning only: most often it reached its limit of tokens.
func (r *Record) Unanswered() bool {
	if !r.OK() || r.ReasoningTokens == nil {
		return false
	}
	if r.FirstEvent.ok { // streamed
		return r.FirstAnswer.IsZero()
	}
	return *r.ReasoningTokens >= r.OutputTokens
}

func (r *Record) reasoningTime() (ms float64, ok bool) {
	if !r.First.ok || !r.FirstAnswer.ok || r.hidden() {
		return 0, false
	}
	return float64(r.FirstAnswer.us-r.First.us) / UsPerMs, true
}

// hidden reports whether the server counts reasoning that it does not stream: the first token is one of the answer.
func (r *Record) hidden() bool {
	return r.ReasoningTokens != nil && r.First.ok && r.FirstAnswer == r.First
}

func (r *Record) streamed() int {
	if r.hidden() {
		return r.OutputTokens - *r.ReasoningTokens
	}
	return r.OutputTokens
}
