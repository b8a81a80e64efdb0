package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server does not outlive the process that started it, not even one that is killed.
func TestParentIsKilled(t *testing.T) {
	c, dir := being(t, "parent")
	parent := exec.Command(c.Command[0], c.Command[1:]...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := noted(t, dir, "pid")
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	gone(t, pid)
}

// Under a guard nothing is left, however a process below the server tried to leave it, and whoever of the two
// is killed. None of these servers listens to being asked.
func TestNothingIsLeft(t *testing.T) {
	for _, way := range []string{"child", "session", "twice", "daemon"} {
		for name, end := range map[string]func(*testing.T, Config, string){
			"done": done, "bench killed": benchKilled, "guard asked": guardGets(syscall.SIGTERM), "guard killed": guardGets(syscall.SIGKILL),
		} {
			t.Run(way+" "+name, func(t *testing.T) {
				c, dir := guarded(t, "leaves")
				t.Setenv("SERVER_TEST_WAY", way)
				end(t, c, dir)
				for _, name := range []string{"pid", "deaf", "guard"} {
					gone(t, noted(t, dir, name))
				}
			})
		}
	}
}

func done(t *testing.T, c Config, dir string) {
	err := Run(t.Context(), c, func(context.Context, Running) error { noted(t, dir, "deaf"); return nil })
	if err != nil {
		t.Error(err)
	}
}

func guardGets(s syscall.Signal) func(*testing.T, Config, string) {
	return func(t *testing.T, c Config, dir string) {
		err := Run(t.Context(), c, func(ctx context.Context, running Running) error {
			noted(t, dir, "deaf")
			if err := syscall.Kill(running.PID, s); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		var died *DiedError
		if !errors.As(err, &died) {
			t.Errorf("got %v", err)
		}
	}
}

func benchKilled(t *testing.T, _ Config, dir string) {
	command := as("guarded parent")
	parent := exec.Command(command[0], command[1:]...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := noted(t, dir, "ready")
	noted(t, dir, "deaf")
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	gone(t, pid)
}

func TestDescendants(t *testing.T) {
	if got := descendants(os.Getpid()); slices.Contains(got, os.Getpid()) {
		t.Errorf("a process is below itself: %v", got)
	}
	child := exec.Command("sh", "-c", "sleep 60 & wait")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range append(descendants(child.Process.Pid), child.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = child.Wait()
	}()
	for range 6000 { // at most a minute
		if got := descendants(os.Getpid()); slices.Contains(got, child.Process.Pid) && len(descendants(child.Process.Pid)) == 1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("not below: %d and its child, in %v", child.Process.Pid, descendants(os.Getpid()))
}

// A server that somebody else starts while ours does is found out by who listens.
func TestNotOwned(t *testing.T) {
	c, _ := guarded(t, "serve")
	c.Command = []string{"sleep", "60"}
	address := strings.TrimPrefix(c.URL, "http://")
	time.AfterFunc(50*time.Millisecond, func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		context.AfterFunc(t.Context(), func() { l.Close() })
		_ = http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	})
	err := Run(t.Context(), c, func(context.Context, Running) error { t.Error("used"); return nil })
	var stale *StaleError
	if !errors.As(err, &stale) || !strings.Contains(err.Error(), "proxied = true") {
		t.Errorf("got %v", err)
	}
}
