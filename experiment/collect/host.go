package collect

import (
	"bench/experiment/telemetry"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

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
