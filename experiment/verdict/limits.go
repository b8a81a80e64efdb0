package verdict

import (
	"fmt"
	"math"
	"strings"
	"syscall"
)

// moreFiles is the command that lets a process open n files: a limit above the hard one takes root.
func MoreFiles(n int) string {
	thousands := int(math.Ceil(float64(n)/1000)) * 1000
	return fmt.Sprintf("ulimit -n %d (as root where that is refused: prlimit --pid $$ --nofile=%d)", thousands, thousands)
}

const MorePorts = `sysctl -w net.ipv4.ip_local_port_range="1024 65535" (as root)`

// scarce is the command against what connections of the row failed for, where that was this machine's
// own limit; empty = it was not.
func (e *Measured) scarce() string {
	for _, r := range e.Records {
		switch {
		case r.Outcome != "connect":
		case strings.Contains(r.Error, syscall.EMFILE.Error()):
			return MoreFiles(2*e.Summary.Concurrency.Max + 1000)
		case strings.Contains(r.Error, syscall.EADDRNOTAVAIL.Error()):
			return MorePorts
		}
	}
	return ""
}
