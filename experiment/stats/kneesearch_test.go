package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// askGains runs a search for a knee on a curve.
func askGains(t interface{ Fatalf(string, ...any) }, s Search, curve func(load float64) float64) []Gain {
	var gains []Gain
	for {
		x, more := s.NextOfKnee(gains)
		if !more {
			return gains
		}
		if len(gains) > 5000 || x < s.Min || x > s.Max || s.Whole && x != math.Round(x) {
			t.Fatalf("%+v asks at %v, after %d", s, x, len(gains))
		}
		gains = append(gains, Gain{x, curve(x)})
	}
}

// A curve that rises with the load and then stays has its knee where it stops to rise.
func broken(at float64) func(float64) float64 {
	return func(x float64) float64 { return min(x, at) }
}

func TestKneeSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Search{Min: 1, Max: rapid.Float64Range(30, 1000).Draw(t, "max"), Tolerance: rapid.Float64Range(0.02, 0.3).Draw(t, "tolerance"), Confirm: 2}
		if s.Whole = rapid.Bool().Draw(t, "whole"); s.Whole {
			s.Max = math.Round(s.Max)
		}
		at := math.Pow(s.Max, rapid.Float64Range(0.3, 0.9).Draw(t, "place"))
		gains := askGains(t, s, broken(at))
		b, ok := s.KneeOf(gains)
		if !ok || *b.Low > at || *b.High < at {
			t.Fatalf("knee at %v: %v, %+v", at, ok, b)
		}
		if wide := *b.High / *b.Low; wide > math.Pow(1+s.Tolerance, 2)*1.001 && !(s.Whole && *b.High-*b.Low <= 2) {
			t.Fatalf("knee at %v: %v to %v", at, *b.Low, *b.High)
		}
	})
}

func TestKneeSearchNone(t *testing.T) {
	s := Search{Min: 1, Max: 100, Tolerance: 0.1, Confirm: 2}
	gains := askGains(t, s, func(x float64) float64 { return 3 * x })
	if _, ok := s.KneeOf(gains); ok || len(gains) != gridPoints {
		t.Errorf("a straight line has a knee: %v", gains)
	}
	if _, ok := s.KneeOf(nil); ok {
		t.Error("nothing has a knee")
	}
}

// A noisy curve has its knee inside of an answer that is the wider for it.
func TestKneeSearchNoisy(t *testing.T) {
	const trials, at = 300, 20.0
	rng := rand.New(rand.NewPCG(1, 2))
	missed, wide := 0, 0
	for range trials {
		s := Search{Min: 1, Max: 128, Tolerance: 0.05, Confirm: 3}
		b, ok := s.KneeOf(askGains(t, s, func(x float64) float64 { return broken(at)(x) * (1 + 0.02*rng.NormFloat64()) }))
		if !ok || *b.Low > at || *b.High < at {
			missed++
		}
		if ok && *b.High / *b.Low > 1.1025 {
			wide++
		}
	}
	t.Logf("of %d: %d missed, %d wider than without noise", trials, missed, wide)
	if missed > trials/10 || wide == 0 {
		t.Errorf("%d missed, %d wider", missed, wide)
	}
}

// A search on a flat noisy curve ends after its grid without a knee; the knees of clear bends are in the
// answer.
func TestSimulationKneeSearch(t *testing.T) {
	trials := 100
	if long() {
		trials = 4000
	}
	for _, c := range []struct {
		name string
		gain func(load float64) float64
	}{{"flat", func(float64) float64 { return 100 }}, {"bend at 20", broken(20)}, {"bend at 60", broken(60)}} {
		for _, noise := range []float64{0.01, 0.03, 0.05, 0.1} {
			rng := rand.New(rand.NewPCG(4, math.Float64bits(noise)))
			found, right := 0, 0
			for range trials {
				s := Search{Min: 1, Max: 128, Tolerance: 0.05, Confirm: 3}
				b, ok := s.KneeOf(askGains(t, s, func(x float64) float64 { return c.gain(x) * math.Exp(noise*rng.NormFloat64()) }))
				if ok {
					found++
				}
				if at := map[string]float64{"bend at 20": 20, "bend at 60": 60}[c.name]; ok && *b.Low <= at && *b.High >= at {
					right++
				}
			}
			t.Logf("| knee search, %s | %.0f %% | %.1f %% | %.1f %% |", c.name, 100*noise, percent(found, trials), percent(right, trials))
			if c.name == "flat" && found > trials/10 || c.name == "bend at 20" && found < trials*95/100 {
				t.Errorf("%s, noise %v: %d of %d have a knee", c.name, noise, found, trials)
			}
		}
	}
}

func percent(k, n int) float64 { return 100 * float64(k) / float64(n) }
