package collect

import (
	"bench/experiment/telemetry"
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: a sample each 250 ms and one at the end, over intervals that leave no gap, with what the
// caller says of its requests; nothing runs on (the bubble would not end).
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
		defer cancel()
		asked := 0
		load := func() Load {
			asked++
			return Load{InFlight: 10 * asked, Ended: asked * asked, LagMax: time.Duration(asked-3) * time.Millisecond}
		}
		var got []telemetry.Sample
		s := newSampler(t.TempDir())
		defer s.close()
		s.watch(ctx, load, func(x telemetry.Sample) { got = append(got, x) })
		if len(got) != 5 {
			t.Fatalf("%d samples in 1.1 s", len(got))
		}
		at := began
		for i, x := range got {
			span := 250 * time.Millisecond
			if i == 4 {
				span = 100 * time.Millisecond
			}
			if at = at.Add(span); !x.At.Equal(at) || x.Span != span.Microseconds() || x.Source != telemetry.SourceClient {
				t.Errorf("sample %d is at %s over %d µs, want %s", i, x.At.Sub(began), x.Span, at.Sub(began))
			}
			if *x.InFlight != 10*(i+2) || *x.Ended != 2*i+3 {
				t.Errorf("sample %d: %d in flight, %d ended", i, *x.InFlight, *x.Ended)
			}
			if want := float64(i - 1); (i == 0) != (x.LagMax == nil) || i > 0 && *x.LagMax != want {
				t.Errorf("sample %d: lag %v", i, x.LagMax)
			}
		}
	})
}

// An empty /proc is a system that tells nothing: absent, not zero.
func TestWatchWhereNothingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		s := newSampler(t.TempDir())
		defer s.close()
		n := 0
		s.watch(ctx, nil, func(x telemetry.Sample) {
			n++
			if x.CoreBusy != nil || x.Steal != nil || x.RunDelay != nil ||
				x.InFlight != nil || x.Ended != nil || x.LagMax != nil {
				t.Errorf("%+v", x)
			}
		})
		if n != 1 {
			t.Errorf("%d samples", n)
		}
	})
}

// TestWatchSeesThisProcess: what the real system tells of a known piece of work.
func TestWatchSeesThisProcess(t *testing.T) {
	s := newSampler("/proc")
	defer s.close()
	before, now := new(reading), new(reading)
	s.read(before, nil)
	for stop := time.Now().Add(300 * time.Millisecond); time.Now().Before(stop); { // one busy thread
	}
	runtime.GC()
	s.read(now, nil)
	x := difference(before, now)
	if len(x.Sched) == 0 || !slices.IsSortedFunc(x.Sched, func(a, b [2]float64) int { return int(a[0] - b[0]) }) {
		t.Errorf("scheduler latencies: %v", x.Sched)
	}
	if runtime.GOOS != "linux" {
		return
	}
	// Others may have the cores: then the thread waited for one.
	if got := *x.UserCores + *x.SystemCores + *x.RunDelay; got < 0.5 || *x.UserCores+*x.SystemCores > 1.1*float64(runtime.NumCPU()) {
		t.Errorf("one busy thread used %g and %g cores, and waited %g", *x.UserCores, *x.SystemCores, *x.RunDelay)
	}
	if len(x.CoreBusy) == 0 || slices.Max(x.CoreBusy) < 0.2 || slices.Max(x.CoreBusy) > 1 || *x.Steal < 0 || *x.Steal > 1 {
		t.Errorf("cores %v, stolen %v", x.CoreBusy, x.Steal)
	}
	if *x.Cost <= 0 {
		t.Errorf("%+v", x)
	}
}

func TestReadLimits(t *testing.T) {
	if l := readLimits(t.TempDir()); l.Ports != 0 || l.Open != 0 {
		t.Errorf("an empty /proc tells %+v", l)
	}
	if l := ReadLimits(); runtime.GOOS == "linux" && (l.Open < 3 || l.Ports < 1 || l.Files != 0 && l.Files < l.Open) {
		t.Errorf("%+v", l)
	}
}
