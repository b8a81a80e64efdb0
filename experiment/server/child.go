package server

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

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
