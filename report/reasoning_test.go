package report

import (
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// TestEstimatedReasoning: counts that are estimates are marked in the text, which every format shows.
func TestEstimatedReasoning(t *testing.T) {
	for estimated, want := range map[bool]string{true: "≈12.0", false: "12.0"} {
		row := record.Row{ID: "a"}
		row.Summary.Reasoning = &record.Reasoning{Estimated: estimated, Tokens: stats.Summarize([]float64{12, 12, 12})}
		run := Run{Run: record.Run{Manifest: record.Manifest{Plan: []record.Planned{{ID: "a"}}}, Rows: []record.Row{row}}}
		cells := reasoningTable(&run).Rows[0]
		if got := cells[3].Text; got != want {
			t.Errorf("estimated %v: %q, want %q", estimated, got, want)
		}
		if got := cells[5].Text; got != Absent().Text {
			t.Errorf("no figure: %q", got)
		}
	}
}
