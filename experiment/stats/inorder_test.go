package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bench/internal/loadgentest"
)

// with is n values, of which some, by turns, are 2 and the others 1.
func with(n, over int) []float64 {
	out := slices.Repeat([]float64{1}, n)
	for i := range over {
		out[i*n/over] = 2
	}
	return out
}

// Alone, requests are judged by MLPerf LoadGen's rule, at half of the risk of a two-sided interval.
func TestInOrderIsDecideForIndependentRequests(t *testing.T) {
	for _, n := range []int{60, 90, 120, 459, 662, 1000, 5000} {
		for _, over := range []int{0, 1, 2, 5, 20, 50, n / 2} {
			for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
				s := NewInOrder(with(n, over))
				s.Alone = true
				want := loadgentest.Decide(n, over, p, 0.99)
				if got := s.Decide(1.5, p, 0.98); got.Verdict != Verdict(want) {
					t.Errorf("%d of %d at p=%v: %+v, Decide says %s", over, n, p, got, want)
				}
			}
		}
	}
}

func TestInOrderIntervalIsTheBinomials(t *testing.T) {
	for _, n := range []int{60, 200, 1000} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(1 + i)
		}
		s := NewInOrder(values)
		s.Alone = true
		for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
			if got, want := s.Interval(p, 0.95), quantileInterval(ascending(values), p, 0.95); got != want {
				t.Errorf("n=%d p=%v: %v, want %v", n, p, got, want)
			}
		}
	}
}

// A limit passes if and only if it is not below the upper end, and fails below the lower end; the probability that the
// percentile is within it agrees, and no need is stated for what is decided.
func TestInOrderVerdictIsItsInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 400).Draw(t, "n")
		rho := rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "rho")
		values := lognormal(rho)(n, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		p := rapid.SampledFrom([]float64{0.5, 0.9, 0.95, 0.99}).Draw(t, "p")
		s, sorted := NewInOrder(values), slices.Sorted(slices.Values(values))
		s.Bounded, s.Alone = rapid.Bool().Draw(t, "bounded"), rapid.Bool().Draw(t, "alone")
		iv := s.Interval(p, 0.95)
		if iv.Lo > iv.Hi || quantile(s.sorted, p) > iv.Hi && n >= MinSamples(p, 0.95) && p > 0.5 {
			t.Fatalf("interval %v of %v", iv, quantile(s.sorted, p))
		}
		last := 0.0
		for _, limit := range sorted {
			d := s.Decide(limit, p, 0.95)
			if (d.Verdict == Pass) != (limit >= d.Interval.Hi) || (d.Verdict == Fail) != (limit < d.Interval.Lo) || d.Interval != iv && d.Verdict == Undecided {
				t.Fatalf("limit %v of %v: %+v", limit, iv, d)
			}
			if !(d.Within >= 0 && d.Within <= 1) || d.Need < 0 || d.Need > 0 && d.Verdict != Undecided {
				t.Fatalf("limit %v of %v: %+v", limit, iv, d)
			}
			if !math.IsInf(iv.Lo, 0) && !math.IsInf(iv.Hi, 0) && d.Within < last-1e-9 {
				t.Fatalf("a higher limit is met with p = %v, the lower one with %v", d.Within, last)
			}
			last = d.Within
		}
	})
}

// A window that is short against the dependence decides nothing, however clear it looks.
func TestInOrderShortWindow(t *testing.T) {
	ramp := make([]float64, 500)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	for _, limit := range []float64{1, 250, 600, 6000} {
		if d := NewInOrder(ramp).Decide(limit, 0.95, 0.95); d.Verdict != Undecided {
			t.Errorf("limit %v of a ramp: %+v", limit, d)
		}
	}
	if d := NewInOrder(nil).Decide(1, 0.95, 0.95); d.Verdict != Undecided {
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
	if d := NewInOrder(single).Decide(0.5, 0.95, 0.95); d.Verdict != Pass {
		t.Errorf("single failures: %+v", d)
	}
	if d := NewInOrder(bursts).Decide(0.5, 0.95, 0.95); d.Verdict != Undecided {
		t.Errorf("bursts of 40: %+v", d)
	}
}

// Ten times the limit is over it whatever the order says, and a tenth of it within.
func TestInOrderFar(t *testing.T) {
	for _, bounded := range []bool{false, true} {
		s := NewInOrder(lognormal(0.9)(200, rand.New(rand.NewPCG(54, 1))))
		s.Bounded = bounded
		if d := s.Decide(0.02, 0.95, 0.95); d.Verdict != Fail {
			t.Errorf("limit far below: %+v", d)
		}
		if d := s.Decide(40, 0.95, 0.95); d.Verdict != Pass {
			t.Errorf("limit far above: %+v", d)
		}
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
		name       string
		draw       func(int, *rand.Rand) []float64
		p          float64
		limit, far float64
		n          int
		bounded    bool
	}{
		{"lognormal", lognormal(0), 0.99, math.Exp(0.3 * 2.3263), 1.5, 200, false},
		{"lognormal", lognormal(0), 0.95, math.Exp(0.3 * 1.6449), 1.1, 400, false},
		{"AR(1) 0.9", lognormal(0.9), 0.95, math.Exp(0.3 * 1.6449), 1.5, 500, false},
		{"AR(1) 0.9, as of a closed loop", lognormal(0.9), 0.95, math.Exp(0.3 * 1.6449), 1.1, 1000, true},
		{"M/M/1 70 %", singleServer(0.7, (*rand.Rand).ExpFloat64), 0.95, math.Log(20) / 0.3, 1.5, 2000, false},
		{"M/M/1 50 %", singleServer(0.5, (*rand.Rand).ExpFloat64), 0.95, math.Log(20) / 0.5, 2, 150, false},
	} {
		limit := c.limit * c.far
		window := func(n int) *InOrder {
			s := NewInOrder(c.draw(n, rng))
			s.Bounded = c.bounded
			return s
		}
		var stated []float64
		for range 100 {
			if d := window(c.n).Decide(limit, c.p, 0.95); d.Verdict == Undecided && d.Need > 0 {
				stated = append(stated, float64(c.n+d.Need))
			}
		}
		slices.Sort(stated)
		half := func(n int) bool { // whether half of the windows decide
			const windows = 60
			decided, open := 0, 0
			for decided < windows/2 && open <= windows/2 {
				if window(n).Verdict(limit, c.p, 0.95).Verdict != Undecided {
					decided++
				} else {
					open++
				}
			}
			return decided == windows/2
		}
		low, high := c.n, 2*c.n
		for !half(high) {
			low, high = high, 2*high
		}
		for high > low*11/10 {
			if mid := int(math.Sqrt(float64(low) * float64(high))); half(mid) {
				high = mid
			} else {
				low = mid
			}
		}
		said := Quantile(stated, 0.5)
		t.Logf("%s, p=%v, limit × %.2f: after %d requests needs %.0f in all (median of %d), takes %d", c.name, c.p, c.far, c.n, said, len(stated), high)
		if ratio := said / float64(high); ratio < 0.5 || ratio > 2 {
			t.Errorf("%s, p=%v, limit × %.2f: says %.0f, takes %d", c.name, c.p, c.far, said, high)
		}
	}
}

// What a verdict needs falls if data come that agree: the same window once more.
func TestNeedFalls(t *testing.T) {
	simulation(t)
	rng := rand.New(rand.NewPCG(53, 1))
	exponential := singleServer(0.5, (*rand.Rand).ExpFloat64)
	all, grew := 0, 0
	for _, c := range []struct {
		name    string
		draw    func(int, *rand.Rand) []float64
		p       float64
		limit   float64
		n       int
		bounded bool
	}{
		{"lognormal", lognormal(0), 0.99, math.Exp(0.3*2.3263) * 1.3, 200, false},
		{"lognormal", lognormal(0), 0.95, math.Exp(0.3*1.6449) * 1.1, 400, false},
		{"AR(1) 0.9", lognormal(0.9), 0.95, math.Exp(0.3*1.6449) * 1.3, 500, false},
		{"AR(1) 0.9, as of a closed loop", lognormal(0.9), 0.95, math.Exp(0.3*1.6449) * 1.1, 1000, true},
		{"M/M/1 70 %", singleServer(0.7, (*rand.Rand).ExpFloat64), 0.95, math.Log(20) / 0.3 * 1.5, 1000, false},
		{"M/M/1 50 %", exponential, 0.95, math.Log(20) / 0.5 * 1.5, 300, false},
		{"M/M/1 50 %, beyond", exponential, 0.95, math.Log(20) / 0.5 / 1.5, 300, false},
	} {
		for range 100 {
			window := c.draw(c.n, rng)
			decide := func(values []float64) Decision {
				s := NewInOrder(values)
				s.Bounded = c.bounded
				return s.Decide(c.limit, c.p, 0.95)
			}
			once, twice := decide(window), decide(slices.Concat(window, window))
			if once.Need == 0 {
				continue
			}
			all++
			if twice.Need > once.Need {
				grew++
			}
			if twice.Verdict == Undecided && twice.Need == 0 {
				t.Errorf("%s: needs %d, and twice as many need none but are undecided", c.name, once.Need)
			}
		}
	}
	t.Logf("%d of %d grew", grew, all)
	if all < 100 || grew > all/20 {
		t.Errorf("of %d windows %d need more if they are seen twice", all, grew)
	}
}
