package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/text"
	fixture "bench/internal/reporttest"
)

// A wider screen shows more columns; the percentile that the SLO limits is on every one.
func TestTextColumns(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		run.Rows[i].SLO = append(run.Rows[i].SLO, record.Verdict{Metric: "ttft_p95", Verdict: "PASS"})
	}
	o := run.Analyze()
	for _, tt := range []struct {
		width int
		want  string
	}{
		{40, "point, TTFT p95 ms, TTFT p99 ms, SLO"},
		{80, "point, output tok/s, TTFT p50 ms, TTFT p95 ms, TTFT p99 ms, TPOT p50 ms, E2E p99 ms, SLO"},
		{100, "point, output tok/s, TTFT p50 ms, TTFT p95 ms, TTFT p99 ms, TPOT p50 ms, TPOT p99 ms, E2E p99 ms, n, SLO"},
		{120, "point, output tok/s, TTFT p50 ms, TTFT p95 ms, TTFT p99 ms, TPOT p50 ms, TPOT p99 ms, E2E p99 ms, n, SLO, findings"},
		{160, "point, output tok/s, tok/s/user, req/s, TTFT p50 ms, TTFT p95 ms, TTFT p99 ms, TPOT p50 ms, TPOT p99 ms, ITL p99 ms, E2E p99 ms, n, failed, SLO, findings"},
		{260, "point, output tok/s, tok/s/user, req/s, TTFT p50 ms, TTFT p95 ms, TTFT p99 ms, TPOT p50 ms, TPOT p99 ms, ITL p50 ms, ITL p99 ms, E2E p50 ms, E2E p99 ms, n, failed, SLO, limit, findings"},
	} {
		table := textTable(&o, tt.width, footnotes(&o))
		var heads []string
		for _, c := range table.Columns {
			heads = append(heads, strings.TrimSpace(c.Head+" "+c.Unit))
		}
		if got := strings.Join(heads, ", "); got != tt.want {
			t.Errorf("in %d: %s", tt.width, got)
		}
	}
}

// Text fits every screen, and breaks no word of the findings.
func TestTextFits(t *testing.T) {
	for width := 60; width < 220; width += 20 {
		var b strings.Builder
		if err := Text(&b, fixtureRun(), Screen{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := text.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
}

// TestNumbersOfFindings: a table without room for the findings leaves their list without numbers.
func TestNumbersOfFindings(t *testing.T) {
	for width, numbered := range map[int]bool{60: false, 120: true} {
		var b strings.Builder
		if err := Text(&b, fixtureRun(), Screen{Width: width}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "\n   2 caution client_lag"); got != numbered || !strings.Contains(b.String(), " caution client_lag") {
			t.Errorf("in %d columns the findings are numbered: %v", width, got)
		}
	}
}

// A p99 of too few requests is a lower bound, with what it needs; it does not vanish.
func TestSmallSamplesAreBounds(t *testing.T) {
	row := fixture.Shape{Name: "a", Concurrency: 1, N: 100, TTFT: 80, TPOT: 12, Output: 100}.Row()
	var b bytes.Buffer
	if err := Text(&b, &Run{Run: record.Run{Rows: []record.Row{row}, Manifest: record.Manifest{Plan: []record.Planned{{ID: row.ID, State: "done"}}}}}, Screen{Width: 400}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`TTFT.*\n.*p99 ms`, `≥[0-9]`, `p99: 368 needed`} {
		if !regexp.MustCompile(want).MatchString(b.String()) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
