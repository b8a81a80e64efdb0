//go:build unix

package runner

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of the cores so far, its children left out; 0: the system does not tell.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
