//go:build unix

package server

import (
	"os"
	"syscall"
)

// A server is the leader of a process group: a signal to the group reaches its children too, and one that the terminal sends to
// ours does not reach it.

// sessionAttributes is for the guard: in a session of its own no terminal's signal reaches it.
func sessionAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// groupAlive says that the group, whose leader is gone, has members yet. Orphans that have ended are this process's to wait for (adopt).
func groupAlive(p *os.Process) bool {
	for {
		if pid, err := syscall.Wait4(-p.Pid, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return syscall.Kill(-p.Pid, 0) == nil
		}
	}
}
