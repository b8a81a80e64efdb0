package runner

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonicAt is CLOCK_MONOTONIC at t, from the narrowest of ten brackets by Go's clock; 0: no such clock.
func monotonicAt(t time.Time) int64 {
	var narrowest, at int64
	for i := range 10 {
		var ts unix.Timespec
		before := time.Since(t)
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		after := time.Since(t)
		if err != nil {
			return 0
		}
		if width := int64(after - before); i == 0 || width < narrowest {
			narrowest, at = width, ts.Nano()-int64(before+after)/2
		}
	}
	return at
}
