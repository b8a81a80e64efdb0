package endpoint

import (
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
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
	if n := row.Summary.Requests.Planned; n != 64 || row.Summary.Requests.Unfinished > 0 || row.Window.DecidedUs == 0 {
		t.Errorf("decided after %d, %d requests in the window, %d records", v.Observed, n, len(records))
	}
}

// A row that the server does not keep up with sends its window as asked, all of which ends, and hardly anything behind it.
func TestOverloadedRowStopsSending(t *testing.T) {
	s := mocked(t, mock.Config{MaxNumSeqs: 2, StepBase: 3 * time.Millisecond}, experiment.Target{}, target.Completions)
	behind := map[string]int{} // the window, by limit: 95 of the 150 are left when it ends, for 0.9 s
	for _, limit := range []string{"50ms", "30s"} {
		spec := point()
		spec.Warmup, spec.Rate, spec.Concurrency, spec.Requests = workload.Extent{}, 300, 0, 0
		spec.Duration = workload.Span(500 * time.Millisecond)
		spec.SLO = fixture.SLO(t, `ttft_p95 = "`+limit+`"`)
		row, records := measure(t, s, spec)
		for _, r := range records {
			if r.Phase == record.PhaseCooldown {
				behind[limit]++
			}
		}
		q, verdict := row.Summary.Requests, row.SLO[0].Verdict
		if q.Planned != 150 || q.Failed > 0 || row.Window.EndUs != 500_000 || (verdict == "FAIL") != (limit == "50ms") {
			t.Errorf("limit %s: %s, %+v", limit, fixture.Verdict(row.SLO[0]), q)
		}
	}
	if 2*behind["50ms"] > behind["30s"] {
		t.Errorf("behind the window: %v", behind)
	}
}

// What is in flight at the decision is cancelled: it is behind the window, no failure of the server, and in no figure;
// the window has the requests that decided it, all ended. Where the server does not report its requests, nothing shows
// when it has dropped cancelled ones: they end.
func TestDecidedRowCancelsWhatIsInFlight(t *testing.T) {
	for _, metrics := range []string{"auto", telemetry.Off} {
		s := mocked(t, mock.Config{TTFT: 500 * time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, target.Completions)
		s.OpenTelemetry(t.Context(), Telemetry{Server: telemetry.Pages{Source: metrics}, GPU: telemetry.Off}, record.RooflineSource{})
		spec := point()
		spec.Warmup, spec.Rate, spec.Concurrency, spec.Requests, spec.Duration = workload.Extent{}, 100, 0, 4000, 0
		spec.Until, spec.SLO = experiment.UntilDecided, fixture.SLO(t, `error_rate = 0.1`)
		row, records := measure(t, s, spec)
		q, w := row.Summary.Requests, row.Window
		if row.SLO[0].Verdict != "PASS" || q.Planned != 64 || q.Failed > 0 || q.Unfinished > 0 {
			t.Errorf("metrics %s: %s with %+v", metrics, fixture.Verdict(row.SLO[0]), q)
		}
		cancelled := checkBehind(t, records, w)
		if w.Cancelled != cancelled || s.Abandoned != cancelled || (cancelled > 20) != (metrics == "auto") {
			t.Errorf("metrics %s: %d cancelled, %d abandoned: %+v", metrics, cancelled, s.Abandoned, w)
		}
	}
}

// checkBehind tests that the first 64 requests are the window, and counts the cancelled ones.
func checkBehind(t *testing.T, records []*record.Record, w record.Window) (cancelled int) {
	t.Helper()
	for i, r := range records {
		if window := i < 64; r.I != i || window != (r.Phase == record.PhaseWindow) || window && !r.OK() {
			t.Errorf("record %d: request %d, %s, %s", i, r.I, r.Phase, r.Outcome)
		}
		if r.Outcome == "unfinished" {
			cancelled++
			if !strings.Contains(r.Error, "decided") {
				t.Errorf("request %d: %s", i, r.Error)
			}
		}
	}
	if w.EndUs != records[64].Arrival.Us() || w.DecidedUs < records[63].End.Us() {
		t.Errorf("next arrival %d µs: %+v", records[64].Arrival.Us(), w)
	}
	return cancelled
}
