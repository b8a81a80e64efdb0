package telemetry

import (
	"os"
	"path/filepath"
)

// Limits are what the system lets this process have; 0 = not known, or none.
type Limits struct {
	Files int // open file descriptors
	Open  int // of them, those that are open now
	Ports int // ephemeral ports: connections to one address
}

// ReadLimits asks the system. Ports are known on Linux only.
func ReadLimits() Limits { return readLimits("/proc") }

func readLimits(proc string) Limits {
	l := Limits{Files: fileLimit()}
	if text, err := os.ReadFile(filepath.Join(proc, "sys/net/ipv4/ip_local_port_range")); err == nil {
		l.Ports = parsePorts(text)
	}
	f := openFiles(proc)
	defer f.close()
	var now reading
	if f.read(&now); now.files != nil {
		l.Open = *now.files
	}
	return l
}
