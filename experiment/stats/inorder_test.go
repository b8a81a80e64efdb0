package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// alike is n values without any dependence to see: equal ones, of which the last are above 1 by turns.
func alike(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// Without dependence it is MLPerf LoadGen's rule.
func TestInOrderIsDecideForIndependentRequests(t *testing.T) {
	for _, n := range []int{60, 90, 120, 459, 662, 1000, 5000} {
		s := NewInOrder(alike(n))
		for _, over := range []int{0, 1, 2, 5, 20, 50, n / 2} {
			for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
				want, need := Decide(n, over, p, 0.99)
				got := s.Decide(float64(over), p, 0.99)
				if got.Verdict != want || got.Need != need {
					t.Errorf("%d of %d at p=%v: %+v, Decide says %s, %d", over, n, p, got, want, need)
				}
			}
		}
	}
}

// The interval's ends are the order statistics of the exact binomial when there is no dependence.
func TestInOrderIntervalIsTheBinomials(t *testing.T) {
	for _, n := range []int{60, 200, 1000} {
		s, sorted := NewInOrder(alike(n)), make([]float64, n)
		for i := range sorted {
			sorted[i] = float64(i)
		}
		for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
			if got, want := s.interval(ascending(sorted), p, 0.95), quantileInterval(ascending(sorted), p, 0.95); got != want {
				t.Errorf("n=%d p=%v: %v, want %v", n, p, got, want)
			}
		}
	}
}

// A limit passes if and only if it is not below the upper end at the same risk, and fails below the lower end.
func TestInOrderVerdictIsItsInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 400).Draw(t, "n")
		rho := rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "rho")
		values := autoregressive(n, rho, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		p := rapid.SampledFrom([]float64{0.5, 0.9, 0.95, 0.99}).Draw(t, "p")
		s, sorted := NewInOrder(values), slices.Sorted(slices.Values(values))
		iv := s.interval(ascending(sorted), p, 0.98)
		last := Fail
		for i, limit := range sorted {
			d := s.Decide(float64(n-1-i), p, 0.99)
			if (d.Verdict == Pass) != (limit >= iv.Hi) || (d.Verdict == Fail) != (limit < iv.Lo) {
				t.Fatalf("limit %v of %v: %s", limit, iv, d.Verdict)
			}
			if last == Pass && d.Verdict != Pass || last == Undecided && d.Verdict == Fail {
				t.Fatalf("a higher limit is %s after %s", d.Verdict, last)
			}
			if d.Effective > float64(n)+1e-6 || d.Effective <= 0 || d.Need < 0 || (d.Need > 0) && d.Verdict != Undecided {
				t.Fatalf("%+v of %d", d, n)
			}
			last = d.Verdict
		}
	})
}

// A window that is short against the dependence decides nothing, however clear it looks.
func TestInOrderShortWindow(t *testing.T) {
	ramp := make([]float64, 500)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	for _, over := range []float64{0, 250, 500} {
		s := NewInOrder(ramp)
		if d := s.Decide(over, 0.95, 0.99); d.Verdict != Undecided || s.weight(0.95).fewest <= float64(len(ramp)) {
			t.Errorf("%v of a ramp over the limit: %+v", over, d)
		}
	}
	if d := NewInOrder(nil).Decide(0, 0.95, 0.99); d.Verdict != Undecided {
		t.Errorf("nothing: %+v", d)
	}
}

// Requests that fail in bursts are worth fewer than single ones.
func TestInOrderBursts(t *testing.T) {
	single, bursts := make([]float64, 4000), make([]float64, 4000)
	for i, j := range rand.New(rand.NewPCG(53, 1)).Perm(4000) {
		if j < 160 { // 4 %
			single[i] = 1
		}
		if i%1000 < 40 {
			bursts[i] = 1
		}
	}
	if d := NewInOrder(single).Decide(160, 0.95, 0.99); d.Verdict != Pass {
		t.Errorf("single failures: %+v", d)
	}
	if d := NewInOrder(bursts).Decide(160, 0.95, 0.99); d.Verdict != Undecided || d.Effective > 400 {
		t.Errorf("bursts of 40: %+v", d)
	}
}

// The distribution of a Poisson number of clusters with geometric sizes, held against drawing it.
func TestClusteredAtMost(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	for _, c := range []struct{ mean, dispersion float64 }{{5, 1.5}, {5, 9}, {40, 3}, {200, 20}} {
		stay := (c.dispersion - 1) / (c.dispersion + 1)
		const trials = 20_000
		counts := make([]int, trials)
		for i := range counts {
			for clusters := poissonNumber(c.mean*(1-stay), rng); clusters > 0; clusters-- {
				for counts[i]++; rng.Float64() < stay; counts[i]++ {
				}
			}
		}
		slices.Sort(counts)
		for _, share := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
			k := counts[int(share*trials)]
			below := 0
			for _, x := range counts {
				if x <= k {
					below++
				}
			}
			want := float64(below) / trials
			if got := clusteredAtMost(k, c.mean, c.dispersion); math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/trials)+1e-3 {
				t.Errorf("mean %v, dispersion %v: P(K ≤ %d) = %.4f, drawn %.4f", c.mean, c.dispersion, k, got, want)
			}
		}
	}
	if got := clusteredAtMost(0, 10, 4); math.Abs(got-math.Exp(-10*2.0/5)) > 1e-15 {
		t.Errorf("none at all: %v", got)
	}
	if got := clusteredAtMost(20_000, 1e4, 30); got < 0.999 || got > 1 {
		t.Errorf("twice a large mean: %v", got)
	}
	if got := clusteredAtMost(-1, 3, 2); got != 0 {
		t.Errorf("fewer than none: %v", got)
	}
}

func poissonNumber(mean float64, rng *rand.Rand) (n int) {
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		n++
	}
	return n
}

// "needs N more" is within a factor of two of what it then takes: the median of the estimates against the
// number at which half of the windows decide.
func TestNeedIsTrue(t *testing.T) {
	simulation(t)
	rng := rand.New(rand.NewPCG(52, 1))
	for _, c := range []struct {
		source simulated
		p, far float64
		n      int
	}{
		{lognormal(0), 0.99, 1.5, 200}, {lognormal(0), 0.95, 1.1, 400}, {lognormal(0.9), 0.95, 1.5, 500},
		{exponentialQueue(0.7), 0.95, 1.5, 2000}, {exponentialQueue(0.7), 0.95, 1 / 1.5, 500}, {exponentialQueue(0.5), 0.95, 2, 300},
	} {
		limit := c.source.quantile(c.p, nil) * c.far
		decide := func(n int) Decision {
			x := c.source.draw(n, rng)
			over := 0.0
			for _, y := range x {
				if y > limit {
					over++
				}
			}
			return NewInOrder(x).Decide(over, c.p, 0.99)
		}
		var stated []float64
		for range 100 {
			if d := decide(c.n); d.Verdict == Undecided && d.Need > 0 {
				stated = append(stated, float64(c.n+d.Need))
			}
		}
		slices.Sort(stated)
		low, high := c.n, 200_000
		for high > low*11/10 {
			mid, decided := int(math.Sqrt(float64(low)*float64(high))), 0
			for range 60 {
				if decide(mid).Verdict != Undecided {
					decided++
				}
			}
			if decided < 30 {
				low = mid
			} else {
				high = mid
			}
		}
		said := Quantile(stated, 0.5)
		t.Logf("%s, p=%v, limit × %.2f: after %d requests needs %.0f in all (median of %d), takes %d", c.source.name, c.p, c.far, c.n, said, len(stated), high)
		if ratio := said / float64(high); ratio < 0.5 || ratio > 2 {
			t.Errorf("%s, p=%v, limit × %.2f: says %.0f, takes %d", c.source.name, c.p, c.far, said, high)
		}
	}
}
