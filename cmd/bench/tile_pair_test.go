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

// pair are the words of a comparison of a quick and a slow server.
func pair(t *testing.T, out string, more ...string) []string {
	return append([]string{"tile", "--endpoint", serveMock(t, 2*time.Millisecond), "--endpoint", serveMock(t, 60*time.Millisecond), "--allow", "simulated",
		"--contexts", "6", "--input", "64", "--output", "4", "--interval", "100ms", "--out", out}, more...)
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

// The slower of two servers is found in interleaved blocks of one run, and bench compare finds the same.
func TestTilePair(t *testing.T) {
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	args := pair(t, out, "--requests", "80")
	if code := bench(t.Context(), nil, &stdout, &stderr, args); code != codeDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	// On a busy machine a block may be so far off that nothing is certain; the sign is.
	for _, want := range []string{`requests/s +\S+ to \S+: -\S+ % \[-\S+ % to \S+ %\]`, `TTFT p50 +\S+ ms to \S+ ms: \+\S+ % \[\S+ % to \+\S+ %\]`} {
		if text := stdout.String(); !regexp.MustCompile(`(?m)^  ` + want + `, (worse|inconclusive)$`).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	run := pairRun(t, out)
	rows, order := inOrder(run)
	if order != "ABBAABBA" || len(run.Missing) > 0 || run.Manifest.Order != "interleaved" {
		t.Errorf("order %s (%s), missing %v", order, run.Manifest.Order, run.Missing)
	}
	for i, row := range rows {
		if row.Summary.Requests.Completed != 20 || row.Summary.Requests.Warmup != 6 || row.Rotations.First.Requests != 6 {
			t.Errorf("%s: %+v", row.ID, row.Summary.Requests)
		}
		if i > 0 && row.StartedAt.Before(rows[i-1].EndedAt) {
			t.Errorf("%s began before %s had ended", row.ID, rows[i-1].ID)
		}
	}
	var again bytes.Buffer
	if code := bench(t.Context(), nil, &again, &stderr, againArgs(t, stdout.String())); code != codeDone {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	figures := func(text string) string {
		_, text, _ = strings.Cut(text, "\nfigure ")
		text, _, _ = strings.Cut(text, "\n\n")
		return text
	}
	if a, b := figures(stdout.String()), figures(again.String()); a == "" || a != b {
		t.Errorf("bench compare says\n%s\nand bench tile\n%s", b, a)
	}
	if code := bench(t.Context(), nil, &again, &stderr, []string{"report", run.Dir, "--format", "text"}); code != codeDone {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// againArgs are the arguments of the bench compare that is printed.
func againArgs(t *testing.T, text string) []string {
	t.Helper()
	again := regexp.MustCompile(`(?m)^again: +bench (compare) '?(.*?)'? (--allow) (.*)$`).FindStringSubmatch(text)
	if again == nil {
		t.Fatalf("no command in\n%s", text)
	}
	return again[1:]
}

// An interrupt in the third block compares the first of each; --resume completes the run and keeps those.
func TestTilePairInterrupted(t *testing.T) {
	out := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	w := &seenBy{call: interrupt, match: func(text string) bool { return strings.Contains(text, "block 2 of 4") }}
	var stderr bytes.Buffer
	args := pair(t, out, "--requests", "80")
	code := bench(ctx, nil, w, &stderr, args)
	if code != codeInterrupted || !strings.HasPrefix(stderr.String(), "error: interrupted: finished rows are kept in ") || !strings.Contains(stderr.String(), "--resume "+out) {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	text := w.String()
	for _, want := range []string{", 1 of 4 blocks", "requests/s  ", "inconclusive"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	cut := pairRun(t, out)
	if rows, order := inOrder(cut); order != "AB" || len(rows) != 2 || len(cut.Missing) != 6 || cut.Manifest.State != "interrupted" {
		t.Errorf("%s: %s, %s", cut.Dir, order, cut.Manifest.State)
	}
	resumed := append(slices.Clone(args), "--resume", cut.Dir)
	resumed = slices.DeleteFunc(resumed, func(a string) bool { return a == "--out" || a == out })
	var stdout bytes.Buffer
	stderr.Reset()
	if code := bench(t.Context(), nil, &stdout, &stderr, resumed); code != codeDone || !strings.Contains(stdout.String(), ", 4 of 4 blocks") {
		t.Errorf("exit code %d: %s\n%s", code, &stderr, &stdout)
	}
	whole := pairRun(t, out)
	rows, order := inOrder(whole)
	if order != "ABBAABBA" || len(whole.Missing) > 0 || rows[0].StartedAt != cut.Rows[0].StartedAt && rows[1].StartedAt != cut.Rows[0].StartedAt {
		t.Errorf("resumed: order %s, missing %v", order, whole.Missing)
	}
}

// A server that accepts no token ids is sent words: another workload, which is refused before the load.
func TestTilePairOfTwoForms(t *testing.T) {
	args := func(more ...string) []string {
		return append([]string{"tile", serveConfig(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond}),
			serveConfig(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond, Vocab: 2000}),
			"--contexts", "3", "--input", "64", "--output", "4", "--requests", "4", "--out", t.TempDir()}, more...)
	}
	var stdout, stderr bytes.Buffer
	if code := bench(t.Context(), nil, &stdout, &stderr, args("--allow", "simulated")); code != codeUsage || strings.Contains(stdout.String(), "results go to") ||
		!strings.Contains(stderr.String(), "not compared: prompt_form differ\nhint: if that is what you compare: --allow prompt_form") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if code := bench(t.Context(), nil, &stdout, &stderr, args("--allow", "simulated,prompt_form")); code != codeDone {
		t.Errorf("allowed: exit code %d: %s", code, &stderr)
	}
}
