package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/report"
)

// serveMock serves a simulated server with that time to the first token, and what goes wrong on purpose.
func serveMock(t *testing.T, ttft time.Duration, faults ...string) string {
	return serveConfig(t, mock.Config{TTFT: ttft, ITL: time.Millisecond, Faults: faults})
}

func serveConfig(t *testing.T, config mock.Config) string {
	server, err := mock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return l.Addr().String()
}

// pairRun is the one result of both.
func pairRun(t *testing.T, out string) *report.Run {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "tile", "*Z*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	run, err := report.Load(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// inOrder are the rows in the order in which they ran, and the variants that they ran on as letters.
func inOrder(run *report.Run) (rows []record.Row, order string) {
	rows = slices.Clone(run.Rows)
	slices.SortFunc(rows, func(a, b record.Row) int { return a.StartedAt.Compare(b.StartedAt) })
	for i := range rows {
		letter := "A"
		if rows[i].Spec.Variant != rows[0].Spec.Variant {
			letter = "B"
		}
		order += letter
	}
	return rows, order
}

// Two servers are measured in interleaved blocks of one run, and bench compare finds the slower one.
func TestTilePair(t *testing.T) {
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := bench(t.Context(), nil, &stdout, &stderr, []string{"tile", serveMock(t, 2*time.Millisecond),
		serveMock(t, 60*time.Millisecond), "--set", "row.tile.tile.contexts=6", "--set", "row.tile.input=64", "--set", "row.tile.output=4",
		"--set", "row.tile.requests=20", "--set", "row.tile.warmup=6", "--duration", "4m", "--out", out})
	if code != codeDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	run := pairRun(t, out)
	rows, order := inOrder(run)
	if order != "ABBAABBA" || len(run.Missing) > 0 || run.Manifest.Order != "interleaved" {
		t.Errorf("order %s (%s), missing %v", order, run.Manifest.Order, run.Missing)
	}
	for i, row := range rows {
		if row.Summary.Requests.Completed != 20 || row.Rotations.First.Requests != 6 {
			t.Errorf("%s: %+v", row.ID, row.Summary.Requests)
		}
		if i > 0 && row.StartedAt.Before(rows[i-1].EndedAt) {
			t.Errorf("%s began before %s had ended", row.ID, rows[i-1].ID)
		}
	}
	if want := "\ncompare: bench compare " + run.Dir + "\n"; !strings.HasSuffix(stdout.String(), want) {
		t.Errorf("no %q at the end of\n%s", want, &stdout)
	}
	var compared bytes.Buffer
	args := []string{"compare", run.Dir, "--allow", "simulated"}
	if code := bench(t.Context(), nil, &compared, &stderr, args); code != codeDone {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if slower := regexp.MustCompile(`(?m)TTFT p50 .*\+.* %.*(worse|no lean)`); !slower.MatchString(compared.String()) {
		t.Errorf("no %s in\n%s", slower, &compared)
	}
}

// An interrupt in the third block keeps those before it.
func TestTilePairInterrupted(t *testing.T) {
	out := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	w := &seenBy{call: interrupt, match: func(text string) bool { return strings.Contains(text, "\n[3/8] tile") }}
	var stderr bytes.Buffer
	code := bench(ctx, nil, w, &stderr, []string{"tile", serveMock(t, time.Millisecond), serveMock(t, time.Millisecond),
		"--set", "row.tile.tile.contexts=3", "--set", "row.tile.input=64", "--set", "row.tile.requests=3", "--set", "row.tile.warmup=3", "--duration", "4m", "--out", out})
	if code != codeInterrupted || !strings.HasPrefix(stderr.String(), "error: interrupted: finished rows are kept in ") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	cut := pairRun(t, out)
	if rows, order := inOrder(cut); order != "AB" || len(rows) != 2 || cut.Manifest.State != "interrupted" {
		t.Errorf("%s: %s, %s", cut.Dir, order, cut.Manifest.State)
	}
}
