package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// mixed is a row of two classes: chat has a TTFT p95 of 100 ms, summarize of 900 ms, each with a limit of its own.
func mixed() record.Row {
	verdict := func(class string, ms float64, v stats.Verdict) record.Verdict {
		return record.Verdict{Metric: "ttft_p95", Class: class, Limit: 500, Unit: "ms", Value: &ms, Interval: &stats.Interval{Lo: 0.9 * ms, Hi: 1.1 * ms}, Verdict: v, Observed: 100}
	}
	r := offered(8, 900, verdict("chat", 100, stats.Pass), verdict("summarize", 900, stats.Fail))
	limit := map[string]any{"ttft_p95": "500ms"}
	r.Spec.Mix = []workload.Class{{Name: "chat", Weight: 4, SLO: limit}, {Name: "summarize", Weight: 1, SLO: limit}, {Name: "batch", Weight: 1}}
	of := func(n int, ttft float64) record.Summary {
		return record.Summary{TTFT: flat(ttft/2, ttft), TPOT: flat(8, 9), E2E: flat(2*ttft, 2*ttft), Requests: record.Requests{Planned: n, Completed: n}}
	}
	r.Classes = map[string]record.Summary{"chat": of(400, 100), "summarize": of(100, 900), "batch": of(100, 2000)}
	return r
}

// The answer has each class under its own limits; figures of all classes together are no headline.
func TestClasses(t *testing.T) {
	a := answerOf([]record.Row{mixed()})
	w := &a.Workloads[0]
	want := []ClassAnswer{
		{"chat", stats.Pass, 400, "TTFT p95 100 ms [90.0, 110] ≤ 500 ms PASS; n 400"},
		{"summarize", stats.Fail, 100, "TTFT p95 900 ms [810, 990] ≤ 500 ms FAIL; n 100"},
	}
	if len(w.Classes) != 3 || !slices.Equal(w.Classes[:2], want) {
		t.Errorf("%+v, want %+v", w.Classes, want)
	}
	if batch := w.Classes[2]; batch.Class != "batch" || batch.Verdict != "" || !strings.Contains(batch.Text, "TPOT p95") {
		t.Errorf("%+v", batch)
	}
	if w.Verdict != stats.Fail || !strings.Contains(w.Text, "TTFT p95 (class summarize) 900 ms > 500 ms") {
		t.Errorf("%s: %s", w.Verdict, w.Text)
	}
	for _, f := range w.Figures {
		if strings.HasPrefix(f.Name, "T") || f.Name == "tok/s/user" {
			t.Errorf("a headline of all classes: %+v", f)
		}
	}
}
