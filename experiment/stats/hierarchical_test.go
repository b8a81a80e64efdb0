package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func repeatsOf(xs ...float64) (out []Repeat) {
	for _, x := range xs {
		out = append(out, Repeat{Value: x})
	}
	return out
}

// runsOf are runs of one repeat each.
func runsOf(xs ...float64) (out [][]Repeat) {
	for _, x := range xs {
		out = append(out, repeatsOf(x))
	}
	return out
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

var assumed = RunSpread{SD: 0.02, DF: 4}

// Several runs on both sides are Student's test on their means.
func TestCompareRunsIsStudent(t *testing.T) {
	// scipy.stats.ttest_ind(b, a) and its confidence_interval(0.95)
	c := CompareRuns(runsOf(10.1, 9.8, 10.4, 10.0, 9.9), runsOf(10.6, 10.9, 10.3, 10.7, 11.0), nil, assumed)
	near(t, "difference", c.Difference, 0.66, 1e-12)
	near(t, "p", c.P, 0.003321245056392719, 1e-9)
	iv := c.Interval(0.95)
	near(t, "lower end", iv.Lo, 0.2910393383673, 1e-9)
	near(t, "upper end", iv.Hi, 1.0289606616327, 1e-9)
	if c.DF != 8 || c.Source != SpreadOfRuns {
		t.Errorf("%v degrees of freedom of %s, want 8", c.DF, c.Source)
	}
}

// The other cases, computed with numpy and scipy from the doc comment's formulas.
func TestCompareRunsKnown(t *testing.T) {
	nights := [][]Repeat{repeatsOf(10.0, 10.2), repeatsOf(9.7, 9.9), repeatsOf(10.3, 10.5), repeatsOf(10.1, 9.9), repeatsOf(9.8, 10.0)}
	c := CompareRuns(nights, [][]Repeat{repeatsOf(10.9, 11.1)}, nil, assumed)
	near(t, "p of one night after five", c.P, 0.01899477224926995, 1e-9)
	near(t, "half of its interval", c.Interval(0.95).Hi-c.Difference, 0.7001928134810033, 1e-9)

	one, other := [][]Repeat{repeatsOf(1, 1.01, 0.99, 1, 1)}, [][]Repeat{repeatsOf(1.05, 1.06, 1.04, 1.05, 1.05)}
	c = CompareRuns(one, other, nil, assumed)
	near(t, "standard error of single runs", c.se, 0.02863564212655271, 1e-12)
	near(t, "p of single runs", c.P, 0.1557284554728045, 1e-9)
	if c.Source != SpreadAssumed {
		t.Errorf("spread of %s", c.Source)
	}

	c = CompareRuns(runsOf(1.05, 1.3), runsOf(1.6), runsOf(1, 1.2, 0.9, 1.1, 1.05, 1.3), RunSpread{})
	near(t, "spread with earlier runs", c.Spread, math.Sqrt(0.01675), 1e-12)
	near(t, "p with earlier runs", c.P, 0.04375503022478077, 1e-9)

	c = ComparePairs(repeatsOf(10.1, 9.8, 10.4, 10.0, 9.9, 10.2), repeatsOf(10.4, 10.0, 10.9, 10.2, 10.3, 10.5)) // scipy.stats.ttest_rel
	near(t, "p of pairs", c.P, 0.0011716193960545625, 1e-9)
	near(t, "lower end of pairs", c.Interval(0.95).Lo, 0.193982897496169, 1e-9)
}

// Runs that lie close by accident don't make a difference certain that chance inside of them explains.
func TestCompareRunsHoldsTheFloor(t *testing.T) {
	a := [][]Repeat{{{100, 1}}, {{100.001, 1}}, {{100, 1}}}
	b := [][]Repeat{{{100.5, 1}}, {{100.501, 1}}, {{100.5, 1}}}
	if c := CompareRuns(a, b, nil, RunSpread{}); c.P < 0.3 {
		t.Errorf("p=%v with the floor", c.P)
	}
	for i := range a {
		a[i][0].Within, b[i][0].Within = 0, 0
	}
	if c := CompareRuns(a, b, nil, RunSpread{}); c.P > 1e-3 {
		t.Errorf("p=%v without it: the test has lost its teeth", c.P)
	}
}

// A night whose repeats scatter ten times as far as earlier ones has its own standard error.
func TestNoisyNight(t *testing.T) {
	nights := [][]Repeat{repeatsOf(10.0, 10.1, 9.9), repeatsOf(10.1, 10.0, 10.05), repeatsOf(9.95, 10, 10.05), repeatsOf(10, 10.1, 10.05), repeatsOf(10.05, 9.95, 10)}
	calm := CompareRuns(nights, [][]Repeat{repeatsOf(10.45, 10.5, 10.55)}, nil, assumed)
	noisy := CompareRuns(nights, [][]Repeat{repeatsOf(10.0, 10.5, 11)}, nil, assumed)
	if calm.P > 0.01 || noisy.P < 0.1 || noisy.Difference != calm.Difference {
		t.Errorf("p=%v of a calm night, %v of a noisy one", calm.P, noisy.P)
	}
}

// A step that is over does not widen the spread for as long as the history has it.
func TestStepOfThePast(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	var flat, stepped []float64
	for i := range 40 {
		x := 0.01 * r.NormFloat64()
		flat = append(flat, x)
		if i < 20 {
			x += 0.3
		}
		stepped = append(stepped, x)
	}
	spread := func(xs []float64) float64 {
		return CompareRuns(runsOf(xs[35:]...), runsOf(0), runsOf(xs...), assumed).Spread
	}
	if a, b := spread(flat), spread(stepped); b > 1.5*a {
		t.Errorf("spread %v with a step, %v without", b, a)
	}
}

// Over many A/A trials the share of differences found is at most the level, whatever runs and repeats differ by.
func TestCompareRunsKeepsItsLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for _, s := range []struct {
		base, changed, earlier, repeats int
		between, within                 float64
	}{{5, 1, 0, 5, 0.02, 0.005}, {5, 1, 20, 3, 0.01, 0.01}, {3, 3, 0, 2, 0.1, 0.01}, {1, 1, 0, 5, 0.02, 0.005}, {2, 1, 0, 3, 0.03, 0.01}, {5, 1, 0, 1, 0.02, 0}} {
		const trials = 4000
		called := 0
		for range trials {
			run := func() (out []Repeat) {
				night := s.between * r.NormFloat64()
				for range s.repeats {
					out = append(out, Repeat{Value: night + s.within*r.NormFloat64()})
				}
				return out
			}
			runs := func(n int) (out [][]Repeat) {
				for range n {
					out = append(out, run())
				}
				return out
			}
			base := runs(s.base)
			nights := append(runs(s.earlier), base...)
			if s.earlier == 0 {
				nights = nil
			}
			if CompareRuns(base, runs(s.changed), nights, assumed).P < 0.05 {
				called++
			}
		}
		if share := float64(called) / trials; share > 0.061 { // 3 standard errors
			t.Errorf("%+v: %.3f of A/A trials called different, want at most 0.05", s, share)
		}
	}
}

// Detectable keeps its promise: a difference of this size shows in the share of trials that was asked for.
func TestDetectableIsDetected(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	const n, trials = 5, 4000
	// The standard error is known here, so that the promise is exact but for the t quantiles' approximation
	// of the noncentral t.
	size := Contrast{DF: 2*n - 2, se: math.Sqrt(2.0 / n)}.Detectable(0.05, 0.8)
	found := 0
	for range trials {
		var a, b []float64
		for range n {
			a, b = append(a, r.NormFloat64()), append(b, r.NormFloat64()+size)
		}
		if CompareRuns(runsOf(a...), runsOf(b...), nil, RunSpread{}).P < 0.05 {
			found++
		}
	}
	if share := float64(found) / trials; share < 0.77 || share > 0.86 {
		t.Errorf("found in %.3f of trials, want 0.8", share)
	}
	if got := RunsFor(size, 1, 0.05, 0.8); got != n {
		t.Errorf("%d runs for the difference that %d detect", got, n)
	}
	if got := PairsFor(size, math.Sqrt2, 0.05, 0.8); got != n+1 {
		t.Errorf("%d pairs for the difference that %d runs detect", got, n)
	}
	if got := RunsFor(1e-9, 1, 0.05, 0.8); got != 0 {
		t.Errorf("%d runs for a difference that nothing can show", got)
	}
}
