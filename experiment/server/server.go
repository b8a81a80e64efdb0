// Package server owns the [server] table: it starts the thing under test as a process of its own, waits until it answers, and
// ends it with all its children. Whatever happens to the caller, nothing is left running: the processes are a group, which is
// asked to end and then killed; on Linux the server is killed too when this process is, and with a guard (Guard) all its
// descendants are. A server that ends by itself is an error with the last of what it said, and one that was there before is
// refused.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Config says what is started and how it is met.
type Config struct {
	Command  []string      // the program and its arguments; it has this process's environment
	Env      []string      // NAME=value, added to the environment
	Dir      string        // working directory; empty: this process's
	URL      string        // where it answers; empty: it announces that
	Announce string        // what stands before the URL in a line of its output, e.g. "listening on "
	Health   string        // path that is asked until it answers 200; empty: "/health"
	Start    time.Duration // how long it may take to answer; 0: DefaultStart
	Grace    time.Duration // how long it and its children may take to end before they are killed; 0: DefaultGrace

	Before, After []string // commands that are run before the start and behind the end; empty: none
	// Own refuses a server at the URL that is not of the process that was started, or its descendants.
	Own bool
	// Guard is the command that calls Guard in a process of its own, to which the grace period and the command are added; empty: the
	// server is this process's child.
	Guard []string
	Log   *os.File // takes all output, also that of the hooks; nil: the last lines are kept
}

// The times in force where none are given.
const (
	DefaultStart = 30 * time.Second
	DefaultGrace = 5 * time.Second
)

// Running is a server that answers.
type Running struct {
	URL   string
	PID   int           // of the process that was started, not of its children; with a guard, the guard's
	Ready time.Duration // from the start of the command to the first answer
	Lines func() int    // written to the log so far; nil without one. From one goroutine
}

// DiedError says that the server ended before it was told to.
type DiedError struct {
	Status string // as the system tells it: "exit status 1", "signal: killed"
	Output string // its last lines
}

func (e *DiedError) Error() string {
	return "the server ended by itself (" + e.Status + ")" + outputSuffix(e.Output)
}

// outputSuffix goes behind what is said of a process that is over, or late.
func outputSuffix(output string) string {
	if output == "" {
		return " and said nothing"
	}
	return "; its last words:\n" + output
}

// Run starts the server, calls use once it answers, and ends it. The context of use ends with a DiedError as
// its cause when the server does; that is then Run's error too.
func Run(ctx context.Context, c Config, use func(ctx context.Context, s Running) error) error {
	if err := c.checkFree(ctx); err != nil {
		return err
	}
	if err := c.runHook(ctx, "before", c.Before); err != nil {
		return err
	}
	err := c.run(ctx, use)
	// What was set before is set back, also after an interruption.
	return errors.Join(err, c.runHook(context.WithoutCancel(ctx), "after", c.After))
}

func (c Config) run(ctx context.Context, use func(ctx context.Context, s Running) error) error {
	began := time.Now()
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
	url, err := p.waitReady(ctx, c)
	if err == nil {
		s := Running{URL: url, PID: p.cmd.Process.Pid, Ready: time.Since(began)}
		if p.log != nil {
			s.Lines = p.log.count
		}
		err = use(ctx, s)
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

// mostHook is how long a hook may take.
const hookTimeout = 5 * time.Minute

// runHook runs a command to its end.
func (c Config) runHook(ctx context.Context, name string, command []string) error {
	if len(command) == 0 {
		return nil
	}
	h := c
	h.Command = command
	p, err := start(h)
	if err != nil {
		return fmt.Errorf("starting the %s hook %s: %w", name, command[0], err)
	}
	defer p.end(c.grace())
	late := time.NewTimer(hookTimeout)
	defer late.Stop()
	select {
	case <-p.ended:
	case <-late.C:
		return fmt.Errorf("the %s hook did not end within %v%s", name, hookTimeout, outputSuffix(p.lastOutput()))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("the %s hook: %s%s", name, p.cmd.ProcessState, outputSuffix(p.lastOutput()))
	}
	return nil
}

// process is a server that was started.
type process struct {
	cmd       *exec.Cmd
	output    *output
	log       *logFile      // nil: the output is kept
	guardPipe io.Closer     // what its guard holds on to; nil: it has none
	ended     chan struct{} // closed when the process is over
}

func start(c Config) (*process, error) {
	command := c.Command
	if len(c.Guard) > 0 {
		command = append(append(append([]string{}, c.Guard...), c.grace().String()), c.Command...)
	}
	p := &process{cmd: exec.Command(command[0], command[1:]...), output: newOutput(c.Announce), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if c.Log != nil {
		p.log = &logFile{f: c.Log}
		p.cmd.Stdout, p.cmd.Stderr = c.Log, c.Log
	}
	p.cmd.WaitDelay = time.Second // a child of it may hold its output open
	p.cmd.Dir = c.Dir
	if len(c.Env) > 0 {
		p.cmd.Env = append(p.cmd.Environ(), c.Env...)
	}
	if err := p.attach(len(c.Guard) > 0); err != nil {
		return nil, err
	}
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

// attach ties the process to this one: a guard by a pipe, a bare server by the system's own means.
func (p *process) attach(guarded bool) error {
	if !guarded {
		p.cmd.SysProcAttr = childAttributes()
		return nil
	}
	p.cmd.SysProcAttr = sessionAttributes()
	if err := becomeSubreaper(); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	life, err := p.cmd.StdinPipe()
	p.guardPipe = life
	return err
}

// died is the error of a server that is over.
func (p *process) died() error {
	return &DiedError{Status: p.cmd.ProcessState.String(), Output: p.lastOutput()}
}

// lastOutput is the end of what the process said.
func (p *process) lastOutput() string {
	if p.log != nil {
		return p.log.lastOutput()
	}
	return p.output.lastOutput()
}

// end asks the process and its children to end, and kills what is left of them after the grace period.
func (p *process) end(grace time.Duration) {
	if p.guardPipe != nil {
		p.endGuard(grace)
		return
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	terminate(p.cmd.Process)
	select {
	case <-p.ended:
	case <-deadline.C:
		kill(p.cmd.Process)
		<-p.ended
		deadline.Reset(time.Second) // for those that were killed with it
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for groupAlive(p.cmd.Process) { // its children, which may still be at it
		select {
		case <-tick.C:
		case <-deadline.C:
			kill(p.cmd.Process)
			return
		}
	}
}

// endGuard has the guard do it, which knows all of them. What a guard that was killed has left falls to this process.
func (p *process) endGuard(grace time.Duration) {
	_ = p.guardPipe.Close()
	select {
	case <-p.ended:
	case <-time.After(grace + guardExtra):
		kill(p.cmd.Process)
		<-p.ended
	}
	if !p.cmd.ProcessState.Exited() {
		killOrphans()
	}
}

// guardPatience is how much longer than the grace period a guard may take: it kills what it can for a while.
const guardExtra = 35 * time.Second

// waitReady waits until the server answers, and returns its URL.
func (p *process) waitReady(ctx context.Context, c Config) (string, error) {
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
			return "", p.timeoutError(ctx, patience)
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
			return "", p.timeoutError(ctx, patience)
		}
	}
	return url, c.checkOwner(p.cmd.Process.Pid)
}

// timeoutError is the error of a server that was not met before ctx ended.
func (p *process) timeoutError(ctx context.Context, patience time.Duration) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the server did not answer within %v%s", patience, outputSuffix(p.lastOutput()))
}

// answers asks once. A server that wants a key answers, too.
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
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}
