package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report"
	"bench/sweep"
	"bench/sweep/strict"
)

func TestCodeOf(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{errors.New("x"), codeFailed},
		{usage("x"), codeUsage},
		{fmt.Errorf("wrapped: %w", usage("x")), codeUsage},
		{strict.Problems{{Text: "x"}}, codeUsage},
		{&sweep.ServerChangedError{}, codeUsage},
		{&sweep.ResumeError{}, codeUsage},
		{&exitError{codeNotMet, errors.New("x")}, codeNotMet},
		{fmt.Errorf("cut: %w", context.Canceled), codeInterrupted},
		{context.DeadlineExceeded, codeFailed},
	}
	for _, tt := range tests {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestInterruptedBeforeTheFirstRow: an interrupt while connecting exits 130, not 1.
func TestInterruptedBeforeTheFirstRow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	out := t.TempDir()
	if got := bench(ctx, nil, &stdout, &stderr, []string{"sweep", "../../matrices/smoke.toml", "--out", out}); got != codeInterrupted {
		t.Errorf("exit code %d", got)
	}
	if got := stderr.String(); got != "error: interrupted before anything was measured\n" {
		t.Errorf("stderr: %s", got)
	}
}

func TestEnforced(t *testing.T) {
	row := func(id string, verdict stats.Verdict, findings ...record.Finding) record.Row {
		r := record.Row{ID: id, Checks: record.Checks{Passed: []string{"warmup"}}, Findings: findings}
		if verdict != "" {
			r.SLO = []record.Verdict{{Verdict: verdict}}
		}
		return r
	}
	run := &report.Run{
		Run: record.Run{Manifest: record.Manifest{Plan: []record.Planned{{ID: "old", State: "removed"}, {ID: "good"}, {ID: "free"}, {ID: "bad"}, {ID: "open"}, {ID: "wrong"}}},
			Rows: []record.Row{row("good", stats.Pass, record.Finding{Code: "client_bound", Severity: record.Caution}), row("free", ""), row("old", stats.Fail)}},
	}
	if err := run.Met(); err != nil {
		t.Errorf("all is met: %v", err)
	}
	run.Rows = append(run.Rows, row("bad", stats.Fail), row("open", stats.Undecided), row("wrong", stats.Pass, record.Finding{Code: "client_bound", Severity: record.Caution}, record.Finding{Code: "short", Severity: record.Invalid}))
	err := run.Met()
	if err == nil {
		t.Fatal("met")
	}
	want := "SLO not met by every row:\n  bad: SLO FAIL\n  open: SLO UNDECIDED\n  wrong: invalid (short)"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAgain(t *testing.T) {
	tests := []struct{ args, want string }{
		{"sweep m.toml", "bench sweep m.toml --resume results/m/1"},
		{"sweep m.toml --resume old --only D-*", "bench sweep m.toml --only 'D-*' --resume results/m/1"},
		{"sweep --resume=old it's.toml", `bench sweep 'it'\''s.toml' --resume results/m/1`},
		{"sweep m.toml --api-key k", "bench sweep m.toml --api-key '<redacted>' --resume results/m/1"},
	}
	for _, tt := range tests {
		c := &cli{args: strings.Fields(tt.args)}
		if got := c.resumeCommand("results/m/1"); got != tt.want {
			t.Errorf("%s: got %s", tt.args, got)
		}
	}
}
