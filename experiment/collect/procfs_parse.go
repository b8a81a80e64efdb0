package collect

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bench/experiment/telemetry"
)

type coreTicks struct{ busy, idle, steal float64 }

// since is the difference. iowait, which is part of idle, can decrease (proc_stat(5)).
func (c coreTicks) since(before coreTicks) coreTicks {
	return coreTicks{max(0, c.busy-before.busy), max(0, c.idle-before.idle), max(0, c.steal-before.steal)}
}

// parseCores reads /proc/stat: user (with guest) nice system idle iowait irq softirq steal guest guest_nice.
func parseCores(into []coreTicks, text []byte) []coreTicks {
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		if !bytes.HasPrefix(name, []byte("cpu")) {
			break // the core lines come first; the interrupt lines are long
		}
		if len(name) == len("cpu") {
			continue // sum of all cores
		}
		var x [8]float64
		for i, word := range bytes.Fields(rest) {
			if i == len(x) {
				break
			}
			n, err := strconv.ParseUint(string(word), 10, 64)
			if err != nil {
				return nil
			}
			x[i] = float64(n)
		}
		into = append(into, coreTicks{busy: x[0] + x[1] + x[2] + x[5] + x[6], idle: x[3] + x[4], steal: x[7]})
	}
	return into
}

// parseSchedstat reads /proc/<pid>/task/<tid>/schedstat: time on a core, time on the run queue, time slices.
func parseSchedstat(text []byte) (cpu, delay time.Duration, ok bool) {
	words := bytes.Fields(text)
	if len(words) < 2 {
		return 0, 0, false
	}
	on, err1 := strconv.ParseInt(string(words[0]), 10, 64)
	wait, err2 := strconv.ParseInt(string(words[1]), 10, 64)
	return time.Duration(on), time.Duration(wait), err1 == nil && err2 == nil && on >= 0 && wait >= 0
}

// parsePorts is the number of ports in /proc/sys/net/ipv4/ip_local_port_range; 0: not reported.
func parsePorts(text []byte) int {
	words := bytes.Fields(text)
	if len(words) != 2 {
		return 0
	}
	from, err1 := strconv.ParseUint(string(words[0]), 10, 16)
	to, err2 := strconv.ParseUint(string(words[1]), 10, 16)
	if err1 != nil || err2 != nil || to < from {
		return 0
	}
	return int(to - from + 1)
}

// ReadLimits reads the limits of this process. Ports is known on Linux only.
func ReadLimits() telemetry.Limits { return readLimits("/proc") }

func readLimits(proc string) telemetry.Limits {
	l := telemetry.Limits{Files: fileLimit()}
	if text, err := os.ReadFile(filepath.Join(proc, "sys/net/ipv4/ip_local_port_range")); err == nil {
		l.Ports = parsePorts(text)
	}
	f := openProcfs(proc)
	defer f.close()
	if n := f.descriptors(); n != nil {
		l.Open = *n
	}
	return l
}

// HostLoad is the one-minute load average of this machine; nil: not reported by the system.
func HostLoad() *float64 { return hostLoad("/proc") }

func hostLoad(proc string) *float64 {
	text, err := os.ReadFile(filepath.Join(proc, "loadavg"))
	if err != nil {
		return nil
	}
	word, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(word, 64)
	if err != nil || !(load >= 0 && load < 1e6) {
		return nil
	}
	return &load
}

func processTime() (user, system *time.Duration) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return nil, nil
	}
	return new(time.Duration(r.Utime.Nano())), new(time.Duration(r.Stime.Nano()))
}

// fileLimit is the soft limit, which the Go runtime has raised to the hard limit; 0: unlimited.
func fileLimit() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur > 1<<30 { // more is unlimited
		return 0
	}
	return int(l.Cur)
}
