package live

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/workload"
	"bench/sweep"
	"bench/sweep/matrix"
)

const second = workload.Span(time.Second)

func matrixOf(points ...experiment.Spec) *matrix.Matrix {
	for i := range points {
		points[i].Repeat = max(1, points[i].Repeat)
	}
	return &matrix.Matrix{Name: "chat", Points: points}
}

// rowOf returns a finished row of a point with n ok requests, each of 12.345 ms.
func rowOf(s experiment.Spec, n int, verdict stats.Verdict, cautions int) *record.Row {
	row := &record.Row{ID: matrix.ID(&s), Spec: s}
	for i := range cautions {
		row.Findings = append(row.Findings, record.Finding{Code: fmt.Sprint("code", i), Severity: record.Caution})
	}
	if verdict != "" {
		row.SLO = []record.Verdict{{Metric: "ttft_p95", Value: new(12.345), Limit: 500, Unit: "ms", Verdict: verdict}}
		switch verdict {
		case stats.Fail:
			row.SLO[0].Limit = 10
		case stats.Undecided:
			row.SLO[0].Need = 41
		}
	}
	row.Summary.Requests = record.Requests{Completed: n}
	row.Summary.TTFT, row.Summary.TPOT = stats.Summarize(slices.Repeat([]float64{12.345}, n)), stats.Summarize(slices.Repeat([]float64{1.5}, 10))
	row.Summary.Throughput.OutputTokensPerS = 123.456
	return row
}

func TestLines(t *testing.T) { synctest.Test(t, lines) }

func lines(t *testing.T) {
	kept := experiment.Spec{Name: "kept", Repeat: 1, Load: workload.Load{Duration: 60 * second}}
	open := experiment.Spec{Name: "a\x1b[2J\u202e", Repeat: 2, Repeats: 2, Load: workload.Load{Duration: 60 * second}}
	fails := experiment.Spec{Name: "fails", Repeat: 1, Load: workload.Load{Duration: 60 * second}}
	row := rowOf(open, 30, "", 1)
	row.Summary.Requests.Completed, row.Summary.Requests.Failed = 1, 2
	row.SLO = []record.Verdict{{Metric: "tpot_p50", Verdict: "PASS"}, {Metric: "ttft_p95", Verdict: "UNDECIDED", Need: 41}}
	failed := rowOf(fails, 400, "", 0)
	failed.SLO = []record.Verdict{{Metric: "ttft_p99", Verdict: "FAIL", Value: new(612.0), Limit: 500, Unit: "ms"}}
	probe := experiment.Spec{Name: "probe", Repeat: 1, Load: workload.Load{Duration: 60 * second}}
	early := rowOf(probe, 400, "", 0)
	early.SLO = []record.Verdict{{Metric: "ttft_p95", Verdict: "FAIL", Value: new(250.0), Limit: 150, Unit: "ms", Observed: 128, Why: "19 of 128 over the limit, 5 % allowed; look 2, after 128 requests"}}
	down := rowOf(experiment.Spec{Name: "down", Repeat: 1, Load: probe.Load}, 6, "", 0)
	down.SLO = []record.Verdict{{Metric: "ttft_p95", Verdict: "FAIL", Limit: 150, Unit: "ms", Observed: 128, Why: "122 of 128 over the limit, 5 % allowed (122 of them failed)"}}
	var out bytes.Buffer
	x := NewLines(&out, matrixOf(kept, open, fails), nil)
	x.Event(sweep.Event{Starting: &sweep.Starting{N: 1, Variant: "n=2", Log: "results/m/1/server-1.log", LastLine: func() string { return "loading\x1b[2J " + strings.Repeat("x", 200) }}})
	time.Sleep(21 * time.Second)
	for _, e := range []sweep.Event{
		{Started: &sweep.Started{Dir: "results/m/1", Total: 3, Kept: 1}},
		{Finished: &sweep.RowEvent{Index: 1, Total: 3, Kept: true, Row: &record.Row{ID: "kept-r1", Spec: kept}}},
		{Begun: &sweep.RowEvent{Index: 2, Total: 3, Spec: &open, ID: matrix.ID(&open), Progress: &endpoint.Progress{}}},
		{Finished: &sweep.RowEvent{Index: 2, Total: 3, Row: row}},
		{Begun: &sweep.RowEvent{Index: 3, Total: 3, Spec: &fails, ID: matrix.ID(&fails), Progress: &endpoint.Progress{}}},
		{Finished: &sweep.RowEvent{Index: 3, Total: 3, Row: failed}},
		{Finished: &sweep.RowEvent{Index: 4, Total: 5, Row: early}},
		{Finished: &sweep.RowEvent{Index: 5, Total: 5, Row: down}},
	} {
		x.Event(e)
	}
	time.Sleep(time.Minute) // no server starts any more
	fmt.Fprintln(x, "note: of others")
	x.Stop()
	log := `loading\x1b[2J ` + strings.Repeat("x", 84) + "…"
	want := `TIME starting server 1 n=2 (log: results/m/1/server-1.log)
TIME starting server 1 n=2: 10s  ` + log + `
TIME starting server 1 n=2: 20s  ` + log + `
results go to results/m/1
1 of 3 rows are kept
TIME [1/3] kept: kept
TIME [2/3] a\x1b[2J\u202e … 1m 00s to 3m 01s
TIME [2/3] a\x1b[2J\u202e (repeat 2): UNDECIDED (TTFT p95 needs 41 more requests), 123 tok/s, 1 caution, n=1, 2 FAILED, TTFT p50 12.3 ms p95 ≥12.3 ms, TPOT p50 ~1.50 ms; 1m 00s to 3m 01s left
TIME [3/3] fails … 1m 00s to 3m 01s
TIME [3/3] fails: FAIL (TTFT p99 612 ms > 500 ms), 123 tok/s, n=400, TTFT p50 12.3 ms p95 12.3 ms p99 ~12.3 ms, TPOT p50 ~1.50 ms
TIME [4/5] probe: FAIL (TTFT p95 250 ms > 150 ms after 128 requests), 123 tok/s, n=400, TTFT p50 12.3 ms p95 12.3 ms p99 ~12.3 ms, TPOT p50 ~1.50 ms
TIME [5/5] down: FAIL (TTFT p95: 122 of 128 over the limit, 5 % allowed, 122 of them failed), 123 tok/s, n=6, TTFT p50 ~12.3 ms p95 ≥12.3 ms, TPOT p50 ~1.50 ms
note: of others
`
	if diff := cmp.Diff(want, regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `).ReplaceAllString(out.String(), "TIME ")); diff != "" {
		t.Error(diff)
	}
}

// A name too wide for its column is cut, not the point that distinguishes it.
func TestTitle(t *testing.T) {
	at := func(name string, repeats int, axes ...experiment.Axis) *experiment.Spec {
		return &experiment.Spec{Name: name, Point: axes, Repeat: 2, Repeats: repeats}
	}
	four, cold := experiment.Axis{Key: "concurrency", Value: "4"}, experiment.Axis{Key: "prefix.state", Value: "cold"}
	for _, tt := range []struct {
		spec  *experiment.Spec
		width int
		want  string
	}{
		{at("load", 1, four), 30, "load concurrency=4"},
		{at("D-saturation", 3, four), 17, "D-sat…rrency=4 r2"},
		{at("E-shared-prefix", 1, cold), 17, "E-sha….state=cold"},
		{at("a-name-that-is-too-long", 1), 10, "a-n…o-long"},
	} {
		got := title(tt.spec, tt.width)
		if got != tt.want || text.Width(got) > tt.width {
			t.Errorf("in %d: %q, want %q", tt.width, got, tt.want)
		}
	}
}

func TestFindingsText(t *testing.T) {
	of := func(s ...record.Severity) *record.Row {
		r := &record.Row{}
		for i, x := range s {
			r.Findings = append(r.Findings, record.Finding{Code: fmt.Sprint(i), Severity: x})
		}
		return r
	}
	for want, row := range map[string]*record.Row{
		"": of(record.Note), "1 caution": of(record.Note, record.Caution), "2 cautions": of(record.Caution, record.Caution),
		"INVALID: 1": of(record.Caution, record.Invalid),
	} {
		if got := findingsText(row); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
