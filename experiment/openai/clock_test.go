package openai

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name        string
		stamp, read time.Duration // before now
		floor       time.Duration // before now
		want        bool
	}{
		{"just before", ms, 0, time.Second, true},
		{"at once", 0, 0, time.Second, true},
		{"a hair later, by the calibration's error", -20 * time.Microsecond, 0, time.Second, true},
		{"after the read", -ms, 0, time.Second, false},
		{"before the request", 2 * time.Second, 0, time.Second, false},
		{"older than can be", 11 * time.Second, 0, time.Hour, false},
	}
	for _, tt := range tests {
		c := newClock()
		user := time.Now()
		at, ok := c.toMonotonic(user.Add(-tt.stamp).UnixNano(), user, user.Sub(c.base)-tt.floor)
		if ok != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, ok, tt.want)
		}
		if want := user.Sub(c.base) - max(0, tt.stamp); ok && (at-want).Abs() > 100*time.Microsecond {
			t.Errorf("%s: placed at %v, want %v", tt.name, at, want)
		}
	}
}

// TestClockStep: after the wall clock was set, stamps are not trusted for a second, and the offset is the new
// one.
func TestClockStep(t *testing.T) {
	c := newClock()
	right := c.offset.Load()
	c.offset.Add(int64(-3 * time.Second)) // as if the clock had been put forward since the calibration
	user := time.Now()
	if _, ok := c.toMonotonic(user.UnixNano(), user, 0); ok {
		t.Error("a stamp was trusted across a step")
	}
	if off := time.Duration(c.offset.Load() - right); off.Abs() > time.Millisecond {
		t.Errorf("the offset is off by %v", off)
	}
	user = user.Add(500 * time.Millisecond)
	if _, ok := c.toMonotonic(user.UnixNano(), user, 0); ok {
		t.Error("a stamp was trusted half a second after a step")
	}
	user = user.Add(time.Second)
	if _, ok := c.toMonotonic(user.UnixNano(), user, 0); !ok {
		t.Error("a stamp was not trusted long after a step")
	}
}

// TestCalibration: a new calibration without a step changes too little to be taken for one.
func TestCalibration(t *testing.T) {
	c := newClock()
	for range 100 {
		if change := c.calibrate(); change.Abs() > time.Millisecond {
			t.Errorf("the offset changed by %v", change)
		}
	}
}
