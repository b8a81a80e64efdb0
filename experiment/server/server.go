// Package server owns the [server] table. It starts the server under test as a child process, waits until it
// is ready, and stops it with all its children: the process group gets SIGTERM and, after a grace period,
// SIGKILL. On Linux the server is also killed when this process dies; with a guard (Guard), all its
// descendants are. A server that exits early is an error with the end of its output. A server that already
// listens at the address is an error too.
package server

import (
	"cmp"
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

type Config struct {
	Command  []string      // program and arguments; it inherits the environment
	Withhold []string      // names of variables that it does not inherit
	Env      []string      // NAME=value, added to the environment
	Dir      string        // working directory; empty: this process's
	URL      string        // base URL of the server; empty: taken from its output, see Announce
	Announce string        // text before the URL in its output, e.g. "listening on "
	Health   string        // path polled until it returns 200; empty: "/health"
	Start    time.Duration // timeout until it is ready; 0: defaultStart
	Grace    time.Duration // time between SIGTERM and SIGKILL; 0: defaultGrace

	Before, After []string // commands to run before the start and after the end; empty: none
	// Own requires that the process that was started, or a descendant, listens at URL.
	Own bool
	// Guard is the command line of a process that calls the function Guard; the grace period and Command are
	// appended. Empty: no guard, the server is a child of this process.
	Guard   []string
	Log     *os.File // gets all output, including that of the hooks; nil: the last lines are kept in memory
	Secrets Secrets  // masked in errors, and in Log once the server has ended: until then it is as written
}

const (
	defaultStart = 30 * time.Second
	defaultGrace = 5 * time.Second
)

type Running struct {
	URL   string
	PID   int           // of the started process; with a guard, of the guard
	Ready time.Duration // from the start of the command to readiness
	Lines func() int    // lines in the log so far; nil without a log. Not for concurrent use

	log     *logFile
	secrets Secrets
}

// Run starts the server, calls use when it is ready, and stops it. An early exit ends use's ctx by a DiedError.
func Run(ctx context.Context, c Config, use func(ctx context.Context, s Running) error) error {
	if err := c.checkFree(ctx); err != nil {
		return err
	}
	err := c.runHook(ctx, "before", c.Before)
	if err == nil {
		err = c.run(ctx, use)
		// The after hook also runs after an interruption: it undoes the before hook.
		err = errors.Join(err, c.runHook(context.WithoutCancel(ctx), "after", c.After))
	}
	if c.Log != nil {
		err = errors.Join(err, c.Secrets.maskFile(c.Log.Name()))
	}
	return err
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
			last, cause := p.lastOutput()
			cancel(&DiedError{Status: p.cmd.ProcessState.String(), cause: cause, Output: last, Withheld: p.withheld})
		case <-watching:
		}
	}()
	url, err := p.waitReady(ctx, c)
	if err == nil {
		s := Running{URL: url, PID: p.cmd.Process.Pid, Ready: time.Since(began), log: p.log, secrets: c.Secrets}
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

func (c Config) grace() time.Duration { return cmp.Or(c.Grace, defaultGrace) }

const hookTimeout = 5 * time.Minute

func (c Config) runHook(ctx context.Context, name string, command []string) error {
	if len(command) == 0 {
		return nil
	}
	h := c
	h.Command = command
	return Once(ctx, h, "the "+name+" hook", hookTimeout)
}

// Once runs the command of c, which is no server, to its end; name is for errors. A status above 0 is an error, and so
// is a longer time than limit. Whatever it started ends with it, or with ctx.
func Once(ctx context.Context, c Config, name string, limit time.Duration) (err error) {
	if c.Log != nil {
		defer func() { err = errors.Join(err, c.Secrets.maskFile(c.Log.Name())) }()
	}
	p, err := start(c)
	if err != nil {
		return fmt.Errorf("starting %s %s: %w", name, c.Command[0], err)
	}
	defer p.end(c.grace())
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-p.ended:
	case <-late.C:
		return fmt.Errorf("%s did not end within %v%s", name, limit, p.outputSuffix())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s%s", name, p.cmd.ProcessState, p.outputSuffix())
	}
	return nil
}

// Find is an error if a command is no program: none of that name, or one that may not be run.
func Find(command string) error {
	_, err := exec.LookPath(command)
	return err
}

type process struct {
	cmd       *exec.Cmd
	output    *output
	log       *logFile      // nil: output is kept in memory
	guardPipe io.Closer     // standard input of the guard; nil: no guard
	ended     chan struct{} // closed when the process has exited
	secrets   Secrets
	withheld  []string // variables of the environment that it does not have
}

func start(c Config) (*process, error) {
	command := c.Command
	if len(c.Guard) > 0 {
		command = append(append(append([]string{}, c.Guard...), c.grace().String()), c.Command...)
	}
	p := &process{cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{}), secrets: c.Secrets,
		output: newOutput(c.Announce)}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if c.Log != nil {
		p.log = &logFile{f: c.Log}
		p.cmd.Stdout, p.cmd.Stderr = c.Log, c.Log
	}
	p.cmd.WaitDelay = time.Second // a child may keep its output open
	p.cmd.Dir = c.Dir
	if len(c.Env)+len(c.Withhold) > 0 {
		p.cmd.Env, p.withheld = c.inherited(p.cmd.Environ())
		p.cmd.Env = append(p.cmd.Env, c.Env...)
	}
	if err := p.attach(len(c.Guard) > 0); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// Pdeathsig kills the server when the thread that started it ends: keep this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // ProcessState has the result
			close(p.ended)
		}
	}()
	return p, <-started
}

// attach ties the process to this one: a guard by a pipe, a server without guard by Pdeathsig.
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

func (p *process) outputSuffix() string {
	last, cause := p.lastOutput()
	return outputSuffix(cause, last)
}

func (p *process) lastOutput() (last, cause string) {
	if p.log != nil {
		return p.log.lastOutput(p.secrets), Cause(p.secrets.Hide(p.log.end(causeBytes)))
	}
	last = p.secrets.Hide(p.output.lastOutput())
	return last, Cause(last)
}

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
		deadline.Reset(time.Second) // for its killed children
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for groupAlive(p.cmd.Process) { // its children may still be exiting
		select {
		case <-tick.C:
		case <-deadline.C:
			kill(p.cmd.Process)
			return
		}
	}
}

// endGuard lets the guard end all descendants. If the guard was killed, this process ends them.
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

// guardExtra is the time beyond the grace period that a guard may take: it retries SIGKILL.
const guardExtra = 35 * time.Second

func (p *process) waitReady(ctx context.Context, c Config) (string, error) {
	patience := cmp.Or(c.Start, defaultStart)
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
	for !answers(ctx, strings.TrimSuffix(url, "/")+cmp.Or(c.Health, "/health")) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", p.timeoutError(ctx, patience)
		}
	}
	return url, c.checkOwner(p.cmd.Process.Pid)
}

func (p *process) timeoutError(ctx context.Context, patience time.Duration) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the server was not ready within %v%s", patience, p.outputSuffix())
}

// answers polls once. 401 and 403 count as ready: the server requires a key.
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
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusUnauthorized ||
		resp.StatusCode == http.StatusForbidden
}
