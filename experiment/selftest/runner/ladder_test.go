package runner

import (
	"math"
	"strings"
	"testing"
	"time"

	"bench/experiment/selftest"

	"pgregory.net/rapid"
)

func TestLadder(t *testing.T) {
	l := DefaultLadder()
	var names []string
	for _, s := range l.Steps() {
		names = append(names, s.Name())
	}
	want := "burst 1, burst 10, burst 100, burst 500, burst 1000, burst 2000, spread 100, spread 500, spread 1000, spread 2000, rate 100, rate 1000, rate 5000"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("steps: %s", got)
	}
	if d := l.Expected(); d < 30*time.Second || d > 90*time.Second {
		t.Errorf("the default takes %v", d)
	}
	if d := QuickLadder().Expected(); d > 20*time.Second {
		t.Errorf("the quick one takes %v", d)
	}
	for _, l := range []Ladder{DefaultLadder(), QuickLadder()} {
		l.Check(func(flag, problem, _ string) { t.Errorf("%s: %s", flag, problem) })
	}
}

// Every step is one that the driver takes, and of which the server remembers all.
func TestLadderLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := DefaultLadder()
		l.Tokens = rapid.IntRange(1, 10_000).Draw(t, "tokens")
		l.Streams = []int{rapid.IntRange(1, maxRequests).Draw(t, "streams")}
		l.Rates = []float64{rapid.Float64Range(1, 1e5).Draw(t, "rate")}
		l.Window = time.Duration(rapid.Int64Range(int64(100*milli), int64(20*second)).Draw(t, "window"))
		l.Check(func(flag, problem, _ string) { t.Errorf("%s: %s", flag, problem) })
		for _, s := range l.Steps() {
			w, load := l.load(s)
			bad := func(key, problem, _ string) { t.Errorf("%+v: %s: %s", s, key, problem) }
			w.Check(bad)
			load.Check(w.Rate > 0, false, bad)
			if s.Kind == selftest.Burst && (load.Requests%load.Concurrency != 0 || load.Requests > maxRequests || load.Warmup.Requests != load.Concurrency) {
				t.Errorf("%+v: %+v", s, load)
			}
			if s.Kind == selftest.Spread && math.Abs(float64(w.Rate)*l.responseTime(s).Seconds()-s.Size) > 1e-6*s.Size {
				t.Errorf("%+v: rate %v", s, w.Rate)
			}
		}
	})
}

func TestLadderCheck(t *testing.T) {
	for want, change := range map[string]func(*Ladder){
		"streams: no steps": func(l *Ladder) { l.Streams, l.Rates = nil, nil },
		"streams: 0 is not": func(l *Ladder) { l.Streams = []int{0} },
		"rates: NaN is not": func(l *Ladder) { l.Rates = []float64{math.NaN()} },
	} {
		l := DefaultLadder()
		change(&l)
		var got []string
		l.Check(func(flag, problem, hint string) {
			got = append(got, flag+": "+problem)
			if !strings.HasPrefix(hint, "--") && !strings.Contains(hint, " --") {
				t.Errorf("%s: nothing to type: %s", problem, hint)
			}
		})
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}
