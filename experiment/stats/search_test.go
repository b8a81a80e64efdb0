package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wait is the share of requests of an M/M/1 queue that wait longer than a limit, at a load.
func wait(load, capacity, limit float64) float64 {
	if load >= capacity {
		return 1
	}
	return load / capacity * math.Exp(-(capacity-load)*limit)
}

// drawn is a probe whose requests are independent.
func drawn(rng *rand.Rand, load, window, share float64) Probe {
	n, over := math.Round(load*window), 0.0
	for range int(n) {
		if rng.Float64() < share {
			over++
		}
	}
	return Probe{Load: load, Spent: window + 2, Stay: 0.2,
		Limits: []Exceedances{{Over: over, Least: over, Most: over, N: n, Time: 1, Allowed: 0.05}}}
}

// runSearch runs a search until it ends.
func runSearch(t interface{ Fatalf(string, ...any) }, s Search, pace Pace, probe func(Step) Probe) []Probe {
	var probes []Probe
	for {
		step, more := s.Next(probes, pace)
		if !more {
			return probes
		}
		if len(probes) > 60 || step.Load < s.Min || step.Load > s.Max || s.Whole && step.Load != math.Round(step.Load) || step.Window <= 0 {
			t.Fatalf("%+v: %+v after %d probes", s, step, len(probes))
		}
		probes = append(probes, probe(step))
	}
}

// The interval holds the threshold of queues of any capacity and limit, of each budget, and narrows with it.
func TestRegionHoldsTheThreshold(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 1))
	searches := 12
	if *simulateAll {
		searches = 200
	}
	for _, budget := range []float64{100, 300} {
		held, widths := 0, []float64{}
		for range searches {
			capacity, limit := 5*math.Pow(10, rng.Float64()), 0.05*math.Pow(20, rng.Float64())
			s := Search{Min: 1, Max: 128, Tolerance: 0.01}
			share := func(load float64) float64 { return wait(load, capacity, limit) }
			probes := runSearch(t, s, Pace{Budget: budget, Warmup: 1, Least: 5}, func(step Step) Probe { return drawn(rng, step.Load, step.Window, share(step.Load)) })
			r := s.Region(probes)
			if low := max(r.Low, s.Min); (r.Low == 0 || share(low) <= 0.05) && (math.IsInf(r.High, 1) || share(r.High) >= 0.05) {
				held++
			}
			widths = append(widths, r.High/max(r.Low, s.Min)-1)
		}
		slices.Sort(widths)
		t.Logf("%.0f s: held %d of %d, width %.3f", budget, held, searches, widths[searches/2])
		if held < searches*83/100 { // of intervals at 95 %
			t.Errorf("%.0f s: %d of %d intervals hold the threshold", budget, held, searches)
		}
	}
}

// A step is searched to within its tolerance, or to the integer.
func TestSearchOfAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Search{Min: 1, Max: rapid.Float64Range(4, 500).Draw(t, "max"), Tolerance: rapid.Float64Range(0.02, 0.3).Draw(t, "tolerance")}
		if s.Whole = rapid.Bool().Draw(t, "whole"); s.Whole {
			s.Max = math.Round(s.Max)
		}
		at := math.Pow(s.Max, rapid.Float64Range(-0.2, 1.2).Draw(t, "place"))
		probes := runSearch(t, s, Pace{Budget: 600, Least: 10, Most: 10}, func(step Step) Probe {
			e := Exceedances{N: 200, Time: 1, Allowed: 0.05}
			if step.Load > at {
				e.Over, e.Least, e.Most = 200, 200, 200
			}
			return Probe{Load: step.Load, Limits: []Exceedances{e}, Spent: 10, Window: 10, Passed: e.Over == 0}
		})
		r := s.Region(probes)
		switch {
		case at < s.Min:
			if r.High > s.Min {
				t.Fatalf("%v: %v to %v", at, r.Low, r.High)
			}
		case at >= s.Max:
			if r.Low < s.Max {
				t.Fatalf("%v: %v to %v", at, r.Low, r.High)
			}
		case r.Low > at*1.002 || r.High < at*0.998 || !s.Close(r.Low, r.High):
			t.Fatalf("%v: %v to %v after %d", at, r.Low, r.High, len(probes))
		}
	})
}

func counts(load, over, n float64) Probe {
	return Probe{Load: load, Limits: []Exceedances{{Over: over, Least: over, Most: over, N: n, Time: 1, Allowed: 0.05}}}
}

// None of 50 over the limit decide: (1 − 0.05)^50 is e^−2.56, beyond the threshold.
func TestRegionKnownAnswers(t *testing.T) {
	s := Search{Min: 1, Max: 64, Tolerance: 0.05}
	for _, tt := range []struct {
		name      string
		probes    []Probe
		low, high float64
	}{
		{"20 decide nothing", []Probe{counts(8, 0, 20)}, 0, math.Inf(1)},
		{"50 decide", []Probe{counts(8, 0, 50)}, 8, math.Inf(1)},
		{"a repeat adds up", []Probe{counts(8, 0, 30), counts(8, 0, 30)}, 8, math.Inf(1)},
		{"a verdict that stands by itself", []Probe{{Load: 16, Verdict: Fail}}, 0, 16},
		{"what the server sustains bounds it", []Probe{{Load: 32, Sustained: 10}}, 0, 10.5},
		{"contradictions leave both possible", []Probe{{Load: 16, Verdict: Fail}, {Load: 20, Verdict: Pass}}, 0, math.Inf(1)},
	} {
		r := s.Region(tt.probes)
		if math.Abs(r.Low-tt.low) > 0.01*tt.low || r.High != tt.high && math.Abs(r.High-tt.high) > 0.01*tt.high {
			t.Errorf("%s: %v to %v, want %v to %v", tt.name, r.Low, r.High, tt.low, tt.high)
		}
	}
}

// What disturbs a run, or a server that fills up, can only widen the interval, and at the side that it touches.
func TestRegionOfDisturbedRuns(t *testing.T) {
	s := Search{Min: 1, Max: 64, Tolerance: 0.05}
	calm := []Probe{counts(8, 0, 200), counts(14, 2, 200), counts(18, 30, 200)}
	want := s.Region(calm)
	inflated := slices.Clone(calm)
	inflated[2].Limits = []Exceedances{{Over: 30, Least: 0, Most: 30, N: 200, Time: 1, Allowed: 0.05}}
	if r := s.Region(inflated); r.High <= want.High || math.Abs(r.Low-want.Low) > 0.01*want.Low || r.Best != want.Best {
		t.Errorf("inflated latencies: %v to %v, %v; calm: %v to %v, %v", r.Low, r.High, r.Best, want.Low, want.High, want.Best)
	}
	filling := slices.Clone(calm)
	filling[0].Filling, filling[1].Filling = true, true
	if r := s.Region(filling); r.Low != 0 || math.Abs(r.High-want.High) > 0.02*want.High {
		t.Errorf("a server that fills up: %v to %v; calm: %v to %v", r.Low, r.High, want.Low, want.High)
	}
}

// The limit that fails first binds, and another one that is not decided keeps the low end open.
func TestRegionOfTwoLimits(t *testing.T) {
	s := Search{Min: 1, Max: 64, Tolerance: 0.05}
	two := func(load, a, b, n float64) Probe {
		p := counts(load, a, n)
		p.Limits = append(p.Limits, counts(load, b, n).Limits...)
		return p
	}
	r := s.Region([]Probe{two(8, 0, 0, 300), two(16, 0, 150, 300), two(32, 150, 300, 300)})
	if r.Low < 8 || r.High > 16 {
		t.Errorf("%v to %v", r.Low, r.High)
	}
	few := two(8, 0, 0, 300)
	few.Limits[1].N = 20
	if r := s.Region([]Probe{few, two(16, 0, 150, 300)}); r.Low != 0 || r.High > 16 {
		t.Errorf("20 requests do not decide: %v to %v", r.Low, r.High)
	}
}

// The order of probes means nothing, those without counts say nothing about counts, and an overload that completes less
// than a probe that kept up does not bound it.
func TestRegionOfAnyProbes(t *testing.T) {
	s := Search{Min: 1, Max: 64, Tolerance: 0.05}
	p99 := func(load, over float64) Probe {
		p := counts(load, over, 1000)
		p.Limits[0].Allowed, p.Window = 0.01, 100
		return p
	}
	plain := []Probe{p99(8, 0), p99(12, 1), p99(14, 4), p99(18, 80)}
	want := s.Region(plain)
	none := counts(40, 0, 0)
	all := append(slices.Clone(plain), none, Probe{Load: 40, Verdict: Fail, Completed: 5, Limits: []Exceedances{{Allowed: 0.05}}})
	for range 20 {
		rand.New(rand.NewPCG(18, 3)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if r := s.Region(all); math.Abs(r.Low-want.Low) > 1e-3*want.Low || math.Abs(r.High-want.High) > 1e-3*want.High || want.Low < 12 || want.High > 18 {
			t.Fatalf("%v to %v, want %v to %v", r.Low, r.High, want.Low, want.High)
		}
	}
	if r := s.Region([]Probe{counts(14, 0, 400), {Load: 30, Sustained: 5, Completed: 5}}); r.Low < 14 {
		t.Errorf("it kept up at 14/s, but: %v to %v", r.Low, r.High)
	}
}

func TestRound(t *testing.T) {
	s := Search{Min: 0.001, Max: 1e6}
	for _, tt := range []struct {
		x        float64
		down, up float64
	}{{15.5849, 15.58, 15.59}, {16, 16, 16}, {0.12344, 0.1234, 0.1235}, {123456, 123400, 123500}} {
		if down, up := s.Round(tt.x, false), s.Round(tt.x, true); down != tt.down || up != tt.up {
			t.Errorf("%v: %v and %v", tt.x, down, up)
		}
	}
}

// Probes stay within the budget, and a long one confirms the answer's lower end.
func TestPace(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 2))
	s := Search{Min: 1, Max: 64, Tolerance: 0.01}
	pace := Pace{Budget: 200, Warmup: 2, Least: 5, Most: 30}
	probes := runSearch(t, s, pace, func(step Step) Probe {
		if step.Window > pace.Most {
			t.Errorf("a window of %v s", step.Window)
		}
		p := drawn(rng, step.Load, step.Window, wait(step.Load, 20, 0.3))
		p.Spent, p.Window, p.Stay = step.Warmup+step.Window, step.Window, 0
		p.Passed = p.Limits[0].Over <= 0.02*p.Limits[0].N
		return p
	})
	spent := 0.0
	for _, p := range probes {
		spent += p.Spent
	}
	low := s.Region(probes).Low
	confirmed := slices.ContainsFunc(probes, func(p Probe) bool { return p.Passed && p.Window >= 20 && p.Load > 0.85*low })
	if spent > pace.Budget || spent < 0.8*pace.Budget || !confirmed {
		t.Errorf("spent %v, low %v: %v", spent, low, probes[len(probes)-1].Load)
	}
	if _, more := s.Next([]Probe{counts(8, 100, 100)}, Pace{Budget: 200, Least: 5, Beat: 9}); more {
		t.Error("a setting that can't beat another one is searched further")
	}
}
