package server

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Guard runs a command in a separate process, so that the command ends when the calling process dies. life is
// a pipe from that process. When it closes, when the command exits, or on a signal from asked, Guard
// terminates and then kills the rest: the process group and, on Linux, all descendants, including those that
// left the group. It returns when they have ended, with the command's exit status.
//
// out gets the command's output, and a line if a signal ended it.
func Guard(command []string, grace time.Duration, life io.Reader, asked <-chan os.Signal,
	out *os.File) (status int, err error) {
	if err := becomeSubreaper(); err != nil {
		return 0, fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	child, err := spawn(command, out)
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", command[0], err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, life)
	}()
	select {
	case <-child.ended:
	case <-closed:
	case <-asked:
	}
	child.endAll(grace)
	<-child.ended
	if child.signal != "" {
		fmt.Fprintf(out, "bench: %s was ended by a signal: %s\n", command[0], child.signal)
	}
	return child.status, nil
}

func spawn(command []string, out *os.File) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	return newChild(cmd)
}

// child is the guarded command. The guard becomes the parent of its orphaned descendants.
type child struct {
	pid    int
	status int    // exit status, or 128 + signal number; valid once ended is closed
	signal string // that ended it; empty: none

	ended    chan struct{} // closed when the command has exited
	allEnded chan struct{} // closed when no descendant is left
}

func newChild(cmd *exec.Cmd) (*child, error) {
	c := &child{ended: make(chan struct{}), allEnded: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Pdeathsig kills the command when the thread that started it ends: keep this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			c.reap()
		}
	}()
	return c, <-started
}

// reap waits for all descendants; cmd.Wait would wait for the command only.
func (c *child) reap() {
	defer close(c.allEnded)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			return
		case pid == c.pid:
			c.status = status.ExitStatus()
			if status.Signaled() {
				c.status, c.signal = 128+int(status.Signal()), status.Signal().String()
			}
			close(c.ended)
		}
	}
}

// killTimeout is how long SIGKILL is retried: a process can be uninterruptible in the kernel for a while.
const killTimeout = 30 * time.Second

func (c *child) endAll(grace time.Duration) {
	c.signalAll(syscall.SIGTERM)
	select {
	case <-c.allEnded:
		return
	case <-time.After(grace):
	}
	give := time.After(killTimeout)
	for {
		c.signalAll(syscall.SIGKILL) // repeated: a process may have started a child
		select {
		case <-c.allEnded:
			return
		case <-give:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *child) signalAll(s syscall.Signal) {
	_ = syscall.Kill(-c.pid, s)
	for _, pid := range descendants(syscall.Getpid()) {
		_ = syscall.Kill(pid, s)
	}
}

// A server is the leader of its own process group: a signal to the group reaches its children, and terminal
// signals to bench do not reach it.

// sessionAttributes are the guard's: a new session, which terminal signals do not reach.
func sessionAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// groupAlive reports whether the group still has members. It reaps ended orphans (see becomeSubreaper).
func groupAlive(p *os.Process) bool {
	for {
		if pid, err := syscall.Wait4(-p.Pid, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return syscall.Kill(-p.Pid, 0) == nil
		}
	}
}
