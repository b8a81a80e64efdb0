package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bench/report"
)

// seenBy is a writer that calls once when its text matches. The zero value keeps the text.
type seenBy struct {
	mu    sync.Mutex
	text  bytes.Buffer
	match func(text string) bool
	call  func()
}

func (s *seenBy) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if s.call != nil && s.match(s.text.String()) {
		s.call()
		s.call = nil
	}
	return len(p), nil
}

// String is the whole text.
func (s *seenBy) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// processed is the requests in the line of an interval: the last column but one.
var processed = regexp.MustCompile(`(?m)^ +\d+:\S+ .* (\d+) +\d+$`)

// An endless run ends at an interrupt, with a whole result; one in its warm-up has stored that.
func TestTileUntilInterrupted(t *testing.T) {
	for name, tt := range map[string]struct {
		warmup string
		code   int
		window bool
	}{"in the window": {"4", codeDone, true}, "in the warm-up": {"1000000", codeInterrupted, false}} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			w := &seenBy{call: interrupt, match: func(text string) bool {
				all := processed.FindAllStringSubmatch(text, -1)
				if len(all) == 0 {
					return false
				}
				n, _ := strconv.Atoi(all[len(all)-1][1])
				return n > 12
			}}
			var stderr bytes.Buffer
			code := bench(ctx, nil, w, &stderr, []string{"tile", "mock", "--set", "row.tile.tile.contexts=4", "--set", "row.tile.input=64",
				"--set", "row.tile.output=3", "--out", out, "--set", "row.tile.warmup=" + tt.warmup})
			if code != tt.code {
				t.Fatalf("exit code %d; stderr:\n%s\nstdout:\n%s", code, &stderr, w)
			}
			if n := strings.Count(w.String(), ", warm-up included:\n"); n != 1 {
				t.Errorf("%d lines of the whole load in\n%s", n, w)
			}
			dirs, err := filepath.Glob(filepath.Join(out, "tile", "*"))
			if err != nil || len(dirs) != 1 {
				t.Fatal(dirs, err)
			}
			run, err := report.Load(dirs[0])
			if err != nil || len(run.Rows) != 1 {
				t.Fatal(err, len(run.Rows))
			}
			q := run.Rows[0].Summary.Requests
			if tt.window != (q.Completed > 0) || q.Warmup == 0 || q.Failed > 0 || run.Rows[0].Rotations.First.Requests != 4 {
				t.Errorf("%+v", q)
			}
			if !tt.window && !strings.Contains(stderr.String(), "interrupted in the warm-up") {
				t.Errorf("stderr: %s", &stderr)
			}
		})
	}
}
