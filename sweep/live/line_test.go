package live

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/sweep"
)

const second = workload.Span(time.Second)

// matrixOf returns a matrix of points.
func matrixOf(points ...experiment.Spec) *sweep.Matrix {
	for i := range points {
		points[i].Repeat = max(1, points[i].Repeat)
	}
	return &sweep.Matrix{Name: "chat", Points: points}
}

// rowOf returns a finished row of a point with n ok requests, each of 12.345 ms.
func rowOf(s experiment.Spec, n int, verdict stats.Verdict, cautions int) *record.Row {
	row := &record.Row{ID: sweep.ID(&s), Spec: s}
	for i := range cautions {
		row.Findings = append(row.Findings, record.Finding{Code: fmt.Sprint("code", i), Severity: record.Caution})
	}
	if verdict != "" {
		row.SLO = []record.Verdict{{Verdict: string(verdict)}}
	}
	row.Summary.Requests = record.Requests{Completed: n}
	row.Summary.TTFT, row.Summary.TPOT = stats.Summarize(slices.Repeat([]float64{12.345}, n)), stats.Summarize(slices.Repeat([]float64{1.5}, 10))
	row.Summary.Throughput.OutputTokensPerS = 123.456
	return row
}

func TestPrintEvent(t *testing.T) {
	kept, open := experiment.Spec{Name: "kept", Repeat: 1}, experiment.Spec{Name: "a\x1b[2J\u202e", Repeat: 2, Repeats: 2}
	row := rowOf(open, 30, stats.Undecided, 1)
	row.Summary.Requests.Completed, row.Summary.Requests.Failed = 1, 2
	var out bytes.Buffer
	for _, e := range []sweep.Event{
		{Starting: &sweep.Starting{N: 1, Variant: "n=2", Log: "results/m/1/server-1.log"}},
		{Started: &sweep.Started{Dir: "results/m/1", Total: 2, Kept: 1}},
		{Finished: &sweep.Finished{Index: 1, Total: 2, Kept: true, Row: &record.Row{ID: "kept-r1", Spec: kept}}},
		{Begun: &sweep.Begun{Index: 2, Total: 2, Spec: &open, ID: sweep.ID(&open), Progress: &endpoint.Progress{}}},
		{Finished: &sweep.Finished{Index: 2, Total: 2, Row: row}},
	} {
		PrintEvent(&out, e)
	}
	want := `starting server 1 n=2 (log: results/m/1/server-1.log)
results go to results/m/1
1 of 2 rows are kept
[1/2] kept: kept
[2/2] a\x1b[2J\u202e …
[2/2] a\x1b[2J\u202e (repeat 2): n=1, 2 FAILED, ttft p50 12.3 ms, tpot p50 ~1.50 ms, 123 tok/s, UNDECIDED, 1 caution
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
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
		"": of(record.Note), "1 caution": of(record.Note, record.Caution), "2 cautions": of(record.Caution, record.Caution), "INVALID": of(record.Caution, record.Invalid),
	} {
		if got := findingsText(row); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
