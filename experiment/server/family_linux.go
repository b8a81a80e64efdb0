package server

import (
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bench/experiment/processes"
)

// becomeSubreaper makes this process the parent of orphans, to find daemons that left group and session.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func descendants(root int) []int { return processes.System.Descendants(root) }

// killOrphans kills the descendants of a killed guard: children of this process in another session.
func killOrphans() {
	for until := time.Now().Add(killTimeout); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		left := orphans()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			for _, below := range append(descendants(pid), pid) {
				_ = unix.Kill(below, unix.SIGKILL)
			}
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // reap it
		}
	}
}

func orphans() []int {
	me := os.Getpid()
	mine, _ := processes.System.Stat(me)
	return slices.DeleteFunc(processes.System.IDs(), func(pid int) bool {
		s, ok := processes.System.Stat(pid)
		return !ok || s.Parent != me || s.Session == mine.Session
	})
}

// portOwner reports whether the family listens on a TCP port, and whether any visible process does.
func portOwner(port, family int) (ours, any bool) {
	sockets := processes.System.Listening(port)
	ours = slices.ContainsFunc(append(descendants(family), family),
		func(pid int) bool { return processes.System.Has(pid, sockets) })
	return ours, len(sockets) > 0
}

func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
