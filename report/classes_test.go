package report

import (
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/internal/reporttest"
)

// mix is a run of one row of two classes with limits of their own, at other percentiles.
func mix() *Run {
	row := reporttest.Shape{Name: "mix", Rate: 10, N: 1000, TTFT: 100, TPOT: 10, Output: 900, Mix: true}.Row()
	row.Spec.Mix = []workload.Class{{Name: "chat", Weight: 4, SLO: map[string]any{"ttft_p95": "300ms"}}, {Name: "rag", Weight: 1, SLO: map[string]any{"ttft_p90": "200ms"}}}
	of := func(class, metric string, limit, ms float64, v stats.Verdict) record.Verdict {
		return record.Verdict{Metric: metric, Class: class, Limit: limit, Unit: "ms", Value: &ms, Verdict: v, Observed: 200}
	}
	row.SLO = []record.Verdict{of("chat", "ttft_p95", 300, 68, stats.Pass), of("rag", "ttft_p90", 200, 375, stats.Fail)}
	return &Run{Run: record.Run{Manifest: record.Manifest{State: "done", Plan: []record.Planned{{ID: row.ID, Name: "mix"}}}, Rows: []record.Row{row}}}
}

// Each class is a line below its point, with the percentile that its own SLO limits and the verdict on it.
func TestClassesOfPoints(t *testing.T) {
	run := mix()
	o := run.Analyze()
	table := pointsTable(&o)
	var heads []string
	for _, c := range table.Columns {
		heads = append(heads, c.Head)
	}
	if text := strings.Join(heads, "|"); !strings.Contains(text, "TTFT p50|TTFT p90|TTFT p95|TPOT p50") {
		t.Errorf("columns %s", text)
	}
	var lines []string
	for _, row := range table.Rows {
		lines = append(lines, row[0].Text+" "+row[1].Text)
	}
	if got, want := strings.Join(lines, "; "), "mix, all classes FAIL; mix (class chat) PASS; mix (class rag) FAIL"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c := table.Rows[2][6]; c.Kind != Failed || c.Tag != "FAIL" || !strings.HasPrefix(c.Title, "TTFT p90 375 ms ≤ 200 ms FAIL") {
		t.Errorf("%+v", c)
	}
	if h := run.Headline(); h.TTFT != nil || h.TPOT != nil {
		t.Errorf("a headline of all classes: %+v", h)
	}
	for name, write := range map[string]string{"text": textOf(t, run), "Markdown": markdownOf(t, run)} {
		for _, want := range []string{"mix, all classes", "TTFT p95 68.0 ms ≤ 300 ms PASS", "TTFT p90 375 ms ≤ 200 ms FAIL"} {
			if !strings.Contains(write, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, write)
			}
		}
	}
}

func textOf(t *testing.T, run *Run) string {
	var b strings.Builder
	if err := Text(&b, run, Screen{Width: 200}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdownOf(t *testing.T, run *Run) string {
	var b strings.Builder
	if err := Markdown(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
