package runner

import "time"

// moment is a time on the clocks that two processes of a machine share, ns.
type moment struct {
	wall      int64 // since the Unix epoch
	monotonic int64 // CLOCK_MONOTONIC; 0: the system has no shared monotonic clock
}

// momentOf converts t, a reading of time.Now, to both clocks.
func momentOf(t time.Time) moment { return moment{wall: t.UnixNano(), monotonic: monotonicAt(t)} }
