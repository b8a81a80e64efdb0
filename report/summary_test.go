package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/reporttest"
)

// sixtyLoads is a run of 60 loads, the last ten of which miss the SLO.
func sixtyLoads() *Run {
	run := &Run{Run: record.Run{Manifest: record.Manifest{Matrix: "m", Run: "r"}}}
	for i := range 60 {
		s := fixture.Shape{Name: "load", Axes: fixture.Axis("concurrency", fmt.Sprint(i+1)), Concurrency: i + 1, N: 2000, TTFT: 100, TPOT: 7, Verdict: "PASS"}
		if i >= 50 {
			s.TTFT, s.Verdict = 5000, "FAIL"
		}
		row := s.Row()
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, Name: "load", State: "done"})
	}
	return run
}

// A summary leaves out points that PASS before others and before the operating point, and states how many of which;
// Markdown has all.
func TestPointsThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		name     string
		write    func(w io.Writer, run *Run) error
		pass     int
		trailing string
	}{
		{"summary", Summary, 27, "23 more points (23 PASS): `bench report RUN --format md`"},
		{"whole", func(w io.Writer, run *Run) error { return Markdown(w, run) }, 50, ""},
	} {
		var b bytes.Buffer
		if err := tt.write(&b, sixtyLoads()); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		_, points, _ := strings.Cut(text, "## Points")
		if n := strings.Count(points, " FAIL "); n != 10 {
			t.Errorf("%s: %d of 10 points with FAIL:\n%s", tt.name, n, text)
		}
		if n := strings.Count(points, " PASS "); n != tt.pass {
			t.Errorf("%s: %d points with PASS", tt.name, n)
		}
		if !strings.Contains(points, "load, concurrency 50 | PASS ★") {
			t.Errorf("%s: no operating point", tt.name)
		}
		if !strings.Contains(points, tt.trailing) || strings.Contains(points, "more point") != (tt.trailing != "") {
			t.Errorf("%s: what is left out:\n%s", tt.name, text)
		}
		if n := strings.Count(text, "\n"); tt.name == "summary" && n > mostLines {
			t.Errorf("the summary has %d lines", n)
		}
	}
}

// The error of the server is at the end of an invalid finding: no width cuts it.
func TestInvalidFindingIsWhole(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid,
		Text: "20 of 40 requests failed (20 status): percentiles cover the others; first error: 503 the model is not loaded"}}
	for _, width := range []int{40, 80, 120} {
		var b bytes.Buffer
		if err := Text(&b, run, Screen{Width: width}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, "first error: 503 the model is not loaded") {
			t.Errorf("%d columns: the reason is cut:\n%s", width, b.String())
		}
	}
}
