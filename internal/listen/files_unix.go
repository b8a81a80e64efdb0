//go:build unix

package listen

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles is how many files the process may have open.
func openFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxInt
	}
	return int(min(uint64(l.Cur), math.MaxInt))
}
