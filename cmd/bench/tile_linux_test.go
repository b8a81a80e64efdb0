package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bench/experiment/text"
	"bench/report"
)

// screen is what a terminal shows, and was sent.
type screen struct {
	mu   sync.Mutex
	grid *grid
	sent bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.Write(p)
	return s.grid.Write(p)
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grid.String()
}

func (s *screen) was() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.String()
}

// tiling is bench tile as a process of its own, on a terminal of so many columns or, for 0, with a file in
// its place.
type tiling struct {
	cmd  *exec.Cmd
	out  string // results
	seen *screen
	file *os.File
	read chan struct{}
}

func startTiling(t *testing.T, wide int, args ...string) *tiling {
	t.Helper()
	x := &tiling{out: t.TempDir(), read: make(chan struct{})}
	x.cmd = exec.Command("bench", append([]string{"tile", "--set", "row.tile.tile.contexts=4", "--set", "row.tile.input=64", "--set", "row.tile.output=4",
		"--set", "row.tile.warmup=4", "--out", x.out}, args...)...)
	x.cmd.Env = append(os.Environ(), "TERM=xterm", "OPENAI_API_KEY=")
	if wide == 0 {
		var err error
		if x.file, err = os.Create(filepath.Join(x.out, "nohup.out")); err != nil {
			t.Fatal(err)
		}
		close(x.read)
		x.cmd.Stdout, x.cmd.Stderr = x.file, x.file
	} else {
		user, program := openTerminal(t)
		if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(wide), Row: 60}); err != nil {
			t.Fatal(err)
		}
		x.cmd.Stdout, x.cmd.Stderr = program, program
		x.seen = &screen{grid: &grid{t: t}}
		defer program.Close()
		go func() {
			defer close(x.read)
			_, _ = io.Copy(x.seen, user) // ends when the process does
		}()
	}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.cmd.Process.Kill() })
	return x
}

func (x *tiling) said() string {
	if x.file == nil {
		return x.seen.was()
	}
	b, _ := os.ReadFile(x.file.Name())
	return string(b)
}

// until waits for a text.
func (x *tiling) until(t *testing.T, text string) {
	t.Helper()
	for start := time.Now(); !strings.Contains(x.said(), text); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("no %q after a minute in\n%s", text, x.said())
		}
	}
}

// end waits for the end of the process, and holds its exit code.
func (x *tiling) end(t *testing.T, code int) {
	t.Helper()
	_ = x.cmd.Wait()
	<-x.read
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d:\n%s", got, code, x.said())
	}
}

// run is the result that was saved; nil: there is none.
func (x *tiling) run(t *testing.T) *report.Run {
	t.Helper()
	rows, _ := filepath.Glob(filepath.Join(x.out, "tile", "*", "tile-r1.json"))
	if len(rows) == 0 {
		return nil
	}
	run, err := report.Load(filepath.Dir(rows[0]))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// interval matches the line of an interval, with the carriage returns of a terminal.
var interval = regexp.MustCompile(`(?m)^ +\d+:\S+ .* \d+ +\d+\r?$`)

// Lines follow one another on a terminal, wide or narrow; the signals of a terminal and of a system end it in
// order, with a result.
func TestTileOnATerminal(t *testing.T) {
	for _, tt := range []struct {
		columns int
		signal  syscall.Signal
	}{{80, syscall.SIGINT}, {120, syscall.SIGTERM}, {50, syscall.SIGHUP}} {
		t.Run(fmt.Sprintf("%d columns, %v", tt.columns, tt.signal), func(t *testing.T) {
			if signal.Ignored(tt.signal) { // by nohup
				t.Skip("bench inherits that the signal is ignored")
			}
			x := startTiling(t, tt.columns, "mock")
			x.until(t, "measurement window:")
			lines := func() int { return strings.Count(x.said(), "\n") }
			for n := lines(); lines() < n+5; {
				time.Sleep(10 * time.Millisecond)
			}
			said := x.said()
			if !strings.Contains(said, "It runs until Ctrl-C") || strings.Contains(said, "\x1b") {
				t.Errorf("it said %q", said)
			}
			if n := len(interval.FindAllString(said, -1)); tt.columns >= 80 && n < 5 {
				t.Errorf("%d lines in:\n%s", n, said)
			}
			_, live, _ := strings.Cut(said, "warm-up, not counted")
			for line := range strings.Lines(live) {
				if n := text.Width(strings.TrimSpace(line)); n > tt.columns {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if err := x.cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			x.end(t, codeDone)
			run := x.run(t)
			if run == nil || len(run.Rows) != 1 || run.Rows[0].Summary.Requests.Completed == 0 || run.Manifest.State != "done" {
				t.Errorf("no whole result")
			}
			if shown := x.seen.shows(); strings.Count(shown, "warm-up included:") != 1 || !strings.Contains(shown, "report: ") {
				t.Errorf("at the end:\n%s", shown)
			}
		})
	}
}

// A server that stalls is seen: lines go on, and say for how long nothing has ended. A second signal leaves
// at once.
func TestTileStalled(t *testing.T) {
	x := startTiling(t, 0, serveMock(t, time.Millisecond, "stall=1@40"), "--set", "row.tile.concurrency=1")
	x.until(t, "\nno request finished for 1 s\n")
	if strings.Contains(x.said(), "\x1b") {
		t.Errorf("a file has a terminal's codes:\n%s", x.said())
	}
	for i, wait := range []time.Duration{200 * time.Millisecond, 0} {
		if err := x.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatalf("signal %d: %v", i, err)
		}
		time.Sleep(wait)
	}
	start := time.Now()
	x.end(t, codeInterrupted)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v to leave", took)
	}
	if x.run(t) != nil {
		t.Error("there is a result")
	}
}

// Ctrl-C ends the reader of a pipe too (bench tile | tee log), perhaps first: the results are saved all the
// same.
func TestTileWithoutAReader(t *testing.T) {
	out := t.TempDir()
	cmd := exec.Command("bench", "tile", "mock", "--set", "row.tile.tile.contexts=4", "--set", "row.tile.input=64", "--set", "row.tile.output=4",
		"--set", "row.tile.warmup=4", "--out", out)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(r)
	for n := 0; n <= 8 && lines.Scan(); { // until requests of the window have ended
		if m := processed.FindStringSubmatch(lines.Text()); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
	}
	_ = r.Close()
	time.Sleep(200 * time.Millisecond) // some lines
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, &stderr)
	}
	if whole, _ := filepath.Glob(filepath.Join(out, "tile", "*", "report.html")); len(whole) != 1 {
		t.Errorf("no results")
	}
}
