package workload

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Poisson arrivals and the like have the dispersion, the gaps and the rate of their process, whatever the
// profile of the rate.
func TestArrivalsAreTheirProcess(t *testing.T) {
	simulation(t)
	tests := []struct {
		name string
		w    Workload
	}{
		{"poisson", arriving(Arrival{}, 20)},
		{"gamma", func() Workload { w := arriving(Arrival{Process: "gamma"}, 20); w.Burstiness = 0.5; return w }()},
		{"ramp", arriving(Arrival{Process: "ramp", From: 5, To: 35, Over: 1000}, 0)},
		{"steps", arriving(Arrival{Process: "step", Steps: []Step{{10, 300}, {0, 50}, {30, 300}}, Repeat: true}, 0)},
		{"sinusoid", arriving(Arrival{Process: "sinusoid", Amplitude: 0.9, Period: 120}, 20)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const to = 30 * 150 * time.Second
			o := tt.w.Observe(times(tt.w, 5, 250_000), 0, to)
			if o.Arrivals > 240_000 {
				t.Fatalf("%d arrivals: the window is not full", o.Arrivals)
			}
			if math.Abs(o.RatePerS/o.AskedPerS-1) > 4*o.GapCVAsked/math.Sqrt(float64(o.Arrivals)) {
				t.Errorf("%v/s of %v/s", o.RatePerS, o.AskedPerS)
			}
			if math.Abs(o.GapCV/o.GapCVAsked-1) > 0.02 {
				t.Errorf("cv of gaps %v, asked %v", o.GapCV, o.GapCVAsked)
			}
			if o.Gaps == nil || o.Gaps.Distance > o.Gaps.Limit {
				t.Errorf("gaps %+v", o.Gaps)
			}
			if len(o.Dispersion) != 2 || o.Dispersion[0].Windows != 4500 || o.Dispersion[1].Windows != 150 {
				t.Fatalf("dispersion %+v", o.Dispersion)
			}
			for _, d := range o.Dispersion {
				if d.Expected == nil {
					continue
				}
				if math.Abs(d.Index-*d.Expected) > 4*d.StdError || d.WindowS == 1 && (d.Index < 0.9 || d.Index > 1.15) {
					t.Errorf("windows of %v s: index %v", d.WindowS, d.Index)
				}
			}
		})
	}
}

// The check that Poisson arrivals are held to: within 0.9–1.15 at both windows, over many seeds.
func TestPoissonDispersion(t *testing.T) {
	simulation(t)
	w := arriving(Arrival{}, 10)
	sum := map[float64]float64{}
	const seeds = 20
	for seed := range uint64(seeds) {
		for _, d := range w.Observe(times(w, seed, 100_000), 0, 9000*time.Second).Dispersion {
			sum[d.WindowS] += d.Index / seeds
		}
	}
	for window, index := range sum {
		if index < 0.9 || index > 1.15 {
			t.Errorf("windows of %v s: index of dispersion %v", window, index)
		}
	}
}

func TestConstantArrivalsAreConstant(t *testing.T) {
	for _, w := range []Workload{
		arriving(Arrival{Process: "constant"}, 7.3), arriving(Arrival{Process: "ramp", From: 1, To: 15, Over: 100, Gaps: "constant"}, 0),
		arriving(Arrival{Process: "sinusoid", Amplitude: 0.9, Period: 60, Gaps: "constant"}, 7),
	} {
		o := w.Observe(times(w, 1, 10_000), 0, 600*time.Second)
		if o.GapCV > 0.01 || o.GapCVAsked != 0 || o.Gaps != nil || math.Abs(o.RatePerS/o.AskedPerS-1) > 0.001 {
			t.Errorf("%v: %+v", &w.Arrival, o)
		}
		for _, d := range o.Dispersion {
			if d.Index > 0.26/d.WindowS || math.Abs(d.Index-*d.Expected) > 0.15 {
				t.Errorf("%v: %+v, expected %v", &w.Arrival, d, *d.Expected)
			}
		}
	}
}

func TestBurstsAreBursts(t *testing.T) {
	even := arriving(volleys, 10)
	o := even.Observe(times(even, 1, 20_000), 0, 1800*time.Second)
	if math.Abs(o.GapCV-math.Sqrt(19)) > 0.02 || math.Abs(o.GapCVAsked-math.Sqrt(19)) > 1e-12 {
		t.Errorf("cv of gaps %v, asked %v, by hand √19", o.GapCV, o.GapCVAsked)
	}
	// Every other second has 20 arrivals, the others none: variance 100, mean 10. Every 30 s have 15 bursts.
	if d := o.Dispersion; math.Abs(d[0].Index-10) > 0.1 || *d[0].Expected != 10 || d[1].Index != 0 || *d[1].Expected != 0 {
		t.Errorf("%+v", d)
	}
	random := volleys
	random.Gaps = "poisson"
	w := arriving(random, 10)
	for _, d := range w.Observe(times(w, 1, 400_000), 0, 36000*time.Second).Dispersion {
		if *d.Expected != 20 || math.Abs(d.Index/20-1) > 5*d.StdError {
			t.Errorf("bursts at random: %+v", d)
		}
	}
}

// What is not as asked shows: a client that merges arrivals into its own ticks, or one that is slow.
func TestWrongArrivalsShow(t *testing.T) {
	w := arriving(Arrival{}, 50)
	sent := times(w, 1, 30_000)
	for i := range sent {
		sent[i] = sent[i].Truncate(2 * time.Second)
	}
	o := w.Observe(sent, 0, 500*time.Second)
	if o.Gaps.Distance < 2*o.Gaps.Limit || o.GapCV < 2 || o.Dispersion[0].Index < 10 {
		t.Errorf("ticks of 2 s: %+v", o)
	}
	for i, at := range times(w, 1, 30_000) {
		sent[i] = at * 5 / 4
	}
	if o = w.Observe(sent, 0, 500*time.Second); math.Abs(o.RatePerS/o.AskedPerS-0.8) > 0.02 {
		t.Errorf("a client that is too slow: %v of %v/s", o.RatePerS, o.AskedPerS)
	}
}

func TestObserveAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, rate := drawArrival(t)
		w := arriving(a, rate)
		var at []time.Duration
		for _, ms := range rapid.SliceOfN(rapid.IntRange(-1000, 100_000), 0, 50).Draw(t, "times") {
			at = append(at, time.Duration(ms)*time.Millisecond)
		}
		from := time.Duration(rapid.IntRange(0, 50_000).Draw(t, "from")) * time.Millisecond
		o := w.Observe(at, from, from+time.Duration(rapid.IntRange(0, 70_000).Draw(t, "span"))*time.Millisecond)
		for _, x := range []float64{o.RatePerS, o.AskedPerS, o.GapCV, o.GapCVAsked} {
			if math.IsInf(x, 0) || math.IsNaN(x) || x < 0 {
				t.Fatalf("%+v: %+v", w.Arrival, o)
			}
		}
	})
}

// simulation skips a test with -short: it takes some seconds.
func simulation(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation")
	}
}
