package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// freePort is below the ports that the system gives to listeners on port 0, so that no other test gets it
// meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	for i := range 1000 {
		port := strconv.Itoa(10_000 + (os.Getpid()+97*(i+int(ports.Add(1))))%20_000)
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

var ports atomic.Int64

// guarded is a kind of server under a guard, on a free port, with a log.
func guarded(t *testing.T, kind string) (Config, string) {
	t.Helper()
	c, dir := being(t, kind)
	port := freePort(t)
	var err error
	c.Log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Log.Close() })
	c.Env = []string{"SERVER_TEST_PORT=" + port}
	c.URL, c.Announce, c.Own, c.Guard, c.Grace = "http://127.0.0.1:"+port, "", true, as("guard"), 200*time.Millisecond
	return c, dir
}

func TestGuardedServer(t *testing.T) {
	c, dir := guarded(t, "forks")
	err := Run(t.Context(), c, func(ctx context.Context, s Running) error {
		if s.URL != c.URL || s.Ready < 50*time.Millisecond || s.PID != noted(t, dir, "guard") {
			t.Errorf("%+v", s)
		}
		if n := s.Lines(); n != 3 || s.Lines() != 3 {
			t.Errorf("%d lines in its log", n)
		}
		noted(t, dir, "deaf")
		return errors.New("mine")
	})
	if err == nil || err.Error() != "mine" {
		t.Error(err)
	}
	for _, name := range []string{"pid", "deaf", "guard"} {
		gone(t, noted(t, dir, name))
	}
}

func TestGuardedServerDies(t *testing.T) {
	c, dir := guarded(t, "serve")
	dies(t, c)
	gone(t, noted(t, dir, "guard"))
}

// What ends by a signal has that in its log, for the guard ends by a status.
func TestGuardedServerIsKilled(t *testing.T) {
	c, _ := guarded(t, "serve")
	c.Command = []string{"sh", "-c", "kill -9 $$"}
	err := Run(t.Context(), c, func(context.Context, Running) error { t.Error("used"); return nil })
	var died *DiedError
	if !errors.As(err, &died) || died.Status != "exit status 137" || !strings.HasSuffix(died.Output, "bench: sh was ended by a signal: killed") {
		t.Errorf("got %v", err)
	}
}

func TestNeverReady(t *testing.T) {
	c, _ := guarded(t, "serve")
	c.Command, c.Start = []string{"sh", "-c", "echo loading; sleep 60"}, 2*time.Second
	err := Run(t.Context(), c, func(context.Context, Running) error { t.Error("used"); return nil })
	if err == nil || err.Error() != "the server was not ready within 2s; last output:\nloading" {
		t.Errorf("got %v", err)
	}
}

func TestStaleServer(t *testing.T) {
	c, dir := guarded(t, "serve")
	l, err := net.Listen("tcp", strings.TrimPrefix(c.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = Run(t.Context(), c, func(context.Context, Running) error { t.Error("used"); return nil })
	var stale *StaleError
	if !errors.As(err, &stale) || stale.address != l.Addr().String() || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "guard")); err == nil {
		t.Error("a server was started all the same")
	}
}

func TestHooks(t *testing.T) {
	c, dir := guarded(t, "serve")
	c.Dir = dir
	c.Before, c.After = []string{"sh", "-c", "echo before >> hooks"}, []string{"sh", "-c", "echo after >> hooks"}
	ctx, cancel := context.WithCancel(t.Context())
	err := Run(ctx, c, func(ctx context.Context, _ Running) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "hooks")); string(text) != "before\nafter\n" {
		t.Errorf("the hooks left %q", text)
	}
	c.Before = []string{"sh", "-c", "echo no right to set clocks; exit 4"}
	err = Run(t.Context(), c, func(context.Context, Running) error { t.Error("used"); return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "the before hook: exit status 4; last output:\n") || !strings.HasSuffix(err.Error(), "no right to set clocks") {
		t.Errorf("got %v", err)
	}
	c.Before = []string{"/no/such/program"}
	c.Guard = nil
	if err = Run(t.Context(), c, nil); err == nil || !strings.HasPrefix(err.Error(), "starting the before hook /no/such/program: ") {
		t.Errorf("got %v", err)
	}
}

func TestLogFile(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &logFile{f: f}
	if l.lastOutput(nil) != "" || l.count() != 0 {
		t.Errorf("of nothing: %q, %d lines", l.lastOutput(nil), l.count())
	}
	for i := range 100 {
		fmt.Fprintf(f, "%d %s\r\n", i, strings.Repeat("x", i%3*lineBytes))
	}
	fmt.Fprint(f, "unfinished")
	lines := strings.Split(l.lastOutput(nil), "\n")
	if len(lines) > lastLines || lines[len(lines)-1] != "unfinished" || l.count() != 100 {
		t.Errorf("%d lines, the last %q; counted %d", len(lines), lines[len(lines)-1], l.count())
	}
	for _, line := range lines {
		if len(line) > lineBytes || strings.HasSuffix(line, "\r") {
			t.Errorf("%q", line)
		}
	}
}
