package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes this process the parent of orphans, to find daemons that left group and session.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func descendants(root int) []int {
	children := map[int][]int{}
	for _, pid := range pids() {
		if parent, _, ok := parentAndSession(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var out []int
	for next := children[root]; len(next) > 0; {
		out = append(out, next...)
		var deeper []int
		for _, pid := range next {
			deeper = append(deeper, children[pid]...)
		}
		next = deeper
	}
	return out
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// parentAndSession reads /proc/<pid>/stat. The process name in parentheses may contain any character.
func parentAndSession(pid int) (parent, session int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	words := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // state, parent, group, session, …
	if len(words) < 4 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(words[1]))
	if err != nil {
		return 0, 0, false
	}
	session, err = strconv.Atoi(string(words[3]))
	return parent, session, err == nil
}

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
	_, mine, _ := parentAndSession(me)
	var out []int
	for _, pid := range pids() {
		if parent, session, ok := parentAndSession(pid); ok && parent == me && session != mine {
			out = append(out, pid)
		}
	}
	return out
}

// portOwner reports whether the family listens on a TCP port, and whether any visible process does.
func portOwner(port, family int) (ours, any bool) {
	sockets := listeningSockets(port)
	for _, pid := range append(descendants(family), family) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && sockets[to] {
				return true, true
			}
		}
	}
	return false, len(sockets) > 0
}

func listeningSockets(port int) map[string]bool {
	const listen = "0A" // TCP_LISTEN
	out := map[string]bool{}
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == listen && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				out["socket:["+f[9]+"]"] = true
			}
		}
	}
	return out
}
