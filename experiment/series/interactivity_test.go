package series

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	fixture "bench/internal/fixturetest"
)

// served is a point at a concurrency with n requests of one TPOT.
func served(concurrency, n int, perUser, output float64) record.Row {
	r := measured("D", fixture.Concurrency(unit.Count(concurrency)), 0, concurrency, 1, output, 50, "")
	r.Summary.TPOT = stats.Summarize(slices.Repeat([]float64{1e3 / perUser}, n))
	r.Summary.Throughput.OutputTokensPerSPerGPU = new(output / 2)
	return r
}

// On the frontier are concurrency 1, 4, 8 and 32: 16 is beaten by 32, 2 has too few requests, 64 is invalid.
func TestAtInteractivity(t *testing.T) {
	rows := []record.Row{served(1, 40, 125, 100), served(2, 3, 120, 900), served(4, 40, 100, 300), served(8, 40, 50, 700), served(16, 40, 20, 800),
		served(32, 40, 25, 1200), served(64, 40, 10, 2000)}
	rows[6].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	s := FromRows(rows)[0]
	for _, c := range []struct {
		perUser, want  float64
		faster, slower int
	}{
		{125, 100, 0, 0}, {112.5, 200, 0, 2}, {100, 300, 2, 2}, {75, 500, 2, 3}, {60, 620, 2, 3}, {50, 700, 3, 3}, {40, 900, 3, 5}, {25, 1200, 5, 5},
	} {
		at, ok := s.AtInteractivity(c.perUser)
		if !ok || math.Abs(at.OutputTokensPerS-c.want) > 1e-9 || math.Abs(at.OutputTokensPerSPerGPU-c.want/2) > 1e-9 || at.Faster != c.faster || at.Slower != c.slower {
			t.Errorf("at %v tok/s/user: %+v, %v; want %v between %d and %d", c.perUser, at, ok, c.want, c.faster, c.slower)
		}
	}
	for _, outside := range []float64{125.1, 24.9, 10, 0, math.NaN(), math.Inf(1)} {
		if at, ok := s.AtInteractivity(outside); ok {
			t.Errorf("at %v tok/s/user, outside the measured range: %+v", outside, at)
		}
	}
	if low, high, ok := s.InteractivityRange(); !ok || math.Abs(low-25) > 1e-9 || math.Abs(high-125) > 1e-9 {
		t.Errorf("range %v to %v, %v", low, high, ok)
	}
	if _, _, ok := FromRows(rows[:2])[0].InteractivityRange(); ok {
		t.Error("a single ranked point has a range")
	}
}

// A faster answer never has more throughput, and the throughput lies between those of the points around it.
func TestAtInteractivityIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []record.Row
		for i := range rapid.IntRange(2, 8).Draw(t, "points") {
			rows = append(rows, served(i+1, 20, float64(rapid.IntRange(1, 200).Draw(t, "per user")), float64(rapid.IntRange(1, 5000).Draw(t, "output"))))
		}
		s := FromRows(rows)[0]
		low, high, ok := s.InteractivityRange()
		if !ok {
			return
		}
		last := math.Inf(1)
		for i := range 20 {
			x := low + (high-low)*float64(i)/20
			at, ok := s.AtInteractivity(x)
			from, to := s.Points[at.Faster].OutputTokensPerS.Median, s.Points[at.Slower].OutputTokensPerS.Median
			if !ok || at.OutputTokensPerS > last+1e-9 || at.OutputTokensPerS < from-1e-9 || at.OutputTokensPerS > to+1e-9 {
				t.Fatalf("at %v of %v to %v: %+v, %v, after %v", x, low, high, at, ok, last)
			}
			last = at.OutputTokensPerS
		}
	})
}
