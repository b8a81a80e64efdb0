package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/stats"
)

func TestMet(t *testing.T) {
	row := func(id, verdict string, failed ...string) record.Row {
		r := record.Row{ID: id, Checks: record.Checks{Passed: []string{"warmup"}, Failed: failed}}
		if verdict != "" {
			r.SLO = []record.Verdict{{Verdict: verdict}}
		}
		return r
	}
	run := &Run{
		Manifest: record.Manifest{Plan: []record.Planned{{ID: "old", State: "removed"}, {ID: "good"}, {ID: "free"}, {ID: "bad"}, {ID: "open"}, {ID: "doubted"}}},
		Rows:     []record.Row{row("good", string(stats.Pass)), row("free", ""), row("old", string(stats.Fail))},
	}
	if err := run.Met(); err != nil {
		t.Errorf("all is met: %v", err)
	}
	run.Rows = append(run.Rows, row("bad", string(stats.Fail)), row("open", string(stats.Undecided)), row("doubted", string(stats.Pass), "client_bound", "errors"))
	err := run.Met()
	if err == nil {
		t.Fatal("met")
	}
	want := "SLO not met:\n  bad: SLO FAIL\n  open: SLO UNDECIDED\n  doubted: not valid (client_bound, errors)"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
