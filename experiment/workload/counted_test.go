package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// gammaOf is a workload of gamma arrivals; burstiness 1 is Poisson.
func gammaOf(rate Rate, burstiness float64) Workload {
	w := arriving(Arrival{}, rate)
	if burstiness != 1 {
		w.Arrival.Process, w.Burstiness = gamma, burstiness
	}
	return w
}

// window is the window that the driver makes of a load: its bounds, and the arrivals in it.
func window(w Workload, l Load, seed uint64) (start, end time.Duration, in []time.Duration) {
	start, end = time.Duration(l.Warmup.Time), math.MaxInt64
	i := 0
	for at := range NewPlan(w, seed, "").For(l).Arrivals {
		if i == l.Warmup.Requests && i > 0 {
			start = max(start, at)
		}
		if i >= l.Warmup.Requests && l.Duration > 0 {
			end = start + time.Duration(l.Duration)
		}
		if len(in) == l.Requests && l.Requests > 0 {
			end = min(end, at)
		}
		if at >= end {
			break
		}
		if i >= l.Warmup.Requests && at >= start {
			in = append(in, at)
		}
		i++
	}
	return start, end, in
}

// Whatever ends warm-up and window, the window has exactly the load that was asked for.
func TestWindowsHaveTheRequestedLoad(t *testing.T) {
	s := func(x float64) Span { return Span(Seconds(x).Duration()) }
	for _, tt := range []struct {
		rate Rate
		load Load
		n    int
		took float64 // of the window, s
	}{
		{4, Load{Duration: s(60)}, 240, 60},
		{4, Load{Duration: s(60), Warmup: Extent{Time: s(10)}}, 240, 60},
		{4, Load{Duration: s(60), Warmup: Extent{Requests: 7}}, 240, 60},
		{4, Load{Requests: 100}, 100, 25},
		{4, Load{Requests: 100, Warmup: Extent{Time: s(3.3)}}, 100, 25},
		{4, Load{Requests: 100, Warmup: Extent{Requests: 30}}, 100, 25},
		{4, Load{Requests: 100, Duration: s(60)}, 100, 25},
		{4, Load{Requests: 1000, Duration: s(60), Warmup: Extent{Time: s(1)}}, 240, 60},
		{7.3, Load{Duration: s(11.7), Warmup: Extent{Time: s(0.05)}}, 85, 11.7}, // 85.41; no arrival in the warm-up
		{0.01, Load{Duration: s(10)}, 1, 10},
		{1e5, Load{Duration: s(0.3), Warmup: Extent{Time: s(0.1)}}, 30_000, 0.3},
	} {
		for _, burstiness := range []float64{1, 0.001, 0.5, 4, 1e6} {
			w := gammaOf(tt.rate, burstiness)
			if n, in := w.FixedArrivals(tt.load); n != tt.n || in != Seconds(tt.took).Duration() {
				t.Errorf("%v/s, %+v: %d arrivals in %v, want %d in %v s", tt.rate, tt.load, n, in, tt.n, tt.took)
			}
			for seed := range uint64(20) {
				start, end, in := window(w, tt.load, seed)
				if len(in) != tt.n || math.Abs((end-start).Seconds()-tt.took) > 2e-9 {
					t.Errorf("%v/s, burstiness %v, %+v, seed %d: %d arrivals in %v", tt.rate, burstiness, tt.load, seed, len(in), end-start)
				}
			}
		}
	}
	for name, w := range map[string]Workload{
		"constant": arriving(Arrival{Process: constant}, 4), "ramp": arriving(linear, 0), "closed loop": {}, "all at once": {Rate: Rate(math.Inf(1))},
	} {
		if n, in := w.FixedArrivals(Load{Duration: s(60)}); n != 0 || in != 0 {
			t.Errorf("%s: %d arrivals are fixed", name, n)
		}
	}
	talks := talking
	talks.Rate, talks.Arrival = 4, Arrival{}
	byTurns, _ := talks.FixedArrivals(Load{Requests: 100})
	if byTime, _ := talks.FixedArrivals(Load{Duration: s(60)}); byTurns != 0 || byTime != 240 {
		t.Errorf("%d conversations by a number of turns, %d by a duration; want 0, 240", byTurns, byTime)
	}
}

// Arrivals never go back, another seed has others, and the same seed the same.
func TestCountedArrivalsAreAFunctionOfTheSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := gammaOf(Rate(rapid.Float64Range(0.01, 1e4).Draw(t, "rate")), rapid.SampledFrom([]float64{1, 0.001, 0.1, 3, 1e6}).Draw(t, "burstiness"))
		l := Load{Requests: rapid.IntRange(0, 50).Draw(t, "requests")}
		if l.Requests == 0 || rapid.Bool().Draw(t, "both") {
			l.Duration = Span(rapid.Int64Range(1, 1e10).Draw(t, "duration"))
		}
		if l.Warmup.Requests = rapid.IntRange(0, 9).Draw(t, "warm-up"); l.Warmup.Requests == 0 {
			l.Warmup.Time = Span(rapid.Int64Range(0, 1e9).Draw(t, "warm-up time"))
		}
		seed := rapid.Uint64().Draw(t, "seed")
		take := func(seed uint64) (out []time.Duration) {
			for at := range NewPlan(w, seed, "").For(l).Arrivals {
				if out = append(out, at); len(out) == 200 {
					return out
				}
			}
			return out
		}
		at := take(seed)
		if !slices.IsSorted(at) || at[0] < 0 {
			t.Fatalf("%v: %v", l, at)
		}
		if !slices.Equal(at, take(seed)) || slices.Equal(at, take(seed+1)) {
			t.Fatalf("%v: not a function of the seed", l)
		}
		p := NewPlan(w, seed, "").For(l)
		for _, want := range at {
			if r := p.Next(); r.At != want {
				t.Fatalf("request %d at %v, want %v", r.Index, r.At, want)
			}
		}
	})
}

// Given their number, the arrivals keep their law: gaps, where they lie, and how their number varies inside
// the window.
func TestCountedArrivalsKeepTheirLaw(t *testing.T) {
	simulation(t)
	const seeds, rate = 800, 10
	for _, burstiness := range []float64{1, 0.5, 4} {
		for _, load := range []Load{{Duration: Span(40 * time.Second), Warmup: Extent{Time: Span(7 * time.Second)}}, {Requests: 400, Warmup: Extent{Requests: 9}}} {
			t.Run(fmt.Sprint(burstiness, load.Requests), func(t *testing.T) {
				w := gammaOf(rate, burstiness)
				over, firstHalf, index, places := 0, []float64{}, []float64{}, []float64{}
				for seed := range uint64(seeds) {
					start, end, in := window(w, load, seed)
					o := w.Observe(in, start, end)
					if o.Fix(); o.Gaps.Distance > o.Gaps.Limit {
						over++
					}
					half, _ := slices.BinarySearch(in, (start+end)/2)
					firstHalf = append(firstHalf, float64(half)/200)
					index = append(index, o.Dispersion[0].Index)
					places = append(places, float64(in[seed%400]-start)/float64(end-start))
				}
				if over > seeds/100+12 { // 4 standard errors above 1 %
					t.Errorf("gaps: %d of %d windows exceed the limit that 1 in 100 does", over, seeds)
				}
				if d := ksDistance(places, distuv.Uniform{Min: 0, Max: 1}.CDF); d > 1.63/math.Sqrt(seeds) {
					t.Errorf("arrivals lie unevenly in the window: KS distance %.3f", d)
				}
				mean, std := stat.MeanStdDev(firstHalf, nil)
				if want := processOf(&w).gapCV() / math.Sqrt(400); math.Abs(mean-1) > 0.01 || math.Abs(std/want-1) > 0.1 {
					t.Errorf("load of the first half: %.4f ± %.4f, want 1 ± %.4f", mean, std, want)
				}
				if mean := stat.Mean(index, nil); burstiness == 1 && math.Abs(mean-1) > 4*math.Sqrt(2.0/39/seeds) {
					t.Errorf("index of dispersion over seconds: %.4f, want 1", mean)
				}
			})
		}
	}
}
