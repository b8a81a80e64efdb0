package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A step is searched to within its tolerance, or to the integer, by verdicts alone; the search ends outside of its range.
func TestSearchOfAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Search{Min: 1, Max: rapid.Float64Range(4, 500).Draw(t, "max"), Tolerance: rapid.Float64Range(0.02, 0.3).Draw(t, "tolerance")}
		if s.Whole = rapid.Bool().Draw(t, "whole"); s.Whole {
			s.Max = math.Round(s.Max)
		}
		at := math.Pow(s.Max, rapid.Float64Range(-0.2, 1.2).Draw(t, "place"))
		var probes []Probe
		for {
			known := s.Between(probes)
			known.Best = nil
			step, more := s.Next(probes, Pace{Budget: 600, Least: 10, Most: 10}, known)
			if !more {
				break
			}
			if len(probes) > 60 || step.Load < s.Min || step.Load > s.Max || s.Whole && step.Load != math.Round(step.Load) || step.Window <= 0 {
				t.Fatalf("%+v: %+v after %d probes", s, step, len(probes))
			}
			p := Probe{Load: step.Load, Verdict: Pass, Log: -2, Spent: 10, Window: 10}
			if step.Load > at {
				p.Verdict, p.Log = Fail, 2
			}
			probes = append(probes, p)
		}
		b := s.Between(probes)
		switch {
		case at < s.Min:
			if b.High == nil || *b.High > s.Min {
				t.Fatalf("%v: %+v", at, b)
			}
		case at >= s.Max:
			if b.Low == nil || *b.Low < s.Max {
				t.Fatalf("%v: %+v", at, b)
			}
		case b.Low == nil || b.High == nil || *b.Low > at || *b.High < at || !s.Close(*b.Low, *b.High):
			t.Fatalf("%v: %+v after %d", at, b, len(probes))
		}
	})
}

func TestBetween(t *testing.T) {
	pass, fail := func(load, log float64) Probe { return Probe{Load: load, Verdict: Pass, Log: log} }, func(load, log float64) Probe { return Probe{Load: load, Verdict: Fail, Log: log} }
	open := func(load, log float64) Probe { return Probe{Load: load, Log: log} }
	for _, tt := range []struct {
		name            string
		probes          []Probe
		low, best, high float64 // 0: none
	}{
		{"nothing", nil, 0, 0, 0},
		{"open", []Probe{open(8, 0.1)}, 0, 0, 0},
		{"one end", []Probe{pass(8, -1), open(16, math.NaN())}, 8, 0, 0},
		{"a line between the logarithms", []Probe{pass(8, -0.5), fail(16, 0.5)}, 8, 11.31, 16},
		{"an open probe is nearer", []Probe{pass(8, -0.5), open(11, -0.1), fail(16, 0.5)}, 8, 11.7, 16},
		{"overload counts as one", []Probe{pass(8, -0.5), fail(16, 30)}, 8, 10.07, 16},
		{"all between contradictory verdicts", []Probe{pass(6, -1), fail(8, 0.1), pass(10, -0.1), fail(16, 1)}, 6, 7.793, 16},
		{"a wide gap", []Probe{pass(4, -1), fail(16, 1)}, 4, 0, 16},
	} {
		b := Search{Min: 1, Max: 64}.Between(tt.probes)
		for _, x := range []struct {
			got  *float64
			want float64
		}{{b.Low, tt.low}, {b.Best, tt.best}, {b.High, tt.high}} {
			if (x.got == nil) != (x.want == 0) || x.got != nil && math.Abs(*x.got-x.want) > 0.002*x.want {
				t.Errorf("%s: %v, want %v", tt.name, x.got, x.want)
			}
		}
	}
}

// With a likeliest load the next probe is beside it; what a verdict just below it takes is kept for the last one.
func TestNextKnows(t *testing.T) {
	s := Search{Min: 1, Max: 64, Tolerance: 0.05}
	best := 20.0
	known := Bracket{Low: new(19.6), High: new(20.4), Best: &best}
	probes := []Probe{{Load: 8, Verdict: Pass, Log: -1, Stay: 1, Window: 10, Spent: 12}}
	pace := Pace{Budget: 240, Warmup: 2, Least: 10, Verdict: 45}
	step, more := s.Next(probes, pace, known)
	if !more || step.Load != 18.4 || step.Window < 45 {
		t.Errorf("%+v: the interval is as narrow as the tolerance, and a PASS just below it is missing", step)
	}
	probes = append(probes, Probe{Load: step.Load, Verdict: Pass, Stay: 1, Window: step.Window, Spent: 60})
	if step, more := s.Next(probes, pace, known); more {
		t.Errorf("%+v after a PASS at the lower end", step)
	}
	wide := Bracket{Low: new(15.0), High: new(26.0), Best: &best}
	if step, _ := s.Next(probes, pace, wide); step.Load < 17 || step.Load > 20 {
		t.Errorf("%+v is not beside the likeliest load", step)
	}
}

// Where all of the range meets the limits, and a verdict takes longer than a probe that explores, few probes show it.
func TestWholeRangeIsConfirmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Search{Min: 0.01, Max: rapid.Float64Range(0.5, 200).Draw(t, "max"), Tolerance: 0.05}
		stay := rapid.Float64Range(0.05, 5).Draw(t, "stay")
		least := rapid.Float64Range(0, 90).Draw(t, "requests for a verdict")
		start := rapid.Float64Range(0.1, 1).Draw(t, "start") * s.Max
		pace := Pace{Start: start, Budget: 3600, Warmup: 2, Least: 10, Verdict: 45}
		var probes []Probe
		for {
			known := s.Between(probes)
			if known.Best = nil; rapid.Bool().Draw(t, "a twin") {
				known.Best = new(s.Max)
			}
			step, more := s.Next(probes, pace, known)
			if !more {
				break
			}
			p := Probe{Load: step.Load, Verdict: Undecided, Log: -2, Stay: stay, Window: step.Window}
			p.Spent = step.Warmup + step.Window
			switch {
			case step.Window < 35*stay:
			case step.Window*step.Load < least:
				p.Need = least / step.Load
			default:
				p.Verdict = Pass
			}
			probes = append(probes, p)
		}
		const most = 8 // of which 4 double the first load
		if b := s.Between(probes); b.Low == nil || *b.Low < s.Max || len(probes) > most {
			t.Fatalf("%d probes: %+v", len(probes), probes)
		}
	})
}

// A search asks nothing again: where a probe has a verdict, or without a twin one is as long as it can be, others are of use.
func TestSearchAsksNothingAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Search{Min: 1, Max: 64, Tolerance: 0.05, Whole: rapid.Bool().Draw(t, "whole")}
		limit := rapid.Float64Range(1, 80).Draw(t, "limit")
		needs := rapid.Float64Range(0, 120).Draw(t, "window of a verdict")
		pace := Pace{Start: 4, Budget: 1200, Warmup: 2, Least: 10, Verdict: 30}
		var probes []Probe
		for {
			known := s.Between(probes)
			known.Best = nil
			step, more := s.Next(probes, pace, known)
			if !more {
				break
			}
			left := pace.Budget - spentOn(probes) - step.Warmup - step.drain
			for _, p := range probes {
				if p.Load == step.Load && step.Window < left-1 && (p.Verdict != Undecided || p.Window >= 0.99*step.Window && step.Window > 11) {
					t.Fatalf("%+v again after %+v", step, probes)
				}
			}
			p := Probe{Load: step.Load, Verdict: Undecided, Log: math.Log(step.Load / limit), Stay: 1, Window: step.Window,
				Spent: step.Warmup + step.Window}
			// nearer to the limit a verdict takes longer
			if step.Window >= needs/max(0.2, math.Abs(p.Log)) {
				p.Verdict = Pass
				if p.Log > 0 {
					p.Verdict = Fail
				}
			}
			probes = append(probes, p)
		}
	})
}
