package runner

import "time"

// moment is one moment by the clocks that two processes of a machine share, ns.
type moment struct {
	wall      int64 // of the Unix epoch
	monotonic int64 // CLOCK_MONOTONIC; 0: the system has none that processes share
}

// placed puts t, a reading of time.Now, on both clocks.
func placed(t time.Time) moment { return moment{wall: t.UnixNano(), monotonic: monotonic(t)} }
