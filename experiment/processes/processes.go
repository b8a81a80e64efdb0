// Package processes reads from /proc which processes of this machine exist, who started them, and who listens on a
// port. On systems without /proc, and of processes of other users, it finds nothing.
package processes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Root is a mounted procfs.
type Root string

const System Root = "/proc"

// Stat is a part of /proc/<pid>/stat.
type Stat struct {
	Name                   string // of the program, at most 15 bytes
	Parent, Group, Session int
}

// IDs are the processes, in no order.
func (r Root) IDs() []int {
	dir, err := os.Open(string(r))
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

func (r Root) Stat(pid int) (Stat, bool) {
	text, err := os.ReadFile(r.file(pid, "stat"))
	if err != nil {
		return Stat{}, false
	}
	return parseStat(text)
}

// parseStat: the name in parentheses may contain any character.
func parseStat(text []byte) (s Stat, ok bool) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return s, false
	}
	words := bytes.Fields(text[to+1:]) // state, parent, group, session, …
	if len(words) < 4 {
		return s, false
	}
	s.Name = string(text[from+1 : to])
	for i, to := range []*int{&s.Parent, &s.Group, &s.Session} {
		n, err := strconv.Atoi(string(words[i+1]))
		if err != nil {
			return Stat{}, false
		}
		*to = n
	}
	return s, true
}

// Descendants are the children of pid, their children, and so on.
func (r Root) Descendants(pid int) []int {
	children := map[int][]int{}
	for _, pid := range r.IDs() {
		if s, ok := r.Stat(pid); ok {
			children[s.Parent] = append(children[s.Parent], pid)
		}
	}
	var out []int
	for next := children[pid]; len(next) > 0; {
		out = append(out, next...)
		var deeper []int
		for _, pid := range next {
			deeper = append(deeper, children[pid]...)
		}
		next = deeper
	}
	return out
}

// Listening are the sockets that listen on a TCP port, as /proc/<pid>/fd names them.
func (r Root) Listening(port int) map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{"self/net/tcp", "self/net/tcp6"} {
		if f, err := os.Open(filepath.Join(string(r), name)); err == nil {
			addListening(out, f, port)
			f.Close()
		}
	}
	return out
}

// addListening ends at the first connection: a busy machine has them by the ten thousand, and Linux lists all that
// listens before them.
func addListening(sockets map[string]bool, text io.Reader, port int) {
	lines := bufio.NewScanner(text)
	for lines.Scan(); lines.Scan(); { // not the heading
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != "0A" { // TCP_LISTEN
			return
		}
		if strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
			sockets["socket:["+f[9]+"]"] = true
		}
	}
}

// Has reports whether a process has one of the sockets open.
func (r Root) Has(pid int, sockets map[string]bool) bool {
	links, _ := filepath.Glob(filepath.Join(r.file(pid, "fd"), "*"))
	return slices.ContainsFunc(links, func(link string) bool {
		to, err := os.Readlink(link)
		return err == nil && sockets[to]
	})
}

// Owners are the processes that listen on a TCP port; empty: none, or not permitted to be read.
func (r Root) Owners(port int) []int {
	sockets := r.Listening(port)
	if len(sockets) == 0 {
		return nil
	}
	return slices.DeleteFunc(r.IDs(), func(pid int) bool { return !r.Has(pid, sockets) })
}

// Text is a file of a process; empty: there is none, or it is not permitted to be read.
func (r Root) Text(pid int, name string) string {
	text, _ := os.ReadFile(r.file(pid, name))
	return string(text)
}

func (r Root) file(pid int, name string) string {
	return filepath.Join(string(r), strconv.Itoa(pid), name)
}
