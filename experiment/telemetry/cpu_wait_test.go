package telemetry

import "testing"

// waiting are four samples a second with these figures; nil: not reported.
func waiting(seconds int, change func(k int, s *Sample)) []Sample {
	var out []Sample
	for k := range 4 * seconds {
		s := Sample{Source: SourceClient, TUs: int64(k+1) * 250_000, Span: 250_000, UserCores: new(0.1), SystemCores: new(0.1), CoreBusy: []float64{1, 1}}
		change(k, &s)
		out = append(out, s)
	}
	return out
}

func TestCPUWait(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(k int, s *Sample)
		mean   float64
		by     string
	}{
		{"pressure alone", func(_ int, s *Sample) { s.CPUPressure = new(0.4) }, 0.4, "cpu_pressure"},
		{"the server waited less", func(_ int, s *Sample) {
			s.CPUPressure, s.ServerCores, s.ServerRunDelay = new(0.4), new(0.5), new(0.3)
		}, 0.3, "run_delay"},
		{"its cgroup waited less", func(_ int, s *Sample) {
			s.CPUPressure, s.ServerCores, s.ServerRunDelay, s.ServerCPUPressure = new(0.4), new(0.5), new(7.0), new(0.2)
		}, 0.2, "server_cpu_pressure"},
		{"it waited for itself: nothing else ran", func(_ int, s *Sample) {
			s.CPUPressure, s.ServerCores, s.ServerRunDelay = new(1.0), new(1.75), new(9.0)
		}, 0.05, "other_cores"},
		{"ticks beyond what ran", func(_ int, s *Sample) { s.ServerCores, s.ServerRunDelay = new(2.1), new(9.0) }, 0, "other_cores"},
		{"always, and several threads", func(_ int, s *Sample) { s.ServerCores, s.ServerRunDelay = new(0.1), new(31.0) }, 1, "run_delay"},
		{"half of the time", func(k int, s *Sample) {
			s.CPUPressure = new(0.0)
			if k >= 20 {
				s.CPUPressure = new(0.9)
			}
		}, 0.45, "cpu_pressure"},
	} {
		w := Summarize(waiting(10, c.change), 0, 10_000_000).CPUWait
		if w == nil || w.Mean != c.mean || w.By != c.by || len(w.Parts) != 20 {
			t.Errorf("%s: %+v, want %g by %s", c.what, w, c.mean, c.by)
		}
	}
	if u := Summarize(waiting(10, func(int, *Sample) {}), 0, 10_000_000); u.CPUWait != nil {
		t.Errorf("a bound of nothing: %+v", u.CPUWait)
	}
}

func TestCPUWaitBetween(t *testing.T) {
	w := &CPUWait{Parts: []CPUWaitPart{{1000, 0.2}, {2000, 0.8}, {3000, 0}}}
	for _, c := range []struct {
		from, to int64
		want     float64
	}{{0, 1000, 0.2}, {500, 1500, 0.5}, {1500, 1500, 0.8}, {-1000, 2000, 0.4}, {2000, 9000, 0}, {9000, 9500, 0}, {-500, -100, 0.2}, {0, 3000, 1.0 / 3}} {
		if got := w.Between(c.from, c.to); Round(got, 6) != Round(c.want, 6) {
			t.Errorf("from %d to %d: %g, want %g", c.from, c.to, got, c.want)
		}
	}
	if got := (&CPUWait{}).Between(0, 10); got != 0 {
		t.Errorf("%g without parts", got)
	}
}
