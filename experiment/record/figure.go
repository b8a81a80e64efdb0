package record

import (
	"cmp"
	"math"

	"bench/experiment/metric"
	"bench/experiment/stats"
)

// Figure is the value of a metric's key, ttft_p95 or output_tokens_per_s. ok is false if the row has none.
func (r *Row) Figure(key string) (x float64, ok bool) {
	name, stat := metric.Cut(key)
	if stat != "" {
		x, ok := r.Values(name).Get(string(stat))
		return x, ok && !math.IsNaN(x) // another tool's summary can lack it
	}
	t := &r.Summary.Throughput
	switch name {
	case metric.ErrorRate:
		return r.Summary.FailedShare(), r.Summary.Requests.Stayed() > 0
	case metric.RequestsPerS:
		return t.RequestsPerS, true
	case metric.PromptTokensPerS:
		return t.PromptTokensPerS, true
	case metric.OutputTokensPerS:
		return t.OutputTokensPerS, true
	case metric.OutputTokensPerSPerGPU:
		return known(t.OutputTokensPerSPerGPU)
	case metric.EnergyPerToken, metric.TokensPerJoule:
		if r.Energy != nil {
			return r.Energy.Figure(name), true
		}
	case metric.GoodputRequestsPerS:
		if g := r.Summary.Goodput; g != nil {
			return g.RequestsPerS, true
		}
	case metric.Interactivity:
		if r.Sessions != nil && r.Sessions.Interactivity != nil {
			return r.Sessions.Interactivity.TokensPerS, true
		}
	case metric.AnswersValid, metric.AnswersCorrect:
		if x := r.AnswersShare(name); x != nil {
			return x.Share, true
		}
	case metric.AcceptanceRate:
		return known(r.drafts().AcceptanceRate)
	case metric.AcceptanceLength:
		return known(r.drafts().AcceptanceLength)
	case metric.TokensPerStep:
		return known(r.drafts().TokensPerStep)
	}
	return 0, false
}

func known(x *float64) (float64, bool) {
	if x == nil {
		return 0, false
	}
	return *x, true
}

// drafts are without a figure if the row has none.
func (r *Row) drafts() *Speculation { return cmp.Or(r.Speculation, &Speculation{}) }

// AnswersShare is the share of valid or correct answers; nil = none were checked.
func (r *Row) AnswersShare(name string) *Share {
	switch a := r.Summary.Answers; {
	case a == nil:
		return nil
	case name == metric.AnswersValid:
		return a.Valid
	default:
		return a.Correct
	}
}

// Values are those of a metric with statistics; nil = the row has none.
func (r *Row) Values(name string) *stats.Summary {
	switch name {
	case metric.SessionTime:
		if r.Sessions == nil {
			return nil
		}
		return r.Sessions.Time
	case metric.ReasoningTokens:
		if r.Summary.Reasoning == nil {
			return nil
		}
		return r.Summary.Reasoning.Tokens
	}
	return r.Summary.Latency(name)
}
