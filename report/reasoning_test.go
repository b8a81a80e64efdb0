package report

import (
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// TestEstimatedReasoning: counts that are estimates are marked in the text, which every format shows.
func TestEstimatedReasoning(t *testing.T) {
	tokens := stats.Summarize([]float64{12, 12, 12})
	for estimated, want := range map[bool]string{true: "≈12.0", false: "12.0"} {
		if c := reasoningTokens(&record.Reasoning{Estimated: estimated}, tokens, "p50"); c.Text != want {
			t.Errorf("estimated %v: %q, want %q", estimated, c.Text, want)
		}
	}
	if c := reasoningTokens(&record.Reasoning{Estimated: true}, nil, "p50"); c.Text != Absent().Text {
		t.Errorf("no figure: %q", c.Text)
	}
}
