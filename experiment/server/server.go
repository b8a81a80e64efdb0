// Package server starts the thing under test as a process of its own, waits until it answers, and ends it with all its
// children. Whatever happens to the caller, nothing is left running: the processes are a group, which is asked to end and
// then killed; on Linux the server is killed too when this process is. A server that ends by itself is an
// error with the last of what it said.
package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Config says what is started and how it is met.
type Config struct {
	Command  []string      // the program and its arguments; it has this process's environment
	URL      string        // where it answers; empty: it announces that
	Announce string        // what stands before the URL in a line of its output, e.g. "listening on "
	Health   string        // path that is asked until it answers 200; empty: "/health"
	Start    time.Duration // how long it may take to answer; 0: DefaultStart
	Grace    time.Duration // how long it and its children may take to end before they are killed; 0: DefaultGrace
}

// The times in force where none are given.
const (
	DefaultStart = 30 * time.Second
	DefaultGrace = 5 * time.Second
)

// Running is a server that answers.
type Running struct {
	URL string
	PID int // of the process that was started, not of its children
}

// DiedError says that the server ended before it was told to.
type DiedError struct {
	Status string // as the system tells it: "exit status 1", "signal: killed"
	Output string // its last lines
}

func (e *DiedError) Error() string {
	if e.Output == "" {
		return "the server ended by itself (" + e.Status + ") and said nothing"
	}
	return "the server ended by itself (" + e.Status + "); its last words:\n" + e.Output
}

// Run starts the server, calls use once it answers, and ends it. The context of use ends with a DiedError as
// its cause when the server does; that is then Run's error too.
func Run(ctx context.Context, c Config, use func(ctx context.Context, s Running) error) error {
	p, err := start(c)
	if err != nil {
		return fmt.Errorf("starting %s: %w", c.Command[0], err)
	}
	defer p.end(c.grace())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	defer close(watching)
	go func() {
		select {
		case <-p.ended:
			cancel(p.died())
		case <-watching:
		}
	}()
	url, err := p.meet(ctx, c)
	if err == nil {
		err = use(ctx, Running{URL: url, PID: p.cmd.Process.Pid})
	}
	if died := new(DiedError); errors.As(context.Cause(ctx), &died) {
		return died
	}
	return err
}

func (c Config) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return DefaultGrace
}

// process is a server that was started.
type process struct {
	cmd    *exec.Cmd
	output *output
	ended  chan struct{} // closed when the process is over
}

func start(c Config) (*process, error) {
	p := &process{cmd: exec.Command(c.Command[0], c.Command[1:]...), output: newOutput(c.Announce), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = time.Second // a child of it may hold its output open
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() {
		// The system kills the server when the thread that started it ends: this one stays until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in its state
			close(p.ended)
		}
	}()
	return p, <-started
}

// died is the error of a server that is over.
func (p *process) died() error {
	return &DiedError{Status: p.cmd.ProcessState.String(), Output: p.output.last()}
}

// end asks the process and its children to end, and kills what is left of them after the grace period.
func (p *process) end(grace time.Duration) {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	terminate(p.cmd.Process)
	select {
	case <-p.ended:
	case <-deadline.C:
		kill(p.cmd.Process)
		<-p.ended
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left(p.cmd.Process) { // its children, which may still be at it
		select {
		case <-tick.C:
		case <-deadline.C:
			kill(p.cmd.Process)
			return
		}
	}
}

// meet waits until the server answers, and returns its URL.
func (p *process) meet(ctx context.Context, c Config) (string, error) {
	patience := c.Start
	if patience == 0 {
		patience = DefaultStart
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	url := c.URL
	if url == "" {
		select {
		case url = <-p.output.url:
		case <-ctx.Done():
			return "", p.silent(ctx, patience)
		}
	}
	path := c.Health
	if path == "" {
		path = "/health"
	}
	for !answers(ctx, strings.TrimSuffix(url, "/")+path) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", p.silent(ctx, patience)
		}
	}
	return url, nil
}

// silent is the error of a server that was not met before ctx ended.
func (p *process) silent(ctx context.Context, patience time.Duration) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the server did not answer within %v; its last words:\n%s", patience, p.output.last())
}

// answers asks once.
func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
