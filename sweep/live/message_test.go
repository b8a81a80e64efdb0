package live

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/sweep"
)

func TestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := experiment.Spec{Name: "a", Repeat: 1, Repeats: 2, Point: []experiment.Axis{{Key: "rate", Value: "2"}}, Load: workload.Load{Duration: 20 * second}}
		m := matrixOf(spec, experiment.Spec{Name: "counted", Load: workload.Load{Concurrency: 1, Requests: 100}})
		var out bytes.Buffer
		e := NewMessages(&out, m, nil)
		e.Event(sweep.Event{Started: &sweep.Started{Dir: "results/m/1", Total: 2}})
		time.Sleep(6 * time.Second) // no row runs: nothing to tell
		begun := &sweep.RowEvent{Index: 1, Total: 2, Spec: &m.Points[0], ID: "a,rate=2-r1", Progress: &endpoint.Progress{}}
		begun.Progress.Sent.Store(3)
		e.Event(sweep.Event{Begun: begun})
		time.Sleep(5 * time.Second)
		row := rowOf(spec, 30, stats.Fail, 0)
		row.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
		e.Event(sweep.Event{Finished: &sweep.RowEvent{Index: 1, Total: 2, Spec: &row.Spec, ID: row.ID, Row: row}})
		e.Stop()
		e.End(&sweep.Result{})
		e.End(&sweep.Result{Dir: "results/m/1", Manifest: record.Manifest{State: "done"}})
		want := []string{
			`{"schema":"bench/event/v1","at":"2000-01-01T00:00:00Z","event":"run_started","run":{"dir":"results/m/1","rows":2,"rows_kept":0}}`,
			`{"schema":"bench/event/v1","at":"2000-01-01T00:00:06Z","event":"row_started","row":{"id":"a,rate=2-r1","index":1,"rows":2,"name":"a","point":[{"key":"rate","value":"2"}],"repeat":1,"repeats":2}}`,
			`{"schema":"bench/event/v1","at":"2000-01-01T00:00:10Z","event":"row_progress","row":{"id":"a,rate=2-r1","index":1,"rows":2,"name":"a","point":[{"key":"rate","value":"2"}],"repeat":1,"repeats":2},` +
				`"progress":{"phase":"preparing","elapsed_s":0,"sent":3,"done":0,"failed":0,"in_flight":3,"output_tokens":0,"left_at_least_s":20}}`,
			`{"schema":"bench/event/v1","at":"2000-01-01T00:00:11Z","event":"row_finished","row":{"id":"a,rate=2-r1","index":1,"rows":2,"name":"a","point":[{"key":"rate","value":"2"}],"repeat":1,"repeats":2},` +
				`"result":{"kept":false,"completed":30,"failed":0,"ttft_p50_ms":12.345,"tpot_p50_ms":1.5,"output_tokens_per_s":123.456,"slo":"FAIL","valid":false,"findings":["errors"]}}`,
			`{"schema":"bench/event/v1","at":"2000-01-01T00:00:11Z","event":"run_ended","run":{"dir":"results/m/1","rows":2,"rows_kept":0,"state":"done"}}`,
			"",
		}
		if diff := cmp.Diff(want, strings.Split(out.String(), "\n")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProgressOf(t *testing.T) {
	now := time.Now()
	p := progressOf(endpoint.Snapshot{
		Begun: now.Add(-3 * time.Second), Phase: record.PhaseWindow, Done: 7, Tokens: 70,
		FirstToken: endpoint.LiveLatency{P50: 12.5, P99: math.NaN()}, Lag: endpoint.LiveLatency{P99: 0.25},
	}, now)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"phase":"window","elapsed_s":3,"sent":0,"done":7,"failed":0,"in_flight":0,"output_tokens":70,"ttft_p50_ms":12.5,"lag_p99_ms":0.25,"left_at_least_s":0}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
}

// Each event of a sweep has its name, and the row, the search or the server that it is about.
func TestMessageNames(t *testing.T) {
	row := &sweep.RowEvent{ID: "a-r1", Spec: &experiment.Spec{Name: "a"}, Reason: "why"}
	ended := *row
	ended.Row = rowOf(*row.Spec, 30, stats.Fail, 0)
	search := &experiment.Spec{Name: "s", Search: &experiment.Search{Goal: "slo"}}
	for want, e := range map[string]sweep.Event{
		"server_starting": {Starting: &sweep.Starting{}}, "run_started": {Started: &sweep.Started{}},
		"search_started": {Scouting: search}, "search_ended": {Found: &record.Found{Name: "s", Search: *search.Search}},
		"row_started": {Begun: row}, "row_finished": {Finished: &ended}, "row_skipped": {Skipped: row}, "row_cut": {Cut: row},
	} {
		m := messageOf(e, time.Time{})
		reason := want == "row_skipped" || want == "row_cut"
		if m.Event != want || strings.HasPrefix(want, "row_") != (m.Row != nil && m.Row.ID == "a-r1") ||
			strings.HasPrefix(want, "search_") != (m.Search != nil) || reason != (m.Reason == "why") {
			t.Errorf("%s: %+v", want, m)
		}
	}
}
