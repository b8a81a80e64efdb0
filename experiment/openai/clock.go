package openai

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	calibrateEvery = time.Second
	maxDrift       = 100 * time.Microsecond // a wall clock that is off by more has perhaps been set
	maxStep        = 50 * time.Microsecond  // a calibration that differs by more proves it
	maxKernelLag   = 10 * time.Second       // bytes that lay longer in the kernel are not believed
)

// clock places the kernel's receive stamps, which are of the wall clock, on the monotonic one. The wall clock may be
// set at any time; each read of a stamp therefore compares the two clocks, and once a step is seen the kernel's stamps
// are not used for a second, because nobody can say on which side of the step they were made.
type clock struct {
	base            time.Time
	offset          atomic.Int64 // the wall clock at base, in ns of the Unix epoch, by the last calibration
	nextCalibration atomic.Int64 // when, since base, the next one is
	trustedFrom     atomic.Int64 // since when, after base, kernel stamps are believed
	mu              sync.Mutex
}

func newClock() *clock {
	c := &clock{base: time.Now()}
	c.calibrate()
	return c
}

// calibrate measures the offset by the narrowest of five brackets, and returns by how much it has changed.
func (c *clock) calibrate() (change time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	narrowest, offset := time.Duration(math.MaxInt64), int64(0)
	for range 5 {
		before := time.Since(c.base)
		wall := time.Now().UnixNano()
		after := time.Since(c.base)
		if after-before < narrowest {
			narrowest, offset = after-before, wall-int64(before+after)/2
		}
	}
	c.nextCalibration.Store(int64(time.Since(c.base) + calibrateEvery))
	return time.Duration(offset - c.offset.Swap(offset))
}

// place returns when, since base, the kernel stamped bytes that were read at user; floor is a moment that the bytes
// can't have come before. It is false where the stamp can't be believed.
func (c *clock) toMonotonic(stamp int64, user time.Time, floor time.Duration) (time.Duration, bool) {
	now := user.Sub(c.base)
	drift := time.Duration(user.UnixNano() - int64(now) - c.offset.Load())
	if drift.Abs() > maxDrift || int64(now) > c.nextCalibration.Load() {
		if c.calibrate().Abs() > maxStep {
			c.trustedFrom.Store(int64(now + time.Second))
		}
	}
	at := time.Duration(stamp - c.offset.Load())
	switch {
	case int64(now) < c.trustedFrom.Load(), at < floor, now-at > maxKernelLag, at > now+maxDrift:
		return 0, false
	}
	return min(at, now), true
}
