package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// turns are values of four groups that take turns, in a slow wave that all share; group 2 is shifted.
func turns(n int, shift float64, rng *rand.Rand) (values []float64, groups []int) {
	wave := autoregressive(n, 0.95, rng)
	for i := range n {
		x := 3*wave[i] + rng.NormFloat64()
		if i%4 == 2 {
			x += shift
		}
		values, groups = append(values, x), append(groups, i%4)
	}
	return values, groups
}

// Under no shift p is below a level as often as the level says; the interval covers a shift as often as it says.
func TestShift(t *testing.T) {
	simulation(t)
	runs := 100
	if long() {
		runs = 2000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shift := range []float64{0, 1.5} {
		below, covered, sum := 0.0, 0.0, 0.0
		for range runs {
			values, groups := turns(400, shift, rng)
			s := NewAligned(values, 16).Shift(2, groups, nil)
			if s.P < 0.05 {
				below++
			}
			if iv := s.Interval(0.95); iv.Lo <= shift && shift <= iv.Hi {
				covered++
			}
			sum += s.Difference()
		}
		n := float64(runs)
		t.Logf("shift %v: p < 0.05 %.3f, covered %.3f, mean %.3f", shift, below/n, covered/n, sum/n)
		chance := 3 * math.Sqrt(0.05*0.95/n)
		if shift == 0 && math.Abs(below/n-0.05) > chance || shift > 0 && below/n < 0.95 {
			t.Errorf("shift %v: p < 0.05 in %v of runs", shift, below/n)
		}
		if covered/n < 0.95-chance || math.Abs(sum/n-shift) > 0.05 {
			t.Errorf("shift %v: covered %v, mean %v", shift, covered/n, sum/n)
		}
	}
}

// A group that the covariates explain is not compared; one that they explain in part is.
func TestShiftBesideCovariates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 400
	place, other := make([]float64, n), make([]float64, n)
	values, groups := turns(n, 0, rng)
	for i := range values {
		if groups[i] == 2 {
			place[i] = 1
		}
		other[i] = place[i]
		if rng.Float64() < 0.4 {
			other[i] = 1 - other[i]
		}
		values[i] += 5 * other[i]
	}
	if s := NewAligned(values, 16, Covariate{Of: place}).Shift(2, groups, nil); !math.IsNaN(s.P) {
		t.Errorf("explained: p %v", s.P)
	}
	if s := NewAligned(values, 16).Shift(2, groups, nil); s.P > 1e-3 {
		t.Errorf("without the covariate: p %v", s.P)
	}
	if s := NewAligned(values, 16, Covariate{Of: other}).Shift(2, groups, nil); s.P < 1e-3 {
		t.Errorf("with the covariate: p %v", s.P)
	}
}

// Values that repeat the one before them carry a shift of its group on: From takes it off.
func TestShiftCarriedByACovariate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 400
	values, groups := make([]float64, n), make([]int, n)
	before := Covariate{Of: make([]float64, n), From: make([]int, n)}
	for i := range values {
		groups[i], before.From[i] = i%4, i-1
		values[i] = rng.NormFloat64()
		if i > 0 {
			values[i] += values[i-1] // of the server
			before.Of[i] = values[i-1]
		}
	}
	for i := range values {
		if groups[i] == 2 {
			values[i] += 2 // of the group's way
		}
		if i > 0 && groups[i-1] == 2 {
			before.Of[i] += 2
		}
	}
	s := NewAligned(values, 16, before).Shift(2, groups, nil)
	if iv := s.Interval(0.99); s.P > 1e-6 || iv.Lo > 2 || iv.Hi < 2 {
		t.Errorf("p %v, %v %v", s.P, s.Difference(), iv)
	}
}

// Values of one conversation are alike: a few conversations are no proof.
func TestShiftOfClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n, conversations, runs = 400, 20, 100
	alarms := map[bool]int{}
	for range runs {
		values, groups, cluster := make([]float64, n), make([]int, n), make([]int, n)
		level := make([]float64, conversations)
		for k := range level {
			level[k] = rng.NormFloat64()
		}
		for i := range values {
			cluster[i] = rng.IntN(conversations)
			groups[i] = cluster[i] % 4
			values[i] = level[cluster[i]] + 0.1*rng.NormFloat64()
		}
		a := NewAligned(values, 16)
		for _, known := range []bool{false, true} {
			of := cluster
			if !known {
				of = nil
			}
			if a.Shift(2, groups, of).P < 0.01 {
				alarms[known]++
			}
		}
	}
	if alarms[true] > 6 || alarms[false] < 30 {
		t.Errorf("alarms %v", alarms)
	}
}

func TestShiftOfFewOrEqualValues(t *testing.T) {
	if NewAligned(make([]float64, 100), 16) != nil {
		t.Error("six strata")
	}
	values, groups := make([]float64, 200), make([]int, 200)
	for i := range values {
		groups[i] = i % 4
	}
	if s := NewAligned(values, 16).Shift(0, groups, nil); s.P != 1 || s.Difference() != 0 {
		t.Errorf("equal values: %v %v", s.P, s.Difference())
	}
	for i := range values {
		if groups[i] == 0 {
			values[i] = 5
		}
	}
	if s := NewAligned(values, 16).Shift(0, groups, nil); s.P > 1e-12 || math.Abs(s.Difference()-5) > 1e-6 {
		t.Errorf("5 apart: %v %v", s.P, s.Difference())
	}
	if s := NewAligned(values, 16).Shift(7, groups, nil); !math.IsNaN(s.P) {
		t.Errorf("no group: %v", s.P)
	}
	if s := NewAligned(values, 16).Shift(0, groups, groups); !math.IsNaN(s.P) {
		t.Errorf("one cluster each: %v", s.P)
	}
}
