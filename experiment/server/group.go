package server

import (
	"os"
	"syscall"
)

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
