package series

import (
	"math"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// A server that drafts is compared with the same point of the one that does not, and with no other.
func TestSpeculationGains(t *testing.T) {
	row := func(load, drafts string, tpot, output float64, s *record.Speculation) record.Row {
		values := make([]float64, 400)
		for i := range values {
			values[i] = tpot
		}
		r := record.Row{Spec: experiment.Spec{Name: "A", Variant: "drafts=" + drafts, Point: []experiment.Axis{{Key: "concurrency", Value: load}, {Key: "drafts", Value: drafts}}}, Speculation: s}
		r.Summary = record.Summary{TPOT: stats.Summarize(values), Throughput: record.Throughput{OutputTokensPerS: output}}
		return r
	}
	s := &record.Speculation{AcceptanceLength: new(2.8)}
	invalid := row("2", "3", 1, 900, s)
	invalid.Findings = []record.Finding{{Code: "client_bound", Severity: record.Invalid}}
	got := SpeculationGains([]record.Row{row("1", "0", 10, 100, nil), row("2", "0", 20, 150, nil), row("1", "3", 6.1, 160, s), invalid})
	if len(got) != 1 {
		t.Fatalf("%d gains: %+v", len(got), got)
	}
	g := got[0]
	if math.Abs(g.TPOT.Value-0.61) > 1e-9 || math.Abs(g.TPOT.CI95.Lo-0.61) > 1e-9 || g.Output.Value != 1.6 || g.On != "drafts=3" || g.Off != "drafts=0" || g.Point[0].Value != "1" || len(g.Point) != 1 {
		t.Errorf("%+v", g)
	}
}
