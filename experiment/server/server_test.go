package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the server that the tests start, by the environment.
func TestMain(m *testing.M) {
	switch os.Getenv("SERVER_TEST") {
	case "":
		os.Exit(m.Run())
	case "serve":
		serve()
	case "stubborn": // with a child that is as stubborn, and whose process id is in a file
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			panic(err)
		}
		note("child", child.Process.Pid)
		serve()
	case "forks": // with one far below it that has left the group and the session, and whose parents have ended
		middle := exec.Command("env", "SERVER_TEST=middle", os.Args[0])
		middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := middle.Run(); err != nil {
			panic(err)
		}
		fmt.Println("a line")
		serve()
	case "middle":
		last := exec.Command("env", "SERVER_TEST=deaf", os.Args[0])
		last.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := last.Start(); err != nil {
			panic(err)
		}
	case "leaves": // with one that leaves in the way that is asked for; neither listens to being asked
		signal.Ignore(syscall.SIGTERM)
		leave(os.Getenv("SERVER_TEST_WAY"))
		serve()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		note("deaf", os.Getpid())
		time.Sleep(10 * time.Minute)
	case "guard":
		grace, err := time.ParseDuration(os.Args[1])
		if err != nil {
			panic(err)
		}
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		note("guard", os.Getpid())
		status, err := Guard(os.Args[2:], grace, os.Stdin, asked, os.Stdout)
		if err != nil {
			panic(err)
		}
		os.Exit(status)
	case "guarded parent": // runs a server under a guard, and is killed
		c := Config{Command: as("leaves"), Announce: "at ", Guard: as("guard"), Grace: 100 * time.Millisecond}
		err := Run(context.Background(), c, func(context.Context, Running) error { note("ready", os.Getpid()); select {} })
		panic(err)
	case "parent": // runs a server, and is killed
		err := Run(context.Background(), Config{Command: as("serve"), Announce: "at "}, func(context.Context, Running) error { select {} })
		panic(err)
	}
}

// leave starts a process, itself or by one that ends at once.
func leave(way string) {
	next := exec.Command("env", "SERVER_TEST=deaf", os.Args[0])
	switch way {
	case "session":
		next.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	case "twice":
		next = exec.Command("env", "SERVER_TEST=leaves", "SERVER_TEST_WAY=end", os.Args[0])
	case "daemon": // as twice, in a session of its own, in / and without a word to anybody
		next = exec.Command("env", "SERVER_TEST=middle", os.Args[0])
		next.Dir, next.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	}
	if err := next.Start(); err != nil {
		panic(err)
	}
	if way == "end" {
		os.Exit(0)
	}
	if way != "child" && way != "session" {
		_ = next.Wait()
	}
}

func serve() {
	note("pid", os.Getpid())
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("SERVER_TEST_PORT"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("some words\nserving at http://%s for now\n", l.Addr())
	began := time.Now()
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(began) < 50*time.Millisecond {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	})
	panic(http.Serve(l, nil))
}

// note leaves a process id for the test.
func note(name string, pid int) {
	if err := os.WriteFile(filepath.Join(os.Getenv("SERVER_TEST_DIR"), name), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		panic(err)
	}
}

// as starts the test's own program as something else.
func as(kind string) []string { return []string{"env", "SERVER_TEST=" + kind, os.Args[0]} }

// being has the test's program be a kind of server; it returns where that leaves its process ids.
func being(t *testing.T, kind string) (Config, string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("SERVER_TEST_DIR", dir)
	return Config{Command: as(kind), Announce: "serving at "}, dir
}

func noted(t *testing.T, dir, name string) int {
	t.Helper()
	for range 6000 { // at most a minute
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(text) > 0 {
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no process id in %s", name)
	return 0
}

// gone waits until a process has ended; one that nobody has reaped yet has ended, too.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 6000 { // at most a minute
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

func TestRun(t *testing.T) {
	c, dir := being(t, "serve")
	called := false
	err := Run(t.Context(), c, func(ctx context.Context, s Running) error {
		called = true
		if !strings.HasPrefix(s.URL, "http://127.0.0.1:") || strings.Contains(s.URL, " ") {
			t.Errorf("it is at %q", s.URL)
		}
		if pid := noted(t, dir, "pid"); s.PID != pid {
			t.Errorf("it is process %d, not %d", pid, s.PID)
		}
		if !answers(ctx, s.URL+"/health") {
			t.Error("it does not answer")
		}
		return errors.New("mine")
	})
	if !called || err == nil || err.Error() != "mine" {
		t.Errorf("called %t, %v", called, err)
	}
	gone(t, noted(t, dir, "pid"))
}

// A server and a child that ignore being asked are killed when the grace period is over.
func TestChildrenEndToo(t *testing.T) {
	c, dir := being(t, "stubborn")
	c.Grace = 100 * time.Millisecond
	if err := Run(t.Context(), c, func(context.Context, Running) error { return nil }); err != nil {
		t.Fatal(err)
	}
	gone(t, noted(t, dir, "pid"))
	gone(t, noted(t, dir, "child"))
}

func TestServerDies(t *testing.T) {
	c, _ := being(t, "serve")
	dies(t, c)
}

// dies runs a server that ends by itself in the middle, and wants to be told how.
func dies(t *testing.T, c Config) {
	t.Helper()
	err := Run(t.Context(), c, func(ctx context.Context, s Running) error {
		answers(ctx, s.URL+"/die")
		<-ctx.Done()
		return ctx.Err()
	})
	var died *DiedError
	if !errors.As(err, &died) || died.Status != "exit status 3" || !strings.HasSuffix(died.Output, "\nout of memory") {
		t.Errorf("got %v", err)
	}
}

func TestServerNeverAnswers(t *testing.T) {
	unused := func(context.Context, Running) error { t.Error("used"); return nil }
	for name, tt := range map[string]struct {
		config Config
		want   string
	}{
		"ends":           {Config{Command: []string{"sh", "-c", "echo no such model >&2; exit 2"}, Announce: "at "}, "the server exited early (exit status 2); last output:\nno such model"},
		"ends in peace":  {Config{Command: []string{"true"}, Announce: "at "}, "the server exited early (exit status 0) without output"},
		"says nothing":   {Config{Command: []string{"sleep", "60"}, Announce: "at ", Start: 50 * time.Millisecond}, "the server was not ready within 50ms"},
		"answers nobody": {Config{Command: []string{"sleep", "60"}, URL: "http://127.0.0.1:1", Start: 50 * time.Millisecond}, "the server was not ready within 50ms"},
		"is not there":   {Config{Command: []string{"/no/such/program"}}, "starting /no/such/program: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Run(t.Context(), tt.config, unused); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRunObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	err := Run(ctx, Config{Command: []string{"sleep", "60"}, Announce: "at "}, func(context.Context, Running) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOutput(t *testing.T) {
	o := newOutput("at ")
	long := strings.Repeat("x", 3*lineBytes)
	for _, part := range []string{"one\r\ntwo at ht", "tp://a:1 and more\nthree at http://b:2\n" + long + "\n", "unfin", "ished"} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	if url := <-o.url; url != "http://a:1" {
		t.Errorf("announced %q", url)
	}
	want := "one\ntwo at http://a:1 and more\nthree at http://b:2\n" + long[:lineBytes] + "\nunfinished"
	if got := o.lastOutput(); got != want {
		t.Errorf("kept %q", got)
	}
	for i := range 100 {
		fmt.Fprintf(o, "\n%d", i)
	}
	if got := strings.Split(o.lastOutput(), "\n"); len(got) != lastLines+1 || got[lastLines] != "99" {
		t.Errorf("kept %q", got)
	}
}
