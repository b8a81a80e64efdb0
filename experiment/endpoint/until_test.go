package endpoint

import (
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/fixture"
	"bench/experiment/mock"
	"bench/experiment/target"
)

// Through the whole of a run: the load stops when the SLO is decided, long before its most requests.
func TestRunUntilDecided(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, target.Completions)
	spec := point()
	spec.Rate, spec.Concurrency, spec.Requests, spec.Duration = 0, 8, 4000, 0
	spec.Until, spec.SLO = experiment.UntilDecided, fixture.SLO(t, `error_rate = 0.1`) // a latency of a busy machine depends on itself, and would take longer
	row, records := measure(t, s, spec)
	v := row.SLO[0]
	if v.Verdict != "PASS" || v.Observed != 64 {
		t.Errorf("%s: %s", fixture.Verdict(v), v.Why)
	}
	if n := row.Summary.Requests.Planned; n < v.Observed || n > v.Observed+200 || row.Summary.Requests.Unfinished > 0 {
		t.Errorf("decided after %d, %d requests in the window, %d records", v.Observed, n, len(records))
	}
}
