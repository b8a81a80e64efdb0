package roofline

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// server measures points on a simulated server: the same arithmetic with other
// constants, and an error of each measurement.
func server(s Setup, e Efficiency, noise float64, seed uint64, points ...Point) []Point {
	s.Efficiency = &e
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range points {
		ms := s.PrefillMs(points[i].Input, points[i].Cached)
		if points[i].Input == 0 {
			ms = s.DecodeMs(points[i].Batch, points[i].Context)
		}
		points[i].Ms = ms * (1 + noise*random.NormFloat64())
	}
	return points
}

func other(memory, computes, overheadMs, allReduceUs float64) Efficiency {
	e := Efficiency{ByGPUs: []ByGPUs{{1, memory, memory, allReduceUs}}, Link: 0.8, StepOverheadMs: overheadMs}
	e.Compute = Rates{computes, 0.8 * computes, 0.46 * computes, 0.8 * computes} // in the proportions of the table
	return e
}

// The fit recovers the constants of servers that differ from the predictor's
// table to 5 %, from six points with errors of 0.2 %, and predicts the
// concurrencies that it has not seen.
func TestCalibrateRecovers(t *testing.T) {
	for _, c := range []struct {
		model, device            string
		gpus                     int
		memory, computes, stepMs float64
	}{
		{"llama-3.1-8b", "h100-sxm", 1, 0.62, 0.37, 2.5},
		{"llama-3.1-8b", "l4", 1, 0.9, 0.61, 4},
		{"llama-3.1-70b", "h100-sxm", 8, 0.5, 0.45, 3},
		{"gpt-oss-120b", "h100-sxm", 1, 0.45, 0.3, 1.5},
		{"qwen3-30b-a3b", "h200-sxm", 1, 0.7, 0.44, 2},
		{"deepseek-r1", "h200-sxm", 8, 0.55, 0.33, 6},
	} {
		s := Setup{Model: model(t, c.model), Device: device(t, c.device), GPUs: c.gpus}
		e := other(c.memory, c.computes, c.stepMs, 0)
		for seed := range uint64(5) {
			points := server(s, e, 0.002, seed, Point{Batch: 1, Context: 1000}, Point{Batch: 16, Context: 1100}, Point{Batch: 64, Context: 1200},
				Point{Batch: 256, Context: 1200}, Point{Input: 1024}, Point{Input: 8192})
			fit, err := s.Calibrate(points)
			if err != nil {
				t.Fatalf("%s: %v", c.model, err)
			}
			if fit.Compute == nil {
				t.Fatalf("%s: prompts of 8,192 tokens don't tell of computing", c.model)
			}
			within(t, c.model+", memory", fit.Memory, c.memory, 0.05)
			of := s.Device.DenseTFLOPS.kind(s.experts().kind)
			within(t, c.model+", compute", *fit.Compute, e.Compute.of(of), 0.05)
			if math.Abs(fit.OverheadMs-c.stepMs) > 0.05*c.stepMs+0.01*points[0].Ms {
				t.Errorf("%s: overhead %g, want %g ms", c.model, fit.OverheadMs, c.stepMs)
			}
			calibrated, truth := s, s
			calibrated.Efficiency, truth.Efficiency = &fit.Efficiency, &e
			if err := calibrated.Check(); err != nil {
				t.Fatal(err)
			}
			for _, batch := range []float64{2, 4, 8, 32, 128} {
				within(t, c.model+", a left-out batch", calibrated.DecodeMs(batch, 1500), truth.DecodeMs(batch, 1500), 0.05)
			}
		}
	}
}

// Two rows determine the two constants of decoding, but not the compute efficiency.
func TestCalibrateTwoRows(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	fit, err := s.Calibrate(server(s, other(0.6, 0.4, 2, 0), 0, 1, Point{Batch: 1, Context: 2000}, Point{Batch: 32, Context: 2000}))
	if err != nil {
		t.Fatal(err)
	}
	within(t, "memory", fit.Memory, 0.6, 1e-6)
	within(t, "overhead", fit.OverheadMs, 2, 1e-6)
	if fit.Compute != nil || fit.Spread != nil || len(fit.Notes) != 2 {
		t.Errorf("%+v", fit)
	}
	if e := s.efficiency(); fit.Efficiency.Compute != e.Compute || fit.Efficiency.Low.Compute != e.Low.Compute || fit.Efficiency.High.Compute != e.High.Compute {
		t.Errorf("compute %v, and its band", fit.Efficiency.Compute)
	}
}

func TestCalibrateRefusesWhatTellsNothing(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	e := other(0.6, 0.4, 2, 0)
	for name, c := range map[string]struct {
		points []Point
		want   string
	}{
		"nothing":      {nil, "0 points"},
		"one row":      {[]Point{{Batch: 8, Context: 1000}}, "1 points for 2 constants"},
		"one batch":    {[]Point{{Batch: 8, Context: 1000}, {Batch: 8, Context: 1000}, {Batch: 8, Context: 1010}}, "another batch"},
		"near batches": {[]Point{{Batch: 1, Context: 100}, {Batch: 2, Context: 100}, {Batch: 3, Context: 100}}, "another batch"},
		"prompts only": {[]Point{{Input: 4000}, {Input: 8000}, {Input: 16000}}, "memory"},
	} {
		_, err := s.Calibrate(server(s, e, 0, 1, c.points...))
		var vague *UnidentifiableError
		if !errors.As(err, &vague) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	core := Setup{Model: s.Model, Device: Device{ID: "core", BandwidthGBs: 10, DenseTFLOPS: Rates{BF16: 0.05}}} // which computes at any batch
	if _, err := core.Calibrate([]Point{{Batch: 8, Context: 50, Ms: 9000}}); err == nil || !strings.Contains(err.Error(), "1 points for 2 constants") {
		t.Errorf("%v", err)
	}
	_, err := s.Calibrate([]Point{{Name: "a", Batch: 1, Ms: math.NaN()}, {Name: "b", Ms: 3}})
	if err == nil || !strings.Contains(err.Error(), "point 1 (a): NaN ms is not a valid time") || !strings.Contains(err.Error(), "point 2 (b): needs an input") {
		t.Errorf("%v", err)
	}
}

// Each point has the prediction of the others; a row that does not fit the model is visible by that.
func TestCalibrateHeldOut(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	points := server(s, other(0.6, 0.4, 2, 0), 0, 1, Point{Batch: 1, Context: 1000}, Point{Batch: 8, Context: 1000}, Point{Batch: 32, Context: 1000}, Point{Batch: 64, Context: 1000})
	fit, err := s.Calibrate(points)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fit.Points {
		if p.HeldOutOff == nil || math.Abs(*p.HeldOutOff) > 1e-6 || math.Abs(p.Off) > 1e-6 {
			t.Errorf("%+v", p)
		}
	}
	points[1].Ms *= 2 // it waited for something else
	if fit, err = s.Calibrate(points); err != nil {
		t.Fatal(err)
	}
	if off := *fit.Points[1].HeldOutOff; math.Abs(off+0.5) > 0.01 {
		t.Errorf("the row that took twice as long is off by %g", off)
	}
	if *fit.Spread < 0.1 {
		t.Errorf("spread %g", *fit.Spread)
	}
}

// Points faster than the peak put the memory efficiency at its limit, which a note states.
func TestCalibrateAtItsLimit(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	points := server(s, other(0.9, 0.4, 0.1, 0), 0, 1, Point{Batch: 1, Context: 1000}, Point{Batch: 32, Context: 1000}, Point{Batch: 128, Context: 1000})
	for i := range points {
		points[i].Ms /= 2 // it runs in fp8
	}
	fit, err := s.Calibrate(points)
	if err != nil {
		t.Fatal(err)
	}
	if fit.Memory < 0.999 || !strings.Contains(strings.Join(fit.Notes, " "), "check the hardware and the precision") {
		t.Errorf("%+v", fit)
	}
}

// A CPU is limited by computing from a batch of two on. One point then determines the memory efficiency,
// which is enough if there are more points than constants, so that the residuals show the quality of the fit.
func TestCalibrateOnePointReads(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.2-1b"), Device: Device{ID: "core", BandwidthGBs: 10, DenseTFLOPS: Rates{BF16: 0.05}}}
	at := func(batches ...float64) (points []Point) {
		for _, b := range batches {
			points = append(points, Point{Batch: b, Context: 50})
		}
		return server(s, other(0.7, 0.4, 20, 0), 0.002, 1, points...)
	}
	fit, err := s.Calibrate(at(1, 4, 8, 16))
	if err != nil {
		t.Fatal(err)
	}
	within(t, "memory", fit.Memory, 0.7, 0.05)
	if fit.Compute == nil || fit.Spread == nil {
		t.Fatalf("%+v", fit)
	}
	within(t, "compute", *fit.Compute, 0.4, 0.05)
	if _, err := s.Calibrate(at(1, 4, 8)); err == nil || !strings.Contains(err.Error(), "points limited by memory: 1; needed: 2, or more points than the 3 constants") {
		t.Errorf("%v", err)
	}
}

// The stated uncertainty of the overhead is the effect of a 1 % error in each time. Short contexts at small
// batches hardly separate the overhead from reading the weights, which a note states.
func TestCalibrateSaysHowLooseTheOverheadIs(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	for _, c := range []struct {
		overhead float64
		contexts [3]float64
		loose    bool
	}{{1, [3]float64{500, 520, 510}, true}, {20, [3]float64{500, 4000, 8000}, false}} {
		var found []float64
		var moved, said float64
		for seed := range uint64(300) {
			points := server(s, other(0.2, 0.4, c.overhead, 0), 0.01, seed, Point{Batch: 1, Context: c.contexts[0]}, Point{Batch: 16, Context: c.contexts[1]}, Point{Batch: 40, Context: c.contexts[2]})
			f, err := s.fit(points)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, f.constant[overhead])
			moved += f.moved(f.setup.rows(points), overhead) / 300
			if strings.Contains(strings.Join(f.report(points).Notes, ""), "the overhead is uncertain") {
				said++
			}
		}
		if loose := said > 290; loose != c.loose || !c.loose && said > 10 {
			t.Errorf("an overhead of %g ms is called loose in %g of 300", c.overhead, said)
		}
		slices.Sort(found)
		if spread := (found[252] - found[48]) / 2; !c.loose { // of one sigma; a loose one lies at its limit, 0, in a third of the cases
			within(t, "the overhead's spread", moved, spread, 0.15)
		}
	}
}
