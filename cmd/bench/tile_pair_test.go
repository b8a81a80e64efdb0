package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/mock"
	"bench/report"
)

// A drift that goes by the block is the same for both sides: their numbers have the same sum in each four blocks.
func TestSideOf(t *testing.T) {
	var order strings.Builder
	sums := [2]int{}
	for i := range 8 {
		order.WriteByte(byte('A' + sideOf(i)))
		sums[sideOf(i)] += i
	}
	if order.String() != "ABBAABBA" || sums[0] != sums[1] {
		t.Errorf("%s, sums %v", &order, sums)
	}
}

// Blocks come in their order whatever each takes; a side that is gone does not hold up the other; the end frees who waits.
func TestTurns(t *testing.T) {
	run := func(t *testing.T, turns *turns, blocks [2]int) string {
		var mu sync.Mutex
		var order strings.Builder
		var both sync.WaitGroup
		for side := range 2 {
			both.Go(func() {
				defer turns.leave(side)
				turns.open(side)
				for range blocks[side] {
					if !turns.take(side) {
						return
					}
					mu.Lock()
					order.WriteByte(byte('A' + side))
					mu.Unlock()
					time.Sleep(time.Duration(1+side) * time.Second)
					turns.pass()
				}
			})
		}
		both.Wait()
		return order.String()
	}
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			blocks [2]int
			want   string
		}{{[2]int{4, 4}, "ABBAABBA"}, {[2]int{1, 1}, "AB"}, {[2]int{3, 1}, "ABAA"}, {[2]int{0, 2}, "BB"}} {
			if got := run(t, newTurns(false), tt.blocks); got != tt.want {
				t.Errorf("%v: %s, want %s", tt.blocks, got, tt.want)
			}
		}
		start := time.Now()
		run(t, newTurns(true), [2]int{4, 2})
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("in parallel it took %v", took)
		}
		cut := newTurns(false)
		time.AfterFunc(2500*time.Millisecond, cut.over) // in B's first block
		if got := run(t, cut, [2]int{4, 4}); got != "AB" {
			t.Errorf("cut: %s", got)
		}
	})
}

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

// pairRuns are the results of both, the first endpoint's first.
func pairRuns(t *testing.T, out string) []*report.Run {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "tile", "*Z*"))
	if err != nil || len(dirs) != 2 {
		t.Fatal(dirs, err)
	}
	var runs []*report.Run
	for _, dir := range dirs {
		run, err := report.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

// The slower of two servers is found so, in turn and at once; and bench compare says the same.
func TestTilePair(t *testing.T) {
	for name, more := range map[string][]string{"in turn": nil, "at once": {"--parallel"}} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			var stdout, stderr bytes.Buffer
			args := append(pair(t, out, "--requests", "80"), more...)
			if code := bench(t.Context(), nil, &stdout, &stderr, args); code != codeDone {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			// On a busy machine a block may be so far off that nothing is certain; the sign is.
			for _, want := range []string{`QPS: +\S+ req/s to \S+ req/s: -\S+ % \[-\S+ % to \S+ %\]`, `TTFT p50: +\S+ ms to \S+ ms: \+\S+ % \[\S+ % to \+\S+ %\]`} {
				if text := stdout.String(); !regexp.MustCompile(`(?m)^` + want + `, (worse|can't tell)$`).MatchString(text) {
					t.Errorf("no %s in\n%s", want, text)
				}
			}
			runs := pairRuns(t, out)
			for i, run := range runs {
				if !strings.Contains(run.Manifest.Target.Endpoint, args[2+2*i]) || len(run.Rows) != 4 || len(run.Missing) > 0 {
					t.Errorf("run %d: %s, %d rows", i, run.Manifest.Target.Endpoint, len(run.Rows))
				}
				for _, row := range run.Rows {
					if row.Summary.Requests.Completed != 20 || row.Summary.Requests.Warmup != 6 || row.Rotations.First.Requests != 6 {
						t.Errorf("%s: %+v", row.ID, row.Summary.Requests)
					}
				}
			}
			first, second := runs[0].Rows, runs[1].Rows
			if inTurn := second[0].StartedAt.After(first[0].EndedAt) && first[1].StartedAt.After(second[1].EndedAt); inTurn != (more == nil) {
				t.Errorf("first block of B from %v, of A to %v", second[0].StartedAt, first[0].EndedAt)
			}
			var again bytes.Buffer
			if code := bench(t.Context(), nil, &again, &stderr, []string{"compare", runs[0].Dir, runs[1].Dir, "--allow", "simulated"}); code != codeDone {
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
			if code := bench(t.Context(), nil, &again, &stderr, []string{"report", runs[0].Dir, "--format", "text"}); code != codeDone {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
		})
	}
}

// An interrupt in the third block compares the first of each.
func TestTilePairInterrupted(t *testing.T) {
	out := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	w := &seenBy{call: interrupt, match: func(text string) bool { return strings.Contains(text, "block 2 of 4") }}
	var stderr bytes.Buffer
	code := bench(ctx, nil, w, &stderr, pair(t, out, "--requests", "80"))
	if code != codeInterrupted || !strings.HasPrefix(stderr.String(), "error: interrupted before its end: blocks that are whole are kept\n") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	text := w.text.String()
	for _, want := range []string{", 1 of 4 blocks", "QPS: ", "can't tell"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for _, run := range pairRuns(t, out) {
		if len(run.Rows) != 1 || len(run.Missing) != 3 || run.Manifest.State != "interrupted" {
			t.Errorf("%s: %d rows, %s", run.Dir, len(run.Rows), run.Manifest.State)
		}
	}
}

// A server that takes no token ids is sent words: another workload, which is said before hours of it, and not after.
func TestTilePairOfTwoForms(t *testing.T) {
	args := func(more ...string) []string {
		return append([]string{"tile", "--endpoint", serveConfig(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond}),
			"--endpoint", serveConfig(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond, Vocab: 2000}),
			"--contexts", "3", "--input", "64", "--output", "4", "--requests", "4", "--out", t.TempDir()}, more...)
	}
	var stdout, stderr bytes.Buffer
	if code := bench(t.Context(), nil, &stdout, &stderr, args("--allow", "simulated")); code != codeUsage || strings.Contains(stdout.String(), "results of") ||
		!strings.Contains(stderr.String(), "not compared: prompt_form differ\nhint: if that is what you compare: --allow prompt_form") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if code := bench(t.Context(), nil, &stdout, &stderr, args("--allow", "simulated,prompt_form")); code != codeDone {
		t.Errorf("allowed: exit code %d: %s", code, &stderr)
	}
}
