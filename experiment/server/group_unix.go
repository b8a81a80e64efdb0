//go:build unix

package server

import (
	"os"
	"syscall"
)

// A server is the leader of a process group: a signal to the group reaches its children too, and one that the terminal sends to
// ours does not reach it.

// apart is for the guard: in a session of its own no terminal's signal reaches it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// left says that the group has members yet.
func left(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }
