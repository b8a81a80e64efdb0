package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/workload"
)

func TestJoinRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Worker)
		want   string
	}{
		{"token", func(w *Worker) { w.Token = "wrong" }, "refuses this worker: this token differs from the leader's"},
		{"version", func(w *Worker) { w.Build.Version = "0.9" }, "the worker is bench 0.9 abc, the leader bench 1.0 abc"},
		{"executable", func(w *Worker) { w.Build.Hash = "0123456789abcdef" }, "the worker is bench 1.0 abc (executable 0123456789ab), the leader bench 1.0 abc"},
		{"number", func(w *Worker) { w.Index = 2 }, "number 2: this leader has workers 0 to 1"},
		{"negative", func(w *Worker) { w.Index = -2 }, "number -2: this leader has"},
		{"taken", func(w *Worker) { w.Index = 0 }, "for 1m0s: worker 0 has joined already, from host-0"},
		{"full", func(w *Worker) { w.Index = -1 }, "for 1m0s: all 2 workers have joined: this one waits as a spare"},
		{"no leader", func(w *Worker) { w.Join += "/elsewhere" }, "answers with HTTP 404, not as bench sweep --workers does"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newRig(t, 2)
				for k := range 2 {
					x.run(x.ctx, x.worker(k, each))
				}
				x.complete()
				w := x.worker(0, each)
				c.change(w)
				began := time.Now()
				err := <-x.run(x.ctx, w)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if tried := time.Since(began); (tried > 0) != strings.Contains(c.want, "1m0s") && c.name != "no leader" {
					t.Errorf("it tried for %v", tried)
				}
				if strings.Contains(err.Error(), testToken) {
					t.Errorf("the error shows the token: %v", err)
				}
			})
		})
	}
}

// TestOwnTokens has workers with a token each: it gives the number, and opens the session of no other.
func TestOwnTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(2)
		x := newRigOf(t, 2, tokens...)
		for _, c := range []struct {
			token string
			index int
			want  string
		}{
			{tokens[0], 1, "refuses this worker: number 1: the token is worker 0's"},
			{tokens[1], 2, "number 2: this leader has workers 0 to 1"},
			{tokens[0] + tokens[1], -1, "this token differs from the leader's"},
			{"", -1, "this token differs from the leader's"},
		} {
			w := x.worker(c.index, each)
			w.Token = c.token
			if err := <-x.run(x.ctx, w); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("number %d: error %v, want %q", c.index, err, c.want)
			}
		}
		for _, k := range []int{1, 0} { // in this order: the numbers are the tokens'
			w := x.worker(-1, each)
			w.Token, w.Host = tokens[k], fmt.Sprint("host-", k)
			x.run(x.ctx, w)
			synctest.Wait()
		}
		x.complete()
		for k, token := range tokens {
			x.token = token
			for other, m := range x.leader.members {
				q := url.Values{"session": {m.session}, "after": {"0"}, "seq": {"99"}, "row": {"1"}}
				for path, method := range map[string]string{"clock": "GET", "files/x": "GET", "events": "POST"} {
					status, text := x.ask(method, "/v1/"+path, q, nil)
					if dropped := strings.Contains(text, "dropped this worker"); dropped != (k != other) || m.host != fmt.Sprint("host-", other) {
						t.Errorf("%s of worker %d (%s) with the token of %d: %d %s", path, other, m.host, k, status, text)
					}
				}
			}
		}
		if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 {
			t.Errorf("%d records, error %v", len(got), err)
		}
	})
}

func TestOtherProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		long := strings.Repeat("x", 16<<10) // little more than is read: the pipe has no buffer for a rest
		for _, body := range []string{"", "{", `{"protocol": 2, "index": 0}`, `{"host": "` + long + `"}`} {
			status, text := x.ask(http.MethodPost, "/v1/join", nil, strings.NewReader(body))
			var r refusal
			if err := json.Unmarshal([]byte(text), &r); err != nil || status < 400 || !r.Final {
				t.Errorf("%.30s: %d %s", body, status, text)
			}
		}
	})
}

// cut drives a row that a worker cuts, and returns why.
func (x *rig) cut(c endpoint.DriveConfig) *endpoint.WorkerError {
	x.t.Helper()
	_, _, err := x.drive(x.ctx, c)
	failed := new(endpoint.WorkerError)
	if !errors.As(err, &failed) {
		x.t.Fatalf("error %v is not of a worker", err)
	}
	return failed
}

// TestWorkerFails cuts rows by the faults of one worker of two. The other ends its share, and a replacement can send the
// row.
func TestWorkerFails(t *testing.T) {
	type share = func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error)
	after := func(do func(ctx context.Context, c endpoint.ShareConfig) error) share {
		return func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			if _, err := c.Ready(ctx); err != nil {
				return nil, err
			}
			return &endpoint.ShareResult{}, do(ctx, c)
		}
	}
	owned := 0 // a record of worker 1
	for !(&experiment.Spec{}).Share(1, 2).Owns(owned) {
		owned++
	}
	send := func(times int, r *record.Record) share {
		return after(func(ctx context.Context, c endpoint.ShareConfig) error {
			r.I, r.Phase, r.Outcome = owned, "window", "ok"
			for range times {
				if err := c.Each(r); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return ctx.Err()
		})
	}
	for _, c := range []struct {
		name  string
		share share
		want  string
	}{
		{"error", after(func(context.Context, endpoint.ShareConfig) error {
			return errors.New("no space left on device\x1b[31m")
		}), `no space left on device\x1b[31m`},
		{"error before it is ready", func(context.Context, endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			return nil, errors.New("the plan is another one")
		}, "the plan is another one"},
		{"record twice", send(2, &record.Record{}), fmt.Sprintf("sent record %d, which the leader has", owned)},
		{"future", send(1, &record.Record{Sent: record.At(1 << 50)}), "has a time of"},
		{"window", func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			_, err := c.Ready(ctx)
			return &endpoint.ShareResult{Window: &load.Measured{End: time.Hour}}, err
		}, "its window goes from 0s to 1h0m0s"},
		{"sample of a server", after(func(ctx context.Context, c endpoint.ShareConfig) error {
			c.Sample(record.Sample{Source: "server"})
			<-ctx.Done()
			return ctx.Err()
		}), `a sample is of the source "server"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newRig(t, 2)
				x.run(x.ctx, x.worker(0, each))
				bad := x.worker(1, c.share)
				x.run(x.ctx, bad)
				x.complete()
				failed := x.cut(endpoint.DriveConfig{Started: func(time.Time) {}})
				if failed.Worker != 1 || failed.Host != "host-1" || !strings.Contains(failed.Text, c.want) {
					t.Errorf("the error is %v", failed)
				}
				bad.Reach = func(context.Context, endpoint.ServerAddress, *experiment.Spec) (Sharer, error) {
					return &fake{share: each}, nil
				}
				bad.target.key = "" // not the server of before
				x.complete()
				if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 {
					t.Errorf("the row again: %d records, error %v", len(got), err)
				}
			})
		})
	}
}

// TestInterruptedWorker ends a worker in the middle of a row: the row is cut at once, and another can take its place.
func TestInterruptedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 2)
		ctx, interrupt := context.WithCancel(x.ctx)
		x.run(x.ctx, x.worker(0, each))
		ended := x.run(ctx, x.worker(1, each))
		x.complete()
		var since time.Time
		failed := x.cut(endpoint.DriveConfig{Started: func(time.Time) {
			time.AfterFunc(300*time.Millisecond, func() {
				since = time.Now()
				interrupt()
			})
		}})
		if failed.Worker != 1 || failed.Text != "was interrupted" || time.Since(since) > time.Second {
			t.Errorf("the error is %v, after %v", failed, time.Since(since))
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
		_, _, err := x.drive(x.ctx, endpoint.DriveConfig{})
		if err == nil || !strings.Contains(err.Error(), "worker 1: is not there") {
			t.Errorf("a row without worker 1: %v", err)
		}
		began := time.Now()
		if err := x.leader.Complete(x.ctx); err == nil || time.Since(began) != replacing ||
			err.Error() != "1 of 2 workers did not join within 1m0s: number 1" {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		x.run(x.ctx, x.worker(-1, each))
		x.complete()
		if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 {
			t.Errorf("the row again: %d records, error %v", len(got), err)
		}
	})
}

// TestKilledWorker has a worker without any further sign of life: its machine is gone, or its process and another has come.
func TestKilledWorker(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, 2)
			x.run(x.ctx, x.worker(0, each))
			killed := x.worker(1, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			var dead atomic.Bool
			next := killed.Client.Transport
			killed.Client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
				if dead.Load() {
					return nil, errors.New("no route to host")
				}
				return next.RoundTrip(r)
			})
			x.run(x.ctx, killed)
			x.complete()
			began := time.Now()
			time.AfterFunc(time.Second, func() {
				dead.Store(true)
				if replaced { // and the kernel has closed its connections
					x.leader.mu.Lock()
					x.leader.members[1].streams = 0
					x.leader.mu.Unlock()
					x.run(x.ctx, x.worker(1, each))
				}
			})
			failed := x.cut(endpoint.DriveConfig{})
			took := time.Since(began)
			switch {
			case replaced && (failed.Text != "its connection was lost, and another process has its number" || took > 6*time.Second):
				t.Errorf("%v after %v", failed, took)
			case !replaced && (failed.Text != "no sign of life for 10s" || took > 12*time.Second):
				t.Errorf("%v after %v", failed, took)
			}
		})
	}
}

// TestCancel ends a row from the leader's side.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(cancel func()) (endpoint.DriveConfig, error)
	}{
		{"interrupted", func(cancel func()) (endpoint.DriveConfig, error) {
			return endpoint.DriveConfig{Started: func(time.Time) { time.AfterFunc(300*time.Millisecond, cancel) }}, context.Canceled
		}},
		{"disk full", func(func()) (endpoint.DriveConfig, error) {
			full := errors.New("no space left on device")
			return endpoint.DriveConfig{Each: func(*record.Record) error { return full }}, full
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newRig(t, 2)
				for k := range 2 {
					x.run(x.ctx, x.worker(k, each))
				}
				x.complete()
				ctx, cancel := context.WithCancel(x.ctx)
				config, want := c.end(cancel)
				if _, _, err := x.drive(ctx, config); !errors.Is(err, want) {
					t.Fatalf("error %v, want %v", err, want)
				}
				if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 {
					t.Errorf("another row: %d records, error %v", len(got), err)
				}
			})
		})
	}
}

// TestStubbornWorker does not end a row that was cut: it is expelled, and joins again.
func TestStubbornWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 2)
		x.run(x.ctx, x.worker(0, each))
		rows := 0
		x.run(x.ctx, x.worker(1, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			if rows++; rows > 1 {
				return each(ctx, c)
			}
			time.Sleep(15 * time.Second)
			return nil, ctx.Err()
		}))
		x.complete()
		ctx, cancel := context.WithTimeout(x.ctx, time.Second)
		defer cancel()
		began := time.Now()
		if _, _, err := x.drive(ctx, endpoint.DriveConfig{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 12*time.Second {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		x.complete()
		if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 {
			t.Errorf("another row: %d records, error %v", len(got), err)
		}
	})
}

// TestLeaderEnds ends the workers, also in the middle of a row.
func TestLeaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 2)
		var ended []<-chan error
		for k := range 2 {
			ended = append(ended, x.run(x.ctx, x.worker(k, each)))
		}
		x.complete()
		began := time.Now()
		x.leader.End("done")
		for k, e := range ended {
			if err := <-e; err != nil {
				t.Errorf("worker %d: %v", k, err)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLeaderGone has a leader that was killed in the middle of a row: its workers cut the row, and give up at last.
func TestLeaderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		var cut time.Time
		began := time.Now()
		ended := x.run(x.ctx, x.worker(0, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			<-ctx.Done()
			cut = time.Now()
			return nil, ctx.Err()
		}))
		x.complete()
		ctx, cancel := context.WithCancel(x.ctx)
		go func() { _, _, _ = x.drive(ctx, endpoint.DriveConfig{}) }()
		time.Sleep(time.Second)
		x.leader.mu.Lock()
		x.leader.members[0].session = "a leader that began anew does not know it"
		x.leader.mu.Unlock()
		x.stop()
		err := <-ended
		if err == nil || !strings.Contains(err.Error(), "joining the leader at http://leader for 1m0s: connection refused") {
			t.Errorf("error %v", err)
		}
		if after := cut.Sub(began); after < silence || after > silence+3*time.Second {
			t.Errorf("the row was cut after %v", after)
		}
		cancel()
	})
}

// TestFiles has a worker without the files of a row: they come from the leader, and go again.
func TestFiles(t *testing.T) {
	dir, own, temp := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Chdir(own)
	lengths, away := "lengths.txt", filepath.Join(dir, "away.txt")
	if err := os.WriteFile(lengths, []byte("100\n200\n300\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := &experiment.Spec{Name: "row"}
	spec.Input = workload.Length{Dist: "empirical", File: &workload.File{Name: lengths}}
	spec.Output = workload.Fixed(4)
	spec.Look(new(experiment.Files), func(_, problem, _ string) { t.Fatal(problem) })
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Error(err)
		}
	}
	row := func(x *rig) (got *experiment.Spec, err error) {
		ctx, cancel := context.WithCancel(x.ctx)
		ended := x.run(ctx, x.worker(0, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			got = c.Spec
			_, err := c.Ready(ctx)
			return &endpoint.ShareResult{}, err
		}))
		x.complete()
		for range 2 { // the second finds what the first one fetched
			if _, _, err = x.drive(x.ctx, endpoint.DriveConfig{Row: endpoint.Share{Spec: spec}}); err != nil {
				break
			}
		}
		cancel()
		<-ended
		if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
			t.Errorf("left: %v, error %v", left, err)
		}
		return got, err
	}
	synctest.Test(t, func(t *testing.T) {
		got, err := row(newRig(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		if f := got.Input.File; f.Name != lengths || len(f.Read[0]) != 3 {
			t.Errorf("the worker's own file is %+v", f)
		}
	})
	move(lengths, away)
	for _, changed := range []bool{false, true} {
		if changed {
			if err := os.WriteFile(away, []byte("1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, 1)
			fetches := 0
			x.before = func(r *http.Request) { // the leader has it, and this worker has not
				if strings.Contains(r.URL.Path, "/files/") {
					fetches++
					move(away, lengths)
				}
			}
			x.fail = func(r *http.Request) error {
				if strings.Contains(r.URL.Path, "/files/") {
					move(lengths, away)
				}
				return nil
			}
			got, err := row(x)
			switch {
			case fetches != 1:
				t.Errorf("%d fetches", fetches)
			case changed:
				if err == nil || !strings.Contains(err.Error(), "lengths.txt from the leader: it has changed") {
					t.Errorf("error %v", err)
				}
			case err != nil:
				t.Error(err)
			default:
				if f := got.Input.File; !strings.HasPrefix(f.Name, temp) || len(f.Read[0]) != 3 || f.SHA256 != spec.Input.File.SHA256 {
					t.Errorf("the fetched file is %+v", f)
				}
			}
		})
	}
}

// TestOtherFiles names files outside of the working directory, whose contents a leader may know: none is opened.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside.txt")
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(own)
	for _, name := range []string{outside, "own.txt"} {
		if err := os.WriteFile(name, []byte("100\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, "link.txt"); err != nil {
		t.Fatal(err)
	}
	hash := must(workload.HashFile(outside))
	for name, want := range map[string]bool{
		"own.txt": true, "../own/own.txt": false, "../outside.txt": false, outside: false, "link.txt": false, "": false, ".": false,
		"/dev/zero": false, "/proc/self/environ": false,
	} {
		if f := (&file{name, hash}); f.isHere() != want {
			t.Errorf("%q is here: %v", name, !want)
		}
	}
	s := &session{w: new(Worker), files: local{at: map[file]string{}}}
	spec := &experiment.Spec{}
	spec.Input = workload.Length{Dist: "empirical", File: &workload.File{Name: outside}}
	err := s.find(t.Context(), &command{Share: &endpoint.Share{Spec: spec}})
	if err == nil || !strings.Contains(err.Error(), "not in the leader's list") {
		t.Errorf("a file that is not listed: %v", err)
	}
}

// TestForeignRequests asks without a session, and for files that no row names.
func TestForeignRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		for _, path := range []string{"/v1/commands", "/v1/clock", "/v1/files/abc", "/v1/files/..%2f..%2fetc%2fpasswd"} {
			for _, session := range []string{"", "unknown"} {
				if status, text := x.ask(http.MethodGet, path, url.Values{"session": {session}, "after": {"0"}}, nil); status != http.StatusNotFound {
					t.Errorf("%s: %d %s", path, status, text)
				}
			}
		}
		x.run(x.ctx, x.worker(0, each))
		x.complete()
		session := x.leader.members[0].session
		if status, text := x.ask(http.MethodGet, "/v1/files/abc", url.Values{"session": {session}}, nil); status != http.StatusNotFound || !strings.Contains(text, "no such file") {
			t.Errorf("%d %s", status, text)
		}
	})
}

// TestLongSession has a worker that waits for an hour: one response has all its commands.
func TestLongSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		var streams atomic.Int64
		x.before = func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/commands") {
				streams.Add(1)
			}
		}
		x.run(x.ctx, x.worker(0, each))
		x.complete()
		time.Sleep(time.Hour)
		if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 || streams.Load() != 1 {
			t.Errorf("%d records, %d streams, error %v", len(got), streams.Load(), err)
		}
	})
}
