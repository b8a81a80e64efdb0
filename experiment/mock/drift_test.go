package mock

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestDrift(t *testing.T) {
	for _, test := range []struct {
		text string
		at   time.Duration
		want float64
	}{
		{"", time.Hour, 1}, {"5%/h", 0, 1}, {"5%/h", 2 * time.Hour, 1.1}, {"-10%/h", time.Hour, 0.9}, {"-50%/h", 10 * time.Hour, fastest},
		{"20%@10m", 10*time.Minute - 1, 1}, {"20%@10m", 10 * time.Minute, 1.2}, {" 50%@1m, 10%/h ", time.Hour, 1.65}, {"10000%/h", 100 * time.Hour, slowest},
	} {
		d, err := parseDrift(test.text)
		if got := d.at(test.at); err != nil || math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%q at %v: %g, %v; want %g", test.text, test.at, got, err, test.want)
		}
	}
	for _, wrong := range []string{"5%", "5/h", "%/h", "5%/m", "5%@", "5%@-1s", "-100%/h", "NaN%/h", "1e9%/h", "5%/h,"} {
		if _, err := parseDrift(wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

// Both engines drift: each time is that of its beginning, longer by then.
func TestDriftingEngines(t *testing.T) {
	c := Config{TTFT: 100 * time.Millisecond, ITL: 10 * time.Millisecond, Drift: "50%@1s"}
	for at, want := range map[time.Duration][]time.Duration{
		0:           {100 * time.Millisecond, 110 * time.Millisecond},
		time.Second: {1150 * time.Millisecond, 1165 * time.Millisecond},
	} {
		b := newBench(t, c)
		b.now = at
		q := b.add(fresh(1, 4), 2, at)
		b.settle()
		if !slices.Equal(q.emitted, want) {
			t.Errorf("fixed, at %v: %v, want %v", at, q.emitted, want)
		}
	}
	c = stepped()
	c.Drift = "100%/h"
	b := newBench(t, c)
	b.now = time.Hour
	q := b.add(fresh(1, 16), 1, time.Hour)
	b.settle()
	if want := time.Hour + 2*(base+16*perFill); q.emitted[0] != want {
		t.Errorf("simulated: %v, want %v", q.emitted[0], want)
	}
}

func FuzzParseDrift(f *testing.F) {
	f.Add("5%/h, 20%@10m")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDrift(text)
		if v := d.at(time.Hour); err == nil && !(v >= fastest && v <= slowest) {
			t.Errorf("%q makes it %g times as slow", text, v)
		}
	})
}
