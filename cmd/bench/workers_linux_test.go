package main

import (
	"bytes"
	"fmt"
	"io"
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

	"bench/experiment/mock"
	"bench/experiment/record"
)

// shared has rows of each kind that workers divide: arrivals at a rate, the same under a cap, a closed loop whose
// concurrency they do not divide evenly, and conversations.
const shared = `name = "k"
[target]
endpoint = "http://%s"
[defaults]
input = { dist = "uniform", min = 8, max = 80 }
output = { dist = "uniform", min = 2, max = 12 }
[[row]]
name = "open"
rate = 60
requests = 40
[[row]]
name = "capped"
rate = 80
concurrency = 6
requests = 40
[[row]]
name = "closed"
concurrency = [1, 6]
warmup = 4
requests = 40
[[row]]
name = "talk"
concurrency = 5
requests = 40
input = 16
[row.session]
turns = 3
user = 16
`

// sharing is a matrix for a server, and the address of its leader.
type sharing struct {
	leader         string
	matrix, secret string
	dir            string
}

func newSharing(t *testing.T) *sharing {
	t.Helper()
	s := &sharing{dir: t.TempDir(), leader: freeAddress(t)}
	server := serveConfig(t, mock.Config{TTFT: 10 * time.Millisecond, ITL: 2 * time.Millisecond})
	s.matrix, s.secret = filepath.Join(s.dir, "k.toml"), filepath.Join(s.dir, "token")
	for file, text := range map[string]string{s.matrix: fmt.Sprintf(shared, server), s.secret: "a-token-of-this-test\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// lead starts a leader of n workers.
func (s *sharing) lead(t *testing.T, n int, args ...string) *process {
	t.Helper()
	return startBench(t, append([]string{"sweep", s.matrix, "--workers", strconv.Itoa(n), "--token-file", s.secret,
		"--listen", s.leader}, args...)...)
}

func (s *sharing) work(t *testing.T) *process {
	t.Helper()
	return startBench(t, "work", "--join", "http://"+s.leader, "--token-file", s.secret)
}

// process is a command of bench that runs.
type process struct {
	*exec.Cmd
	said  bytes.Buffer  // its output; to be read once it has ended
	ended chan struct{} // closed when it has ended
}

func startBench(t *testing.T, args ...string) *process {
	t.Helper()
	return startCommand(t, "bench", args...)
}

func startCommand(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.Stdout, p.Stderr = &p.said, &p.said
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Wait() // the exit code says it
	}()
	return p
}

// kill ends the process without a chance to clean up.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// awaitEnd waits for the end of the process and returns its exit code.
func (p *process) awaitEnd(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.ProcessState.ExitCode()
	case <-time.After(2 * time.Minute):
		p.kill()
		t.Fatalf("%v does not end:\n%s", p.Args, &p.said)
		return -1
	}
}

// requestsOf are the requests of each row's window, as far as they do not depend on the clock: index and lengths, and the
// arrivals of an open loop. The only run in out must be whole. No request may be there twice, and no more in flight than the
// row allows.
func requestsOf(t *testing.T, said, out string, workers int) map[string][]string {
	t.Helper()
	run := wholeRun(t, said, out)
	requests := map[string][]string{}
	for i := range run.Rows {
		row := &run.Rows[i]
		f, err := os.Open(filepath.Join(run.Dir, row.ID+".requests.jsonl.zst"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var records []*record.Record
		seen := map[string]bool{}
		if err := record.ReadRecords(f, func(r *record.Record) error {
			own := *r
			records = append(records, &own)
			key := fmt.Sprint(r.I)
			if seen[key] {
				t.Errorf("%s: request %s is there twice", row.ID, key)
			}
			seen[key] = true
			if r.Phase == record.PhaseWindow {
				requests[row.ID] = append(requests[row.ID], requestText(row, r))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(requests[row.ID])
		holdShares(t, row, records, workers)
	}
	return requests
}

// requestText is what of a request does not depend on the clock. With conversations the order of later turns does, too.
func requestText(row *record.Row, r *record.Record) string {
	if r.Session != nil {
		return r.Outcome
	}
	text := fmt.Sprintf("%06d %d/%d %s", r.I, *r.PromptTokens, r.OutputTokens, r.Outcome)
	if row.Spec.Rate > 0 {
		text += fmt.Sprint(" at ", r.Arrival.Us())
	}
	return text
}

// holdShares holds a row of workers to its records: each worker has the arrivals that are dealt to it, and the figures are
// those of all records.
func holdShares(t *testing.T, row *record.Row, records []*record.Record, workers int) {
	t.Helper()
	if len(row.Workers) != workers {
		t.Fatalf("%s has %d workers, want %d", row.ID, len(row.Workers), workers)
	}
	again := record.Summarize(records, row.Window, record.Mode{Streams: true}, nil, 0)
	if again.TTFT.P99 != row.Summary.TTFT.P99 || again.TPOT.P50 != row.Summary.TPOT.P50 || again.Throughput.OutputTokensPerS != row.Summary.Throughput.OutputTokensPerS {
		t.Errorf("%s: TTFT p99 %v, of the records %v", row.ID, row.Summary.TTFT.P99, again.TTFT.P99)
	}
	if most := row.Spec.Concurrency; most > 0 && again.Concurrency.Max > most {
		t.Errorf("%s: %d requests in flight", row.ID, again.Concurrency.Max)
	}
	for _, r := range records {
		switch {
		case workers == 0:
			if r.Worker != nil {
				t.Fatalf("%s: request %d has a worker", row.ID, r.I)
			}
		case r.Worker == nil:
			t.Fatalf("%s: request %d has no worker", row.ID, r.I)
		default:
			arrival := r.I
			if r.Session != nil {
				arrival = *r.Session
			}
			share := row.Spec.Share(*r.Worker, workers)
			if !share.Owns(arrival) {
				t.Errorf("%s: worker %d sent request %d", row.ID, *r.Worker, r.I)
			}
		}
	}
}

// TestWorkersSendWhatOneProcessSends compares one process with four workers.
func TestWorkersSendWhatOneProcessSends(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	alone, together := filepath.Join(s.dir, "alone"), filepath.Join(s.dir, "together")
	one := startBench(t, "sweep", s.matrix, "--out", alone)
	if code := one.awaitEnd(t); code != 0 {
		t.Fatalf("exit %d\n%s", code, &one.said)
	}
	leader := s.lead(t, 4, "--out", together)
	var crew []*process
	for range 4 {
		crew = append(crew, s.work(t))
	}
	if code := leader.awaitEnd(t); code != 0 {
		t.Errorf("leader: exit %d\n%s", code, &leader.said)
	}
	for _, w := range crew {
		if code := w.awaitEnd(t); code != 0 {
			t.Errorf("worker: exit %d\n%s", code, &w.said)
		}
	}
	want, got := requestsOf(t, one.said.String(), alone, 0), requestsOf(t, leader.said.String(), together, 4)
	if len(want) != 5 {
		t.Fatalf("%d rows", len(want))
	}
	for row := range want {
		if !slices.Equal(want[row], got[row]) {
			t.Errorf("%s: one process:\n%s\nfour workers:\n%s", row, strings.Join(want[row], "\n"), strings.Join(got[row], "\n"))
		}
	}
}

// TestWorkersKilledAtAnyMoment kills the leader or a worker at random moments and starts it again. The run must end with
// all requests of an undisturbed one, once each. BENCH_TEST_KILLS is the number of kills.
func TestWorkersKilledAtAnyMoment(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("BENCH_TEST_KILLS"))
	if err != nil {
		t.Skip("set BENCH_TEST_KILLS=30: each takes some seconds")
	}
	s := newSharing(t)
	const n = 3
	undisturbed := filepath.Join(s.dir, "undisturbed")
	took, said := s.disturbed(t, n, undisturbed, nil)
	want := requestsOf(t, said, undisturbed, n)
	rng := rand.New(rand.NewPCG(1, uint64(kills)))
	for i := range kills {
		out := filepath.Join(s.dir, strconv.Itoa(i))
		moment, victim := time.Duration(rng.Float64()*float64(took)), rng.IntN(n+1)
		_, said := s.disturbed(t, n, out, func(leader *process, crew []*process) {
			time.Sleep(moment)
			if victim == n {
				leader.kill()
			} else {
				crew[victim].kill()
				crew[victim] = s.work(t) // as an orchestrator does
			}
		})
		got := requestsOf(t, said, out, n)
		for row := range want {
			if !slices.Equal(want[row], got[row]) {
				t.Errorf("kill %d: %d killed after %v: %s:\n%s\nwant\n%s\n%s", i, victim, moment, row, strings.Join(got[row], "\n"), strings.Join(want[row], "\n"), said)
			}
		}
		t.Logf("kill %d: %d (leader: %d) after %v", i, victim, n, moment.Round(time.Millisecond))
	}
}

// disturbed runs the matrix to its end in out, resuming as often as it takes; disturb runs meanwhile.
func (s *sharing) disturbed(t *testing.T, n int, out string, disturb func(leader *process, crew []*process)) (took time.Duration, said string) {
	t.Helper()
	began := time.Now()
	var crew []*process
	for range n {
		crew = append(crew, s.work(t))
	}
	leader := s.lead(t, n, "--out", out)
	if disturb != nil {
		disturb(leader, crew)
	}
	for range 4 {
		code := leader.awaitEnd(t)
		said += leader.said.String()
		if code == 0 {
			break
		}
		for i, w := range crew { // an orchestrator starts what has ended
			if w.over() {
				said += w.said.String()
				crew[i] = s.work(t)
			}
		}
		if dir := runDir(t, said, out); dir != "" {
			leader = s.lead(t, n, "--resume", dir)
		} else {
			leader = s.lead(t, n, "--out", out)
		}
	}
	took = time.Since(began)
	for _, w := range crew {
		if code := w.awaitEnd(t); code != 0 {
			t.Errorf("worker: exit %d\n%s\n%s", code, &w.said, said)
		}
	}
	return took, said
}

// TestLeaderFlooded: half requests of strangers, more than the leader may open files, do not keep a worker out.
func TestLeaderFlooded(t *testing.T) {
	for name, text := range map[string]string{
		"half headers": "POST /v1/join HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-",
		"half bodies":  "POST /v1/join HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\nhalf",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSharing(t)
			leader := startCommand(t, "sh", "-c", `ulimit -n 256; exec bench "$@"`, "sh", "sweep", s.matrix, "--workers", "1",
				"--token-file", s.secret, "--listen", s.leader, "--only", "open", "--out", filepath.Join(s.dir, "r"))
			awaitListener(t, s.leader)
			for range 600 {
				c, err := net.Dial("tcp", s.leader)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				_, _ = io.WriteString(c, text) // it may be closed by now
			}
			began := time.Now()
			worker := s.work(t)
			if code := worker.awaitEnd(t); code != 0 {
				t.Errorf("the worker ended with %d:\n%s", code, &worker.said)
			}
			if code := leader.awaitEnd(t); code != 0 {
				t.Errorf("the leader ended with %d:\n%s", code, &leader.said)
			}
			t.Logf("a row of a worker in %v", time.Since(began))
		})
	}
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("%s does not answer", address)
}
