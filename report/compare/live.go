package compare

import (
	"math"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// liveDifferences of two recordings change their figures too, not the server alone. nil: one is no recording.
func liveDifferences(base, changed *record.Row) (out []Difference) {
	if !base.Observed || !changed.Observed {
		return nil
	}
	a, b := base.Lengths, changed.Lengths
	for _, x := range []struct {
		what    string
		was, is *stats.Summary
		effect  string
	}{
		{"prompt tokens, mean", a.PromptTokens, b.PromptTokens, "longer prompts take longer to prefill"},
		{"output tokens, mean", a.OutputTokens, b.OutputTokens, "longer answers take longer, at the same TPOT"},
	} {
		if x.was != nil && x.is != nil && math.Abs(x.is.Mean/x.was.Mean-1) > alikeTraffic {
			out = append(out, Difference{What: x.what, Base: unit.Digits(x.was.Mean), New: unit.Digits(x.is.Mean), Effect: x.effect})
		}
	}
	return out
}

// alikeTraffic is the largest relative difference of mean lengths that is not reported.
const alikeTraffic = 0.05
