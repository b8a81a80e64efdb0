package telemetry

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Host is how busy this machine was at the two ends of a row: its load average over a minute, which is processes that run or
// want to, its own among them. nil = not told.
type Host struct {
	Before *float64 `json:"load_before,omitempty"` // before anything of the row was sent
	After  *float64 `json:"load_after,omitempty"`
	Cores  int      `json:"cores,omitempty"`       // of this machine, whose share of them the client may have; 0 = not told
	Server bool     `json:"with_server,omitempty"` // the server runs here too: its work is in it
}

// HostLoad is the load average of this machine now; nil = the system does not tell.
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
