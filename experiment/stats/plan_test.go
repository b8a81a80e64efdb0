package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The variances of planted runs are found, also when they drift.
func TestNoiseOfRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	var runs [][]Repeat
	for i := range 2000 {
		night := 0.02*r.NormFloat64() + 1e-4*float64(i)
		var run []Repeat
		for range 3 {
			sampling := 0.015
			run = append(run, Repeat{night + 0.01*r.NormFloat64() + sampling*r.NormFloat64(),
				sampling * sampling})
		}
		runs = append(runs, run)
	}
	n := NoiseOfRuns(runs, 5, 60)
	near(t, "night", n.Night, 0.02, 0.0015)
	near(t, "repeat", n.Repeat, 0.01, 0.001)
	near(t, "sampling", n.Sampling, 0.015, 1e-9)
	near(t, "the error of one night of 3 against 5", n.SE(5, 3, 60), math.Sqrt(1.2*(4e-4+(1e-4+2.25e-4)/3)),
		0.001)
	near(t, "of longer repeats", n.SE(5, 3, 240), math.Sqrt(1.2*(4e-4+(1e-4+2.25e-4/4)/3)), 0.001)
	if n := NoiseOfRuns(runs[:1], 5, 60); n.DF != 0 {
		t.Errorf("one run shows a spread: %+v", n)
	}
}

// The formulas are also what CompareRuns decides, from a history whose noise it has to estimate.
func TestGatePowerOfRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	noise := RunNoise{Night: 0.008, Repeat: 0.006, Sampling: 0.005, Duration: 60}
	const history, repeats, threshold, level = 30, 3, 0.03, 0.05 / 8
	night := func(change float64) []Repeat {
		level := change + noise.Night*r.NormFloat64()
		run := make([]Repeat, repeats)
		for i := range run {
			run[i] = Repeat{level + noise.Repeat*r.NormFloat64() + noise.Sampling*r.NormFloat64(),
				noise.Sampling * noise.Sampling}
		}
		return run
	}
	const trials = 1500
	passes, fails, df := 0, 0, 0.0
	for range trials {
		var before [][]Repeat
		for range history {
			before = append(before, night(0))
		}
		compare := func(change float64) Contrast {
			return CompareRuns(before[history-5:], [][]Repeat{night(change)}, before[:history-5], RunSpread{})
		}
		quiet, bad := compare(0), compare(1.5*threshold)
		df += quiet.DF / trials
		if quiet.Interval(0.9).Hi < threshold {
			passes++
		}
		if bad.P < level && bad.Difference > threshold {
			fails++
		}
	}
	p := NewGatePower(df)
	p.SE = noise.SE(5, repeats, 60)
	near(t, "PASS", p.Passes(0, threshold, 0.95), float64(passes)/trials, 0.04)
	near(t, "FAIL", p.Fails(1.5*threshold, threshold, level), float64(fails)/trials, 0.05)
	t.Logf("PASS %d, FAIL %d of %d; %.0f degrees of freedom", passes, fails, trials, df)
}

// The formulas are the shares of simulated comparisons that the gate passes and fails.
func TestGatePowerIsSimulated(t *testing.T) {
	trials := 20_000
	r := rand.New(rand.NewPCG(21, 2))
	for _, c := range []struct{ se, df, change, threshold, level float64 }{
		{0.01, 4, 0, 0.03, 0.05}, {0.01, 12, 0, 0.03, 0.05 / 6}, {0.01, 60, 0.04, 0.03, 0.05 / 12},
		{0.02, 8, 0.06, 0.03, 0.05 / 2},
	} {
		p := NewGatePower(c.df)
		p.SE = c.se
		passes, fails := 0, 0
		t95, t2 := quantileOfT(0.95, c.df), quantileOfT(1-c.level/2, c.df)
		for range trials {
			squares := 0.0
			for range int(c.df) {
				squares += math.Pow(r.NormFloat64(), 2)
			}
			d, se := c.change+c.se*r.NormFloat64(), c.se*math.Sqrt(squares/c.df)
			if d+t95*se < c.threshold {
				passes++
			}
			if d/se > t2 && d > c.threshold {
				fails++
			}
		}
		near(t, "PASS", p.Passes(c.change, c.threshold, 0.95), float64(passes)/float64(trials), 0.015)
		near(t, "FAIL", p.Fails(c.change, c.threshold, c.level), float64(fails)/float64(trials), 0.015)
	}
	exact := NewGatePower(5)
	if exact.Passes(0, 0.01, 0.95) != 1 || exact.Fails(0.02, 0.01, 0.05) != 1 ||
		exact.Fails(0, 0.01, 0.05) != 0 {
		t.Error("without noise every verdict is certain")
	}
}
