package check

import (
	"testing"

	"bench/experiment/record"
)

// Callers of live traffic may ask for no stream: such answers have no TTFT by their nature.
func TestObservedWithoutStream(t *testing.T) {
	whole := &record.Record{Outcome: "ok", Phase: record.PhaseWindow, End: record.At(2000)}
	e := evidence{Row: &record.Row{Observed: true}, records: []*record.Record{whole}}
	e.Summary.Requests.Completed = 1
	f := checkTokenTimes(&e)
	if f.severity != record.Note || f.problem != "1 of 1 answers were not streamed: no TTFT, no TPOT" {
		t.Errorf("%+v", f)
	}
}
