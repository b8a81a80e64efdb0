package compare

import (
	"testing"

	"bench/experiment/record"
	"bench/experiment/workload"
)

// At a rate that both sides keep, throughput is that of the arrivals: no finding.
func TestGivenByTheRate(t *testing.T) {
	side := func(change func(*record.Row)) []sample {
		row := &record.Row{}
		row.Spec.Rate, row.Spec.Output = 10, workload.Fixed(64)
		if change != nil {
			change(row)
		}
		return []sample{{row: row}}
	}
	for _, c := range []struct {
		figure string
		change func(*record.Row)
		want   bool
	}{
		{"output_tokens_per_s", nil, true},
		{"requests_per_s", nil, true},
		{"ttft_p50", nil, false},
		{"output_tokens_per_s", func(r *record.Row) { r.Spec.Rate, r.Spec.Concurrency = 0, 8 }, false},
		{"output_tokens_per_s", func(r *record.Row) { r.Spec.Stop = "natural" }, false},
		{"requests_per_s", func(r *record.Row) { r.Spec.Stop = "natural" }, true},
		{"requests_per_s", func(r *record.Row) { r.Findings = []record.Finding{{Code: "rate_not_achieved"}} }, false},
	} {
		if got := (pair{base: side(nil), changed: side(c.change)}).given(c.figure); got != c.want {
			t.Errorf("%s: %v", c.figure, got)
		}
	}
}
