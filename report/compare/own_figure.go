package compare

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// ofSomeRows: only rows with sessions, checked answers or drafts have it, and it is no percentile.
func (f figure) ofSomeRows() bool {
	return f.stat == "" && slices.Contains([]string{metric.Interactivity, metric.AnswersValid, metric.AnswersCorrect,
		metric.AcceptanceRate, metric.AcceptanceLength, metric.TokensPerStep}, f.Name)
}

// ownVariance is that within a row, one of so many repeats of its side, on the scale of comparison; 0 = unknown. The
// answers to one prompt count together.
func (f figure) ownVariance(s *sample, repeats int) float64 {
	x, _ := s.row.Figure(f.key)
	switch f.Name {
	case metric.Interactivity:
		return varianceOfInteractivity(s)
	case metric.AnswersValid, metric.AnswersCorrect:
		return shareVariance(x, s.row.AnswersShare(f.Name).Effective)
	case metric.AcceptanceRate:
		return shareVariance(x, s.independent(repeats))
	default:
		return stepVariance(x, draftLength(s.row.Speculation), s.independent(repeats))
	}
}

// stepVariance is that of the logarithm of the tokens of a step. A step has one and a share of its draft; without the
// length of a draft the tokens are 1 ÷ (1 − share of accepted tokens).
func stepVariance(tokens, draft, n float64) float64 {
	if draft == 0 {
		return shareVariance(1-1/tokens, n) * tokens * tokens
	}
	return shareVariance((tokens-1)/draft, n) * draft * draft / (tokens * tokens)
}

func varianceOfInteractivity(s *sample) float64 {
	if w := s.resample(metric.E2EPerToken); w != nil {
		p90 := figure{key: metric.Interactivity, stat: metric.P90}
		return w.Variance(func(w *stats.Resample) float64 { return math.Log(p90.resampled(w)) }, p90.random(s.row))
	}
	if x := s.row.Sessions.Interactivity; x.CI95 != nil {
		return logVariance(stats.Interval{Lo: x.CI95[0], Hi: x.CI95[1]})
	}
	return 0
}

// leastShowing is the number of repeats of a side from which on they show the sampling error of counters.
const leastShowing = 3

// independent is the number of values behind the figures of the drafts. A few repeats count each prompt once: the
// tokens of its answers resemble each other, at most as if all were accepted or none. Answers of other lengths have
// other weights (Kish, "Survey Sampling", section 11.7). Several repeats show the dependence themselves: each token
// counts.
func (s *sample) independent(repeats int) float64 {
	if repeats >= leastShowing && s.row.Speculation.DraftTokens != nil {
		return max(1, *s.row.Speculation.DraftTokens)
	}
	sum, squares := 0.0, 0.0
	before := map[string]float64{} // tokens of a prompt; synthetic ones are all different
	for _, r := range s.window {
		tokens, others := float64(r.OutputTokens), before[r.PromptHash]
		sum, squares = sum+tokens, squares+(others+tokens)*(others+tokens)-others*others
		if r.PromptHash != "" {
			before[r.PromptHash] += tokens
		}
	}
	if squares == 0 {
		return float64(max(1, s.row.Summary.Requests.Completed))
	}
	return sum * sum / squares
}

func draftLength(x *record.Speculation) float64 {
	if x.Drafts == nil || x.DraftTokens == nil || *x.Drafts == 0 {
		return 0
	}
	return *x.DraftTokens / *x.Drafts
}

// unlike is why a figure means something else on the two sides, or cannot be trusted on one; empty: neither.
func (f figure) unlike(of [2][]sample) string {
	samples := slices.Concat(of[0], of[1])
	switch f.Name {
	case metric.AcceptanceRate, metric.AcceptanceLength, metric.TokensPerStep:
		return f.unlikeDrafts(samples)
	case metric.Interactivity:
		for _, s := range samples {
			x, least := s.row.Sessions.PerToken, stats.MinSamples(0.9, Confidence)
			if x.N < least || s.row.Sessions.Interactivity.CI95 == nil && f.within(&s, 1) == 0 {
				return fmt.Sprintf("n=%d is too small for p90: a repeat needs %d requests", x.N, least)
			}
		}
	}
	if f.Name != metric.SessionTime {
		return ""
	}
	for _, s := range samples {
		x := s.row.Sessions
		if x.LacksLong(string(f.stat)) {
			return fmt.Sprintf("%s of %s of a repeat did not complete: the times lack the long ones",
				unit.Count(x.Missing()), unit.Plural(x.Started, "session"))
		}
		if math.IsInf(x.Time.CI95[string(f.stat)].Hi, 1) && f.within(&s, 1) == 0 {
			return fmt.Sprintf("n=%d is too small for %s: the sessions depend on each other", x.Time.N, f.stat)
		}
	}
	return ""
}

// unlikeDrafts: the rate falls with the length of a draft, as its later tokens are accepted less often.
func (f figure) unlikeDrafts(samples []sample) string {
	first := samples[0].row.Speculation
	for _, s := range samples[1:] {
		x := s.row.Speculation
		if x.Source != first.Source {
			return fmt.Sprintf("the counts are by %s and by %s", first.Source, x.Source)
		}
		was, is := draftLength(first), draftLength(x)
		const alike = 0.05
		if f.Name == metric.AcceptanceRate && was > 0 && is > 0 && math.Abs(is/was-1) > alike {
			return fmt.Sprintf("drafts have %s and %s tokens: see acceptance_length", unit.Brief(was, 2),
				unit.Brief(is, 2))
		}
	}
	return ""
}
