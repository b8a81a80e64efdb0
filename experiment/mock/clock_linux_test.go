package mock

import (
	"net/http"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The arrival lies on the clock that every process of the machine can read.
func TestMonotonicAnchor(t *testing.T) {
	url := real(t, Config{TTFT: time.Millisecond})
	h := &http.Client{Transport: &http.Transport{}}
	defer h.CloseIdleConnections()
	before := monotonic(t)
	fetch(t, h, url+"/v1/completions", idBody(1, 4, 1))
	after := monotonic(t)
	r := truths(t, h, url)[0]
	written := r.ArrivalMonotonicNS + r.WrittenNS[0] - r.ArrivalNS
	if r.ArrivalMonotonicNS < before || written > after || written-r.ArrivalMonotonicNS < int64(time.Millisecond) {
		t.Errorf("sent after %d, arrived at %d, written at %d, read before %d", before, r.ArrivalMonotonicNS, written, after)
	}
}

func monotonic(t *testing.T) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}
