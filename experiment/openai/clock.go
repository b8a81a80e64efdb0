package openai

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	calibrateEvery = time.Second
	maxDrift       = 100 * time.Microsecond // more offset between two reads: the wall clock may have been set
	maxStep        = 50 * time.Microsecond  // more change between two calibrations: it was set
	maxKernelLag   = 10 * time.Second       // an older kernel stamp is not trusted
)

// clock converts the kernel's receive stamps from the wall clock to the monotonic clock. The wall clock may
// be set at any time: every conversion compares the two clocks, and for one second after a step no kernel
// stamp is trusted, since it may be from before the step.
type clock struct {
	base            time.Time
	offset          atomic.Int64 // wall clock at base by the last calibration, ns since the Unix epoch
	nextCalibration atomic.Int64 // since base
	trustedFrom     atomic.Int64 // since base: kernel stamps are trusted from then on
	mu              sync.Mutex
}

func newClock() *clock {
	c := &clock{base: time.Now()}
	c.calibrate()
	return c
}

// calibrate measures the offset by the narrowest of five brackets, and returns its change.
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

// toMonotonic converts a kernel stamp to a time since base; user is when the read returned, floor a time that
// the bytes can't precede. ok is false if the stamp can't be trusted.
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
