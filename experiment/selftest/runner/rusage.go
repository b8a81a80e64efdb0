package runner

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time of this process without its children; 0: not reported.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
