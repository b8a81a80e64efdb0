package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/report"
)

// killable starts a server for each value of a knob, with a row and a search on each. The search's answer
// does not depend on the load of this machine.
const killable = `name = "k"
[target]
endpoint = "http://127.0.0.1:%d"
[server]
command = ["bench", "mock", "--listen", "127.0.0.1:%[1]d", "--set", "mock.max_num_seqs={n}", "--set", "mock.ttft=2ms", "--set", "mock.itl=1ms"]
start_timeout = "60s"
stop_timeout = "200ms"
[server.knobs]
n = [4, 8]
[slo]
error_rate = 0
[defaults]
input = 16
output = 8
requests = 20
[[row]]
name = "r"
rate = 100
repeats = 2
[[row]]
name = "s"
concurrency = { search = "slo", min = 1, max = 4 }
`

// TestKilledAtAnyMoment kills bench at random moments and resumes. The run must end with the rows of an
// undisturbed one, and leave no process. BENCH_TEST_KILLS is the number of kills.
func TestKilledAtAnyMoment(t *testing.T) {
	times := 2
	if text := os.Getenv("BENCH_TEST_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		times = n
	} else if testing.Short() {
		t.Skip("it takes some seconds")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := t.TempDir()
	matrix := filepath.Join(dir, "k.toml")
	if err := os.WriteFile(matrix, fmt.Appendf(nil, killable, port), 0o644); err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(dir, "alone")
	began := time.Now()
	want := wholeRows(t, sweptTo(t, port, "sweep", matrix, "--out", alone), alone)
	took := time.Since(began)
	if len(want) != 2*(2+2) { // at 2 and 4
		t.Fatalf("rows: %v", want)
	}
	rng := rand.New(rand.NewPCG(1, uint64(times)))
	before := 0
	for i := range times {
		out := filepath.Join(dir, strconv.Itoa(i))
		moment := time.Duration(rng.Float64() * float64(took))
		killAfter(t, port, moment, "sweep", matrix, "--out", out)
		again := []string{"sweep", matrix, "--out", out}
		if run := runDir(t, "", out); run != "" {
			again = []string{"sweep", matrix, "--resume", run}
		} else {
			before++
		}
		text := sweptTo(t, port, again...)
		if diff := cmp.Diff(want, wholeRows(t, text, out)); diff != "" {
			t.Errorf("killed after %v:\n%s\n%s", moment, diff, text)
		}
	}
	t.Logf("killed %d times in the course of %v, %d times before the run had begun", times, took, before)
}

// sweptTo runs bench to its end, which must leave no process, and returns its output.
func sweptTo(t *testing.T, port int, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command("bench", args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &said)
	}
	noneLeft(t, port)
	return said.String()
}

func killAfter(t *testing.T, port int, moment time.Duration, args ...string) {
	t.Helper()
	cmd := exec.Command("bench", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(moment)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
	noneLeft(t, port)
}

// noneLeft waits until no process has the port in its command line.
func noneLeft(t *testing.T, port int) {
	t.Helper()
	var left string
	for range 500 {
		if left = mentioning(fmt.Sprintf("127.0.0.1:%d", port)); left == "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("a process is left: %s", left)
}

func mentioning(word string) string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if b, err := os.ReadFile(line); err == nil && bytes.Contains(b, []byte(word)) {
			return strings.ReplaceAll(string(b), "\x00", " ")
		}
	}
	return ""
}

// runDir is the directory of the only run in out; empty: there is none. said is what the commands wrote.
func runDir(t *testing.T, said, out string) string {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(out, "k", "*", "run.json"))
	if err != nil || len(runs) > 1 {
		t.Fatalf("runs %v, %v\n%s", runs, err, said)
	}
	if len(runs) == 0 {
		return ""
	}
	return filepath.Dir(runs[0])
}

// wholeRun is the only run in out. It must be done, without missing or partial rows.
func wholeRun(t *testing.T, said, out string) *report.Run {
	t.Helper()
	dir := runDir(t, said, out)
	if dir == "" {
		t.Fatalf("no run in %s\n%s", out, said)
	}
	run, err := report.Load(dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if partial, _ := filepath.Glob(filepath.Join(run.Dir, "*.partial")); len(partial) > 0 || len(run.Missing) > 0 || run.Manifest.State != "done" {
		t.Errorf("%s: missing %v, half %v\n%s", run.Manifest.State, run.Missing, partial, said)
	}
	return run
}

// wholeRows are the rows of the only run in out, which must be whole.
func wholeRows(t *testing.T, said, out string) []string {
	t.Helper()
	run := wholeRun(t, said, out)
	for _, f := range run.Manifest.Searches {
		if f.State != "above" {
			t.Errorf("%s", f.Text)
		}
	}
	var ids []string
	for i := range run.Rows {
		ids = append(ids, run.Rows[i].ID)
	}
	slices.Sort(ids)
	return ids
}
