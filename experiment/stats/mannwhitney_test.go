package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMannWhitneyKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []float64
		u, p float64
	}{
		// scipy.stats.mannwhitneyu(method="exact")
		{"apart, 3 and 3", []float64{1, 2, 3}, []float64{4, 5, 6}, 0, 0.1},
		{"apart, 5 and 5", []float64{6, 7, 8, 9, 10}, []float64{1, 2, 3, 4, 5}, 25, 2.0 / 252},
		{"mixed", []float64{1.1, 2.3, 3.8, 5.2, 7.9}, []float64{2.9, 4.4, 6.1, 8.3, 9.7, 11.2}, 6, 0.12554112554112554},
		// scipy.stats.permutation_test of the rank sum: the exact test of scipy does not know ties
		{"ties", []float64{1, 2, 2, 3}, []float64{2, 3, 3, 4, 4}, 3, 0.15873015873015872},
		{"all the same", []float64{5, 5}, []float64{5, 5, 5}, 3, 1},
	} {
		u, p := MannWhitney(c.x, c.y)
		if u != c.u || math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%s: u=%v p=%v, want %v and %v", c.name, u, p, c.u, c.p)
		}
	}
	if _, p := MannWhitney(nil, []float64{1}); !math.IsNaN(p) {
		t.Errorf("an empty sample gives p=%v, want NaN", p)
	}
}

// By the definition: every way to deal the pooled values out.
func TestMannWhitneyIsThePermutationTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(0, 5)
		if rapid.Bool().Draw(t, "ties") {
			value = rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) })
		}
		x := rapid.SliceOfN(value, 1, 5).Draw(t, "x")
		y := rapid.SliceOfN(value, 1, 5).Draw(t, "y")
		u, p := MannWhitney(x, y)
		if want := pairsAbove(x, y); u != want {
			t.Fatalf("u=%v, want %v", u, want)
		}
		if want := dealt(x, y); math.Abs(p-want) > 1e-12 {
			t.Fatalf("p=%v, by all deals %v", p, want)
		}
		_, turned := MannWhitney(y, x)
		if math.Abs(p-turned) > 1e-12 {
			t.Fatalf("p=%v one way and %v the other", p, turned)
		}
		if p < LeastRankP(len(x), len(y))-1e-12 {
			t.Fatalf("p=%v is below the least, %v", p, LeastRankP(len(x), len(y)))
		}
	})
}

func pairsAbove(x, y []float64) (u float64) {
	for _, a := range x {
		for _, b := range y {
			switch {
			case a > b:
				u++
			case a == b:
				u += 0.5
			}
		}
	}
	return u
}

func dealt(x, y []float64) float64 {
	all := append(slices.Clone(x), y...)
	seen := pairsAbove(x, y)
	var deals, below, above float64
	for bits := range 1 << len(all) {
		var a, b []float64
		for i, v := range all {
			if bits>>i&1 == 1 {
				a = append(a, v)
			} else {
				b = append(b, v)
			}
		}
		if len(a) != len(x) {
			continue
		}
		deals++
		u := pairsAbove(a, b)
		if u <= seen {
			below++
		}
		if u >= seen {
			above++
		}
	}
	return min(1, 2*min(below, above)/deals)
}

// Above the exact range the approximation goes on where the exact one would be.
func TestMannWhitneyOfMany(t *testing.T) {
	var x, y []float64
	for i := range 60 {
		x, y = append(x, float64(i)), append(y, float64(i)+7.3)
	}
	_, p := MannWhitney(x, y)
	if want := 0.0265765; math.Abs(p-want) > 0.0005 { // scipy.stats.mannwhitneyu(method="exact")
		t.Errorf("p=%v, want about %v", p, want)
	}
}

func TestLeastRankP(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 3: 0.1, 4: 2.0 / 70, 5: 2.0 / 252, 6: 2.0 / 924} {
		if got := LeastRankP(n, n); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d against %d: %v, want %v", n, n, got, want)
		}
	}
}

func TestHodgesLehmann(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5}
	y := []float64{11, 12, 13, 14, 15}
	shift, within := HodgesLehmann(x, y, 0.95)
	// R: wilcox.test(y, x, conf.int = TRUE, exact = TRUE) gives 10, from the 3rd smallest difference to the
	// 3rd largest
	if shift != 10 || within != (Interval{7, 13}) {
		t.Errorf("%v %v, want 10 from 7 to 13", shift, within)
	}
	if _, within := HodgesLehmann(x[:3], y[:3], 0.95); !math.IsInf(within.Lo, -1) || !math.IsInf(within.Hi, 1) {
		t.Errorf("3 against 3 give the interval %v: no such test reaches 5 %%", within)
	}
}

// The interval holds 0 exactly where the test does not refuse it, without ties.
func TestHodgesLehmannGoesWithTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfNDistinct(rapid.Float64Range(0, 1), 4, 7, rapid.ID).Draw(t, "x")
		y := rapid.SliceOfNDistinct(rapid.Float64Range(0.3, 1.6), 4, 7, rapid.ID).Draw(t, "y")
		for _, v := range x {
			if slices.Contains(y, v) {
				t.Skip("a tie")
			}
		}
		_, p := MannWhitney(x, y)
		_, within := HodgesLehmann(x, y, 0.95)
		if holds := within.Lo <= 0 && within.Hi >= 0; holds != (p > 0.05) {
			t.Fatalf("p=%v but the interval is %v", p, within)
		}
	})
}
