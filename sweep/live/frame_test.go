package live

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/workload"
	"bench/sweep"
	"bench/sweep/matrix"
)

var update = flag.Bool("update", false, "write the frames in testdata")

// busy returns a sweep in its middle, and the reading of its row.
func busy(now time.Time, width int) (*Sweep, endpoint.Snapshot, []string) {
	var points []experiment.Spec
	point := func(repeats int, l workload.Load, name string, axis ...experiment.Axis) {
		for i := range repeats {
			points = append(points, experiment.Spec{Name: name, Point: axis, Repeat: i + 1, Repeats: repeats, Load: l})
		}
	}
	timed := workload.Load{Concurrency: 1, Warmup: workload.Extent{Time: 10 * second}, Duration: 60 * second}
	point(1, timed, "A-short-chat")
	point(1, timed, "E-warm-prefix", experiment.Axis{Key: "prefix.state", Value: "warm"})
	point(3, timed, "D-saturation", experiment.Axis{Key: "concurrency", Value: "8"})
	point(1, workload.Load{Concurrency: 4, Requests: 100, MaxDuration: 300 * second}, "counted")
	point(2, timed, "名前の長い行-a-row-whose-name-is-far-too-long-for-any-terminal-to-show", experiment.Axis{Key: "concurrency", Value: "16"})
	for range 12 {
		point(1, timed, fmt.Sprintf("later-%d", len(points)))
	}
	s := newSweep(matrixOf(points...), nil, false)
	total := len(points)
	at := now.Add(-10 * time.Minute)
	tell := func(e sweep.Event, after time.Duration) []string {
		at = at.Add(after)
		return s.apply(e, at, width)
	}
	stay := tell(sweep.Event{Started: &sweep.Started{Dir: "results/chat/20260101T120000Z", Total: total, Kept: 1}}, 0)
	stay = append(stay, tell(sweep.Event{Finished: &sweep.RowEvent{Index: 1, Total: total, Kept: true, Row: rowOf(points[0], 5, "", 0)}}, 0)...)
	for i, f := range []*record.Row{rowOf(points[1], 1200, stats.Pass, 0), rowOf(points[2], 40, stats.Undecided, 12), rowOf(points[3], 3, stats.Fail, 1)} {
		f.Summary.Requests.Failed = i * 1000
		f.StartedAt, f.EndedAt = at, at.Add(73*time.Second)
		tell(sweep.Event{Begun: &sweep.RowEvent{Index: i + 2, Total: total, Spec: &points[i+1], ID: f.ID}}, time.Second)
		stay = append(stay, tell(sweep.Event{Finished: &sweep.RowEvent{Index: i + 2, Total: total, Row: f}}, 73*time.Second)...)
	}
	at = now.Add(-45 * time.Second)
	s.apply(sweep.Event{Begun: &sweep.RowEvent{Index: 5, Total: total, Spec: &points[4], ID: matrix.ID(&points[4])}}, at, width)
	r := endpoint.Snapshot{
		Begun: now.Add(-42 * time.Second), Phase: record.PhaseWindow, Sent: 1320, Done: 1312, Failed: 2, InFlight: 8, Tokens: 51_660,
		FirstToken: endpoint.LiveLatency{N: 288, P50: 52.13, P90: 70.4, P95: 81.25, P99: math.NaN(), Max: 1288.3},
		TPOT:       endpoint.LiveLatency{N: 40, P50: 7.13, P90: 8.44, P95: math.NaN(), P99: math.NaN(), Max: 12.5},
		ITL:        endpoint.LiveLatency{N: 9000, P50: 7.02, P90: 8.01, P95: 9.12, P99: 31.4, Max: 88},
		Lag:        endpoint.LiveLatency{N: 1312, P50: 0.0212, P90: 0.03, P95: 0.041, P99: 0.0514, Max: 0.42},
	}
	return s, r, stay
}

func TestFrames(t *testing.T) {
	now := time.Now()
	for _, size := range []struct{ width, height int }{{80, 24}, {160, 50}, {40, 9}} {
		s, r, stay := busy(now, size.width-1)
		frame := s.frame(r, Moment{now: now, width: size.width - 1, Height: size.height})
		got := strings.Join(stay, "\n") + "\n" + strings.Join(frame, "\n") + "\n"
		file := filepath.Join("testdata", fmt.Sprintf("%dx%d.txt", size.width, size.height))
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (go test ./sweep/live -run Frames -update writes it):\n%s", file, diff)
		}
	}
}

// A frame fits a terminal of any size; a finished row fits from 80 columns on.
func TestFrameFits(t *testing.T) {
	now := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 300).Draw(t, "width"), rapid.IntRange(1, 80).Draw(t, "height")
		s, r, stay := busy(now, width-1)
		switch rapid.IntRange(0, 3).Draw(t, "state") {
		case 0:
			r = endpoint.Snapshot{}
		case 1:
			s.status.row, s.status.server = nil, &sweep.Starting{N: 2, Variant: "max_num_seqs=8"}
		case 2:
			s.status.row = nil
		}
		frame := s.frame(r, Moment{now: now, width: width - 1, Height: height})
		if len(frame) > height-1 {
			t.Fatalf("%d lines of %d", len(frame), height)
		}
		if width >= 80 {
			frame = append(frame, stay...)
		}
		for _, line := range frame {
			if n := text.Width(line); n > max(0, width-1) {
				t.Fatalf("%d columns of %d: %s", n, width, line)
			}
		}
	})
}

func TestFrameWords(t *testing.T) {
	now := time.Now()
	counted := experiment.Spec{Name: "counted", Load: workload.Load{Concurrency: 2, Requests: 100}}
	whole := experiment.Spec{Name: "whole", Stream: new(false), Load: workload.Load{Concurrency: 1, Duration: 10 * second}}
	m := matrixOf(counted, whole)
	m.Name = "m"
	s := newSweep(m, nil, true)
	cut := false
	frame := func(r endpoint.Snapshot) string { return strings.Join(s.frame(r, Moment{now, 120, 30, cut}), "\n") }
	holds := func(text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("no %q in\n%s", p, text)
			}
		}
	}
	log := func() string { return "loading \x1b[2Jshards" }
	s.apply(sweep.Event{Starting: &sweep.Starting{N: 1, Variant: "n=4", LastLine: log}}, now.Add(-3*time.Second), 100)
	holds(frame(endpoint.Snapshot{}), "starting server 1 n=4: 3s", `log: loading \x1b[2Jshards`, "at least 10s left")
	s.apply(sweep.Event{Begun: &sweep.RowEvent{Index: 1, Total: 2, Spec: &m.Points[0], ID: "counted-r1"}}, now.Add(-2*time.Second), 100)
	holds(frame(endpoint.Snapshot{}), "preparing  connections and prefixes: 2s", "at least 10s left")
	r := endpoint.Snapshot{Begun: now.Add(-40 * time.Second), Phase: record.PhaseWarmup, Done: 50}
	m.Points[0].Warmup.Requests = 60
	holds(frame(r), "warm-up    40s, 50 of 60 requests")
	m.Points[0].Warmup = workload.Extent{Time: 10 * second}
	r.Phase, r.Counted = record.PhaseWindow, 44 // of 50, six of the warm-up
	holds(frame(r), "window     40s, 44 of 100 requests", "requests   0 sent, 50 done")
	m.Points[0].Warmup, r.Counted = workload.Extent{}, 50
	holds(frame(r), "window     40s, 50 of 100 requests", "about 40s left", "output     0 tok/s", "TTFT       none yet", "50s to 2m 51s left")
	cut = true
	holds(frame(r), "interrupted: waiting for requests in flight")
	cut = false
	failed := rowOf(m.Points[0], 3, stats.Fail, 0)
	failed.Summary.Requests.Failed = 2
	line := s.apply(sweep.Event{Finished: &sweep.RowEvent{Index: 1, Total: 2, Row: failed}}, now, 120)
	failed.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	invalid := s.apply(sweep.Event{Finished: &sweep.RowEvent{Index: 1, Total: 2, Row: failed}}, now, 80)
	holds(invalid[0], "INVALID: errors")
	holds(line[0], "\x1b[31mFAIL\x1b[0m ", "2 FAILED", "TTFT p50 n=3")
	s.apply(sweep.Event{Begun: &sweep.RowEvent{Index: 2, Total: 2, Spec: &m.Points[1], ID: "whole-r1"}}, now, 100)
	r = endpoint.Snapshot{Begun: now.Add(-11 * time.Second), Phase: record.PhaseCooldown, Done: 1, Tokens: 300, FirstToken: endpoint.LiveLatency{N: 1, P50: math.NaN(), P90: math.NaN(), P95: math.NaN(), P99: math.NaN(), Max: 10}}
	holds(frame(r), "cool-down  11s of 10s: draining", "E2E        max 10.0 ms   n=1", "output     27.3 tok/s")
}

// A frame drawn on a wide screen takes more lines on a narrow one.
func TestScreenLines(t *testing.T) {
	frame := []string{"", strings.Repeat("x", 80), "\x1b[32m" + strings.Repeat("名", 20) + "\x1b[0m"}
	for width, want := range map[int]int{160: 3, 80: 3, 79: 4, 40: 4, 39: 6, 20: 7} {
		if got := screenLines(frame, width); got != want {
			t.Errorf("at %d columns %d, want %d", width, got, want)
		}
	}
}

// A long matrix name does not hide the time left.
func TestLongMatrixName(t *testing.T) {
	now := time.Now()
	for _, width := range []int{80, 100, 160} {
		s, r, _ := busy(now, width)
		s.matrix = "a-matrix-with-a-rather-long-name-that-somebody-chose-日本語"
		line := s.frame(r, Moment{now: now, width: width, Height: 24})[1]
		if !strings.HasSuffix(line, " left") || text.Width(line) > width || !strings.HasPrefix(line, "a-mat") {
			t.Errorf("%d columns: %q", width, line)
		}
	}
}

// Rows of conversations and agents count those, too.
func TestFrameCountsSessions(t *testing.T) {
	now := time.Now()
	s, r, _ := busy(now, 100)
	frame := func() string { return strings.Join(s.frame(r, Moment{now: now, width: 100, Height: 40}), "\n") }
	if strings.Contains(frame(), "sessions") {
		t.Error("sessions of a row without them")
	}
	if r.Sessions, r.Over = 24, 8; !strings.Contains(frame(), "sessions   24 begun, 8 ended") {
		t.Error(frame())
	}
}
