//go:build unix

package server

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is the guarded command. Its descendants are the guard's own once their parents have ended.
type child struct {
	pid    int
	status int    // exit status, 128 and the signal's number after one; valid once ended is closed
	signal string // that ended it

	ended    chan struct{} // closed when the command is over
	allEnded chan struct{} // closed when there is no descendant left
}

// newChild starts the command and reaps whatever ends below this process.
func newChild(cmd *exec.Cmd) (*child, error) {
	c := &child{ended: make(chan struct{}), allEnded: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The system kills the command when the thread that started it ends: this one stays until then.
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

// reap waits for all descendants; cmd.Wait would wait for one of them.
func (c *child) reap() {
	defer close(c.allEnded)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // none is left
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

// lastTry is how long the guard goes on killing: a process may be in the kernel and deaf for a while.
const killTimeout = 30 * time.Second

// endAll asks all that is left to end, and kills it after the grace period.
func (c *child) endAll(grace time.Duration) {
	c.signalAll(syscall.SIGTERM)
	select {
	case <-c.allEnded:
		return
	case <-time.After(grace):
	}
	give := time.After(killTimeout)
	for {
		c.signalAll(syscall.SIGKILL) // again and again: one may have had a child meanwhile
		select {
		case <-c.allEnded:
			return
		case <-give:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signalAll reaches the group and those that have left it.
func (c *child) signalAll(s syscall.Signal) {
	_ = syscall.Kill(-c.pid, s)
	for _, pid := range descendants(syscall.Getpid()) {
		_ = syscall.Kill(pid, s)
	}
}
