package collect

import (
	"time"

	"golang.org/x/sys/unix"
)

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
