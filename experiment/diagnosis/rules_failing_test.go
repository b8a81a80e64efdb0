package diagnosis

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// dies is a server that ends in the middle of a row.
func dies(r *record.Row) {
	r.Summary.Requests = record.Requests{Planned: 42, Completed: 9, Failed: 33, Errors: map[string]int{"protocol": 4, "status": 1, "connect": 28}}
	r.Failure = &record.Failure{Outcome: "protocol", Error: "EngineDeadError", AtS: 4.2}
	r.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}, {Code: "client_bound", Severity: record.Caution}}
	r.Summary.Lag = flat(100, 100)
}

// stops is a server that sends nothing for 5 s; touched is the number of requests that it delays.
func stops(r *record.Row, touched int) {
	r.Window.EndUs = 60_000_000
	r.Stalls, r.Stalled = []record.Stall{{FromUs: 20_000_000, ToUs: 25_000_000, InFlight: 20}}, touched
	r.Findings = []record.Finding{{Code: "server_stalled", Severity: record.Caution}}
}

// A server that fails or stands still is named before the client that waits for it.
func TestFailingAndStalledServers(t *testing.T) {
	timeouts := func(r *record.Row) {
		r.Summary.Requests = record.Requests{Planned: 100, Completed: 50, Failed: 50, Errors: map[string]int{"timeout": 50}}
		r.Failure = &record.Failure{Outcome: "timeout", Error: "no answer within 10s", AtS: 12, Later: 40}
	}
	for _, c := range []struct {
		name     string
		change   func(r *record.Row)
		want     Bottleneck
		symptom  string
		evidence string
		response string
	}{
		{"stands still", func(r *record.Row) { stops(r, 100) }, serverStalled, "sent nothing for", "", "look for a suspended process"},
		{"dead", dies, serverFailing, "28 connect, 4 protocol, 1 status of 42; first: EngineDeadError", "first failure, after 4.20 s", "find in the server's log why it ended"},
		{"refused", func(r *record.Row) {
			dies(r)
			r.Failure = &record.Failure{Outcome: "status", Status: 503, Error: "HTTP 503", Later: 8}
		}, serverFailing, "first: HTTP 503", "", "refuses this load"},
		{"rate limit", func(r *record.Row) {
			dies(r)
			r.Summary.Requests.Errors, r.Summary.Throughput.RequestsPerS = map[string]int{"status": 33}, 2.94
			r.Failure = &record.Failure{Outcome: "status", Status: 429, Error: "HTTP 429 (Retry-After 1)", Later: 8}
		}, rateLimited, "33 status of 42; first: HTTP 429 (Retry-After 1)", "requests/s completed 2.94", "keep the rate below 2.9/s"},
		{"one 429 among lost connections", func(r *record.Row) {
			dies(r)
			r.Failure = &record.Failure{Outcome: "status", Status: 429, Error: "HTTP 429", Later: 8}
		}, serverFailing, "first: HTTP 429", "", "refuses this load"},
		{"a wrong request", func(r *record.Row) {
			dies(r)
			r.Failure = &record.Failure{Outcome: "status", Status: 400, Error: "HTTP 400: max_tokens"}
		}, serverFailing, "max_tokens", "", "correct the row"},
		{"time-outs", timeouts, serverFailing, "50 timeout of 100", "", "still works on requests"},
		{"time-outs of requests that wait", func(r *record.Row) {
			timeouts(r)
			r.Server.Metrics.Waiting, r.Summary.TTFT, r.Summary.Throughput.RequestsPerS = level(9), flat(5000, 9000), 2
		}, queueing, "", "", ""},
		{"no file descriptor left", func(r *record.Row) {
			dies(r)
			r.Failure = &record.Failure{Outcome: "connect", Error: "too many open files", ClientLimit: true}
		}, clientLimited, "too many open files", "", "this machine's limit"},
		{"as many as the SLO allows", func(r *record.Row) {
			r.Summary.Requests = record.Requests{Planned: 300, Completed: 290, Failed: 10, Errors: map[string]int{"status": 10}}
			r.Spec.SLO.Limits = []experiment.Limit{{Metric: "error_rate", Value: 0.05}}
		}, bandwidthBoundDecode, "", "", ""},
		{"stopped", func(r *record.Row) { stops(r, 40) }, serverStalled, "nothing for 5.00 s", "requests in flight 20", "suspended process"},
		{"stopped, with a slow client", func(r *record.Row) {
			stops(r, 40)
			r.Findings = append(r.Findings, record.Finding{Code: "client_bound", Severity: record.Caution})
			r.Summary.Lag = flat(30, 60)
		}, serverStalled, "", "", ""},
		{"a stall that no percentile has", func(r *record.Row) {
			stops(r, 2)
			r.Stalls[0].ToUs = r.Stalls[0].FromUs + 1_200_000
		}, bandwidthBoundDecode, "", "", ""},
	} {
		d := lastOf(as(c.change))
		evidence := ""
		for _, e := range d.Evidence {
			evidence += e.String() + "; "
		}
		if d.Bottleneck != c.want || !strings.Contains(d.Observation, c.symptom) || !strings.Contains(evidence, c.evidence) || !strings.Contains(d.Response, c.response) {
			t.Errorf("%s: %s, want %s: %+v", c.name, d.Bottleneck, c.want, d)
		}
	}
}

// Beside a stall only what is outside of it is claimed: medians, if it touches less than half of the requests.
func TestNothingOfAStallIsClaimed(t *testing.T) {
	queued := func(touched int) func(*record.Row) {
		return func(r *record.Row) {
			stops(r, touched)
			r.Summary.TTFT, r.Server.Metrics.Waiting = flat(40, 4000), &telemetry.Gauge{Mean: 2, Max: 20}
		}
	}
	for touched, want := range map[int][]Bottleneck{20: {serverStalled, bandwidthBoundDecode}, 200: {serverStalled}} {
		var got []Bottleneck
		for _, d := range diagnosesOf(as(queued(touched))) {
			got = append(got, d.Bottleneck)
		}
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%d touched: %v, want %v", touched, got, want)
		}
	}
}

// A point whose server failed is no lower load to compare with.
func TestFailedPointsAreNotCompared(t *testing.T) {
	more := func(r *record.Row) {
		r.Spec.Concurrency, r.Spec.Point[0].Value, r.Summary.Throughput.OutputTokensPerS, r.Summary.TPOT = 16, "16", 1600, flat(10, 11)
	}
	if d := lastOf(pair(same, more)); d.Bottleneck != batchingTradeoff {
		t.Errorf("%+v", d)
	}
	if d := lastOf(pair(dies, more)); d.Bottleneck != bandwidthBoundDecode {
		t.Errorf("%+v", d)
	}
}

// TestFailureText names the most frequent failure first.
func TestFailureText(t *testing.T) {
	r := &record.Row{}
	r.Summary.Requests.Planned = 43
	if got := failureText(r, map[string]int{"connect": 3, "timeout": 40}); got !=
		"requests failed: 40 timeout, 3 connect of 43" {
		t.Error(got)
	}
}
