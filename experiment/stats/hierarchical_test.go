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

func TestCompareKnown(t *testing.T) {
	// scipy.stats.ttest_ind(b, a) and its confidence_interval(0.95)
	c := Compare(repeatsOf(10.1, 9.8, 10.4, 10.0, 9.9), repeatsOf(10.6, 10.9, 10.3, 10.7, 11.0))
	near(t, "difference", c.Difference, 0.66, 1e-12)
	near(t, "p", c.P, 0.003321245056392719, 1e-9)
	iv := c.Interval(0.95)
	near(t, "lower end", iv.Lo, 0.2910393383673, 1e-9)
	near(t, "upper end", iv.Hi, 1.0289606616327, 1e-9)
	if c.DF != 8 {
		t.Errorf("%d degrees of freedom, want 8", c.DF)
	}
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Repeats that lie close by accident don't make a difference certain that chance inside of them explains.
func TestCompareHoldsTheFloor(t *testing.T) {
	a := []Repeat{{100, 1}, {100.001, 1}}
	b := []Repeat{{100.5, 1}, {100.501, 1}}
	if c := Compare(a, b); c.P < 0.3 {
		t.Errorf("p=%v with the floor", c.P)
	}
	for i := range a {
		a[i].Within, b[i].Within = 0, 0
	}
	if c := Compare(a, b); c.P > 1e-3 {
		t.Errorf("p=%v without it: the test has lost its teeth", c.P)
	}
}

func TestCompareWithoutRepeats(t *testing.T) {
	c := Compare([]Repeat{{1, 0.01}}, []Repeat{{2, 0.01}})
	if !math.IsNaN(c.P) || !math.IsInf(c.Detectable(0.05, 0.8), 1) {
		t.Errorf("one repeat a side gives p=%v", c.P)
	}
	near(t, "standard error", c.SE, math.Sqrt(0.02), 1e-12)
	if one := Compare(repeatsOf(1, 1.1, 0.9), repeatsOf(2)); one.DF != 2 || math.IsNaN(one.P) {
		t.Errorf("one repeat beside three: %+v", one)
	}
}

// Over many A/A trials the share of differences found is the level, whatever the variance within repeats.
func TestCompareKeepsItsLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for _, n := range []int{2, 3, 5} {
		called := 0
		const trials = 4000
		for range trials {
			var a, b []Repeat
			for range n {
				a, b = append(a, Repeat{Value: r.NormFloat64()}), append(b, Repeat{Value: r.NormFloat64()})
			}
			if Compare(a, b).P < 0.05 {
				called++
			}
		}
		if share := float64(called) / trials; share < 0.04 || share > 0.06 { // ± 3 standard errors
			t.Errorf("%d repeats a side: %.3f of A/A trials called different, want 0.05", n, share)
		}
	}
}

// Detectable keeps its promise: a difference of this size shows in the share of trials that was asked for.
func TestDetectableIsDetected(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	const n, trials = 5, 4000
	// The standard error is known here, so that the promise is exact but for the t quantiles' approximation
	// of the noncentral t.
	size := Contrast{DF: 2*n - 2, SE: math.Sqrt(2.0 / n)}.Detectable(0.05, 0.8)
	found := 0
	for range trials {
		var a, b []Repeat
		for range n {
			a, b = append(a, Repeat{Value: r.NormFloat64()}), append(b, Repeat{Value: r.NormFloat64() + size})
		}
		if Compare(a, b).P < 0.05 {
			found++
		}
	}
	if share := float64(found) / trials; share < 0.77 || share > 0.86 {
		t.Errorf("found in %.3f of trials, want 0.8", share)
	}
	if got := RepeatsFor(size, 1, 0.05, 0.8); got != n {
		t.Errorf("%d repeats for the difference that %d detect", got, n)
	}
	if got := RepeatsFor(1e-9, 1, 0.05, 0.8); got != 0 {
		t.Errorf("%d repeats for a difference that nobody can see", got)
	}
}
