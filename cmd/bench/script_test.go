package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bench/experiment/mock"
	"bench/experiment/selftest/runner"
)

// TestMain runs more tests at once than there are cores: they wait for servers nearly all of their time.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	tileInterval = 50 * time.Millisecond
	ladderOf = testLadder
	testscript.Main(m, map[string]func(){"bench": main})
}

// testLadder is the shortest one that calibrates; with $LONG_ITL its steps take a minute.
func testLadder(bool) runner.Ladder {
	l := runner.Ladder{Streams: []int{1}, Rates: []float64{60}, Tokens: 5, TTFT: 5 * time.Millisecond,
		ITL: 2 * time.Millisecond, Window: 300 * time.Millisecond}
	if itl, err := time.ParseDuration(os.Getenv("LONG_ITL")); err == nil {
		l.ITL, l.Window = itl, time.Minute
	}
	return l
}

// TestScripts runs the command as a user does. Scripts have three more commands:
//
//	code N bench …                 run it, and check its exit code
//	serve KIND                     start a server; $URL is its address
//	interrupt N CODE GLOB bench …  run it, send N signals (at most 2) once a file exists, check its exit code; its output
//	                               goes to out and err
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("OPENAI_API_KEY", "")
			matrices, err := filepath.Abs("../../matrices")
			if err != nil {
				return err
			}
			e.Setenv("MATRICES", matrices)
			port, err := freePort()
			e.Setenv("PORT", port) // free, for a server that the script starts
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "serve": serve, "interrupt": interrupt,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// freePort is below the ports that listeners without one get, so that no other test takes it.
func freePort() (string, error) {
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	for {
		port := strconv.Itoa(10_000 + random.IntN(20_000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			return port, l.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return "", err
		}
	}
}

func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	signals, err := strconv.Atoi(args[0])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	path, err := exec.LookPath(args[3])
	ts.Check(err)
	cmd := exec.Command(path, args[4:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.Getenv("WORK"), &stdout, &stderr
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=", "GOLD_KEY="+ts.Getenv("GOLD_KEY"))
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() })
	start := time.Now()
	for {
		found, err := filepath.Glob(filepath.Join(ts.Getenv("WORK"), args[2]))
		ts.Check(err)
		if len(found) > 0 {
			break
		}
		if time.Since(start) > time.Minute {
			ts.Fatalf("no %s after a minute; stderr:\n%s", args[2], &stderr)
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM}[:signals] { // two of a kind would count as one, if they came at once
		ts.Check(cmd.Process.Signal(s))
		time.Sleep(100 * time.Millisecond) // so that the second mostly finds the first one obeyed
	}
	_ = cmd.Wait()
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s; stderr:\n%s", got, args[1], &stderr)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), stdout.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), stderr.Bytes(), 0o644))
}

func serve(ts *testscript.TestScript, _ bool, args []string) {
	var config mock.Config
	switch args[0] {
	case "loading":
		config.LoadTime = 4 * time.Second // also on a busy machine the first request comes before it
	case "swapped":
		config.Root = "/models/b"
	case "full": // at a few hundred requests a second
		config.MaxNumSeqs = 1
	}
	base, stop := startMock(config)
	ts.Defer(stop)
	pass := func(pass http.Handler) http.Handler { return pass }
	handler := map[string]func(pass http.Handler) http.Handler{
		"mock":     pass,
		"loading":  pass,
		"swapped":  pass,
		"full":     pass,
		"tls":      pass,
		"failing":  failing,
		"nostream": unstreamed,
		"chatonly": func(pass http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/", pass)
			mux.Handle("/v1/completions", http.NotFoundHandler())
			return mux
		},
		"stalled": func(pass http.Handler) http.Handler { return stalled(pass, ts.MkAbs("stalled")) },
		"models": func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"object":"list","data":[{"id":"llama-a"},{"id":"llama-b"}]}`)
			})
		},
		"dcgm": func(http.Handler) http.Handler { // two GPUs, without counters of their energy
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"a\"} 300\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"b\"} 100\n")
			})
		},
		"moved": func(http.Handler) http.Handler {
			return http.RedirectHandler("https://models.test/v1/models", http.StatusMovedPermanently)
		},
		"locked": func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"no key, no tokens"}}`, http.StatusUnauthorized)
			})
		},
	}[args[0]]
	s := httptest.NewUnstartedServer(handler(forwarder(base)))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // certificates that the client refuses
	if args[0] == "tls" {
		s.StartTLS()
	} else {
		s.Start()
	}
	ts.Defer(s.Close)
	ts.Setenv("URL", s.URL)
	_, host, _ := strings.Cut(s.URL, "://")
	ts.Setenv("HOST", host)
	_, port, _ := strings.Cut(host, ":")
	ts.Setenv("SERVED_PORT", port)
}

// startMock serves a quick simulated server.
func startMock(config mock.Config) (base string, stop func()) {
	config.TTFT, config.ITL = 2*time.Millisecond, time.Millisecond
	server, err := mock.New(config)
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), func() {
		cancel()
		<-done
	}
}

// forwarder forwards requests to a server.
func forwarder(base string) http.Handler {
	target, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	p := httputil.NewSingleHostReverseProxy(target)
	p.Transport = &http.Transport{DisableKeepAlives: true} // a request that is cut must not cost the next its connection
	p.ErrorLog = log.New(io.Discard, "", 0)                // requests that are cut at a row's end
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Whole, since a body that streams through httputil's proxy now and then ends the answer early.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.ServeHTTP(w, r)
	})
}

// failing answers the requests that identify a server, and refuses the rows' requests of four tokens.
func failing(pass http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"max_tokens":4`)) {
			http.Error(w, `{"error":{"message":"out of order"}}`, http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	})
}

// unstreamed refuses to stream.
func unstreamed(pass http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"stream":true`)) {
			http.Error(w, `{"error":{"message":"streaming is not supported"}}`, http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	})
}

// stalled never answers requests for a thousand tokens, and creates a file at the first one.
func stalled(pass http.Handler, file string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(`"max_tokens":1000`)) {
			_ = os.WriteFile(file, nil, 0o644)
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	})
}
