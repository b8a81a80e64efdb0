package diagnosis

import (
	"slices"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// TestRuler: what is measured and what is likely, from 0 to beyond the highest load.
func TestRuler(t *testing.T) {
	at := func(n int, v stats.Verdict) record.Row { return offered(n, float64(100*n), judged("ttft_p99", v)) }
	likely := offered(8, 800, needs("ttft_p99", 40))
	for name, c := range map[string]struct {
		rows []record.Row
		want []RulerPart
	}{
		"pass and fail":   {[]record.Row{at(2, stats.Pass), at(4, stats.Pass), at(16, stats.Fail)}, []RulerPart{{4, Meets}, {16, Open}, {16 * rulerEnd, Misses}}},
		"likely":          {[]record.Row{at(4, stats.Pass), likely, at(16, stats.Fail)}, []RulerPart{{4, Meets}, {8, Likely}, {16, Open}, {16 * rulerEnd, Misses}}},
		"nothing fails":   {[]record.Row{at(2, stats.Pass), at(4, stats.Pass)}, []RulerPart{{4, Meets}, {4 * rulerEnd, Open}}},
		"all loads fail":  {[]record.Row{at(2, stats.Fail), at(4, stats.Fail)}, []RulerPart{{2, Open}, {4 * rulerEnd, Misses}}},
		"one load":        {[]record.Row{at(2, stats.Pass)}, nil},
		"pass after fail": {[]record.Row{at(2, stats.Fail), at(4, stats.Pass)}, []RulerPart{{2, Open}, {4 * rulerEnd, Misses}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := answerOf(c.rows).Workloads[0].Ruler
			if r == nil && c.want == nil {
				return
			}
			if r == nil || !slices.Equal(r.Parts, c.want) || r.End != r.Parts[len(r.Parts)-1].To {
				t.Errorf("%+v, want %v", r, c.want)
			}
		})
	}
}
