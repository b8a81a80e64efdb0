package main

import (
	"bytes"
	"context"
	"testing"
)

// A signal ends the command while it reads files or computes, not when that is done.
func TestInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	endless := make(chan bool)
	defer close(endless)
	_, err := interruptible(ctx, func() (bool, error) {
		cancel()
		return <-endless, nil
	})
	if codeOf(err) != codeInterrupted {
		t.Errorf("%v", err)
	}
	if n, err := interruptible(t.Context(), func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestInterruptedDryRun: also a command that sends nothing obeys.
func TestInterruptedDryRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"sweep", "../../matrices/smoke.toml", "--dry-run"},
		{"predict", "../../matrices/smoke.toml", "--out", t.TempDir()},
		{"rehearse", "../../matrices/nightly.toml"},
	} {
		var stdout, stderr bytes.Buffer
		if got := bench(ctx, nil, &stdout, &stderr, args); got != codeInterrupted || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d\n%s%s", args, got, &stdout, &stderr)
		}
	}
}
