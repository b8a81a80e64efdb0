package record

import (
	"testing"

	"bench/experiment"
)

// Goodput counts what a load worker sent in the window beside its part of a counted number of requests, as throughput does.
func TestGoodputOfWorkers(t *testing.T) {
	worker := 1
	window := Window{EndUs: 1e6}
	var records []*Record
	for i, phase := range []string{PhaseWindow, PhaseWindow, PhaseCooldown, PhaseCooldown} {
		at := int64(i) * 400_000 // the last one arrives behind the window
		records = append(records, &Record{I: i, Worker: &worker, Phase: phase, Arrival: At(at), Sent: At(at), First: At(at + 1000), Last: At(at + 1000), End: At(at + 1000),
			OutputTokens: 1, Outcome: "ok"})
	}
	each := []experiment.Limit{{Key: "ttft", Metric: "ttft", Value: 5}}
	if g := GoodputOf(records, window, true, each); g.RequestsPerS != 3 || g.Share != 1 {
		t.Errorf("of a worker: %+v", g)
	}
	for _, r := range records {
		r.Worker = nil
	}
	if g := GoodputOf(records, window, true, each); g.RequestsPerS != 2 {
		t.Errorf("without workers: %+v", g)
	}
}
