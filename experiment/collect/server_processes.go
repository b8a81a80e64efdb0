package collect

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"bench/experiment/processes"
)

// ServerProcesses are the processes of a server on this machine.
type ServerProcesses struct {
	family   []int  // they listen on the server's ports, or descend from such
	group    []int  // family, and all below the process that started it: TGI's router listens beside its shards
	pressure string // cpu.pressure of the cgroup of the first one; empty: none
}

// forwarders listen in the place of a server that runs elsewhere.
var forwarders = []string{"docker-proxy", "rootlessport", "slirp4netns", "pasta", "pasta.avx2", "gvproxy", "conmon",
	"kubectl", "kube-proxy",
	"ssh", "sshd", "socat", "nginx", "haproxy", "envoy", "traefik", "caddy", "apache2", "httpd", "litellm", "bench"}

// FindServer finds the processes that listen on TCP ports of this machine, with what belongs to them; nil: those of
// a port are not visible, or only forward to a server elsewhere.
func FindServer(ports []int) *ServerProcesses {
	return findServer(processes.System, "/sys/fs/cgroup", os.Getpid(), ports)
}

func findServer(proc processes.Root, cgroups string, self int, ports []int) *ServerProcesses {
	var s ServerProcesses
	own := ancestors(proc, self)
	for _, port := range ports {
		owners := proc.Owners(port)
		if len(owners) == 0 {
			return nil
		}
		for _, pid := range owners {
			stat, ok := proc.Stat(pid)
			if !ok || pid == self || slices.Contains(forwarders, stat.Name) && !isMock(proc, pid) {
				return nil
			}
			s.family = append(append(s.family, pid), proc.Descendants(pid)...)
			first := starter(proc, pid, own)
			s.group = append(append(s.group, first), proc.Descendants(first)...)
		}
	}
	for _, pids := range []*[]int{&s.family, &s.group} {
		slices.Sort(*pids)
		*pids = slices.Compact(*pids)
	}
	if len(s.family) > 0 {
		s.pressure = pressureFile(proc, cgroups, s.family[0])
	}
	return &s
}

// starter is the first process of the server: the highest one above pid in its process group that did not start
// this process, too.
func starter(proc processes.Root, pid int, own []int) int {
	for {
		stat, ok := proc.Stat(pid)
		above, known := proc.Stat(stat.Parent)
		if !ok || !known || stat.Parent <= 1 || above.Group != stat.Group || slices.Contains(own, stat.Parent) {
			return pid
		}
		pid = stat.Parent
	}
}

// ancestors are pid and all above it.
func ancestors(proc processes.Root, pid int) (out []int) {
	for pid > 0 && !slices.Contains(out, pid) {
		out = append(out, pid)
		stat, _ := proc.Stat(pid)
		pid = stat.Parent
	}
	return out
}

// isMock: bench mock is a server, bench trace record forwards.
func isMock(proc processes.Root, pid int) bool {
	text, err := os.ReadFile(filepath.Join(string(proc), strconv.Itoa(pid), "cmdline"))
	words := bytes.Split(text, []byte{0})
	return err == nil && len(words) > 1 && string(words[1]) == "mock"
}

// pressureFile is that of the cgroup of version 2; the root has none of its own.
func pressureFile(proc processes.Root, cgroups string, pid int) string {
	text, err := os.ReadFile(filepath.Join(string(proc), strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(text) {
		group, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::/"))
		if !ok || len(group) == 0 {
			continue
		}
		name := filepath.Join(cgroups, filepath.FromSlash(path.Clean("/"+string(group))), "cpu.pressure")
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}

// serverReading is one reading of the server's processes.
type serverReading struct {
	cpu      map[int]time.Duration // of the family's threads
	delays   map[int]time.Duration // run-queue waits of the group's threads
	pressure *time.Duration
}

// parsePressure reads /proc/pressure/cpu or a cgroup's cpu.pressure: the time in which some task waited for a core.
func parsePressure(text []byte) *time.Duration {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) == 0 || string(words[0]) != "some" {
			continue
		}
		for _, word := range words[1:] {
			if us, ok := bytes.CutPrefix(word, []byte("total=")); ok {
				n, err := strconv.ParseInt(string(us), 10, 64)
				if err != nil || n < 0 || n > int64(time.Duration(1<<63-1)/time.Microsecond) {
					return nil
				}
				return new(time.Duration(n) * time.Microsecond)
			}
		}
	}
	return nil
}
