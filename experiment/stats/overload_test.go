package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// arrivalsAt is the time in an M/M/1 queue that begins empty; its services take 1 on average.
func fromEmpty(load float64, n int, rng *rand.Rand) []float64 {
	out, wait := make([]float64, n), 0.0
	for i := range out {
		out[i] = wait + rng.ExpFloat64()
		wait = max(0, out[i]-rng.ExpFloat64()/load)
	}
	return out
}

func TestOverloaded(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	const limit = 20.0
	found := func(load float64, n int) (times int) {
		for range 400 {
			if Overloaded(fromEmpty(load, n, rng), limit, 0.95) {
				times++
			}
		}
		return times
	}
	// Twice the capacity: after 96 requests 48 wait.
	if got := found(2, 96); got < 320 {
		t.Errorf("at twice the capacity %d of 400 windows of 96 requests are an overload", got)
	}
	if got := found(2, 400); got < 398 {
		t.Errorf("at twice the capacity %d of 400 windows of 400 requests are an overload", got)
	}
	// At 85 % the true p95 is 20: no more than a FAIL at the limit may be.
	if got := found(0.85, 400); got > 8 {
		t.Errorf("at the limit %d of 400 windows are an overload", got)
	}
	if got := found(0.5, 400); got > 0 {
		t.Errorf("at half the load %d of 400 windows are an overload", got)
	}
}

func TestOverloadedByHand(t *testing.T) {
	ramp := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = 600 + 25*float64(i)
		}
		return out
	}
	inf := ramp(64)
	for i := 24; i < 64; i++ {
		inf[i] = math.Inf(1)
	}
	step := make([]float64, 64)
	for i := 32; i < 64; i++ {
		step[i] = 900
	}
	for _, c := range []struct {
		name      string
		values    []float64
		p         float64
		over, far bool
	}{
		{"a ramp", ramp(64), 0.95, true, true},
		{"nothing", nil, 0.95, false, false},
		{"too few", ramp(31), 0.95, false, false},
		{"a ramp of 823", ramp(823), 0.99, true, true},
		{"for a median it must go far", ramp(64), 0.5, false, false},
		{"a long ramp for a median", ramp(400), 0.5, true, false},
		{"time-outs after a ramp", inf, 0.95, true, true},
		{"a step that ends over it", step, 0.95, true, false}, {"a step for a median", step, 0.5, false, false},
	} {
		if got := Overloaded(c.values, 500, c.p); got != c.over {
			t.Errorf("%s: overloaded %t", c.name, got)
		}
		if got := FarOver(c.values, 500, c.p); got != c.far {
			t.Errorf("%s: far over %t", c.name, got)
		}
	}
	if !EndsOver(step, 500) || EndsOver(step[:40], 500) {
		t.Error("the last quarter of a step")
	}
}
