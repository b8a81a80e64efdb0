package roofline

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// measured gives points the times of a simulated server: the same arithmetic with other constants, and an error of
// each measurement.
func measured(s Setup, noise float64, seed uint64, points ...Point) []Point {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range points {
		points[i].Ms = s.pointMs(points[i]) * (1 + noise*random.NormFloat64())
	}
	return points
}

func step(batch, context float64) Point {
	return Point{Metric: "tpot", Batch: batch, Context: context}
}

func prompt(input float64) Point { return Point{Metric: "ttft", Input: input} }

// planted is a setup with known values of constants, in their order: attention, step overhead, compute of one
// token, front end, compute, memory.
func planted(s Setup, values ...float64) Setup {
	s = s.owned()
	e := *s.efficiency()
	for i, value := range values {
		if !constants[i].additive || s.additive() {
			constants[i].set(&e, &s, value)
		}
	}
	s.Device.Efficiency = &e
	return s
}

func rows() []Point {
	return []Point{
		prompt(32), prompt(512), prompt(2048), prompt(8192), step(1, 200), step(4, 200), step(16, 200), step(64, 200), step(128, 200),
		step(4, 4200), step(16, 4200), step(64, 4200),
	}
}

// The fit recovers the constants of servers that differ from the table, and predicts what it has not seen.
func TestCalibrateRecovers(t *testing.T) {
	for _, c := range []struct {
		model, device                          string
		gpus                                   int
		frontEnd, stepMs, one, compute, memory float64
	}{
		{"llama-3.1-8b", "h100-sxm", 1, 12, 2.5, 0.8, 0.37, 0.62},
		{"llama-3.1-8b", "l4", 1, 30, 4, 0.8, 0.61, 0.9},
		{"llama-3.1-70b", "h100-sxm", 8, 40, 6, 0.8, 0.45, 0.5},
		{"gpt-oss-120b", "h100-sxm", 1, 60, 5, 0.8, 0.3, 0.45},
		{"qwen3-30b-a3b", "h200-sxm", 1, 8, 3, 0.8, 0.24, 0.7},
		{"deepseek-r1", "h200-sxm", 8, 90, 16, 0.8, 0.33, 0.55},
		{"llama-3.1-8b", "mi300x", 1, 20, 2, 0.8, 0.3, 0.5}, // which has a reach
		{"llama-3.2-1b", "cpu-ddr5-4800-8ch", 1, 3, 1.6, 0.8, 0.37, 0.62},
	} {
		s := Setup{Model: model(t, c.model), Device: device(t, c.device), GPUs: c.gpus}
		if s.Device.Vendor == "cpu" {
			s.Device.DenseTFLOPS.BF16 = 2
		}
		truth := planted(s, s.efficiency().Attention, c.stepMs, c.one, c.frontEnd, c.compute, c.memory)
		for seed := range uint64(4) {
			noise := []float64{0, 0.002, 0.01, 0.02}[seed]
			fit, err := s.Calibrate(measured(truth, noise, seed, rows()...), nil)
			if err != nil {
				t.Fatalf("%s: %v", c.model, err)
			}
			for _, found := range fit.Constants {
				i := slices.IndexFunc(constants, func(c constant) bool { return c.name == found.Name })
				want := constants[i].get(&truth)
				if off := math.Abs(found.Value - want); found.Uncertainty != nil && off > 1e-4*want+4*noise*max(want/20, *found.Uncertainty/0.01*scaleOf(found)) {
					t.Errorf("%s, noise %g: %s is %g ± %g, want %g", c.model, noise, found.Name, found.Value, *found.Uncertainty, want)
				}
			}
			calibrated := s
			calibrated.Device = fit.Device
			if err := calibrated.Check(); err != nil {
				t.Fatal(err)
			}
			for _, p := range []Point{step(2, 1500), step(8, 3000), step(32, 1500), prompt(1024), prompt(4096), {Metric: "tpot", Concurrency: 24, Input: 1000, Output: 100}} {
				within(t, c.model+", a point that the fit has not seen", calibrated.pointMs(p), truth.pointMs(p), 1e-4+3*noise)
			}
		}
	}
}

// scaleOf makes the error of a share relative to it.
func scaleOf(c Constant) float64 {
	if c.Of == "" {
		return 1
	}
	return c.Value
}

func llama(t *testing.T) Setup {
	return Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
}

func constantOf(f *Fit, name string) Constant {
	for _, c := range f.Constants {
		if c.Name == name {
			return c
		}
	}
	panic(name)
}

// What the points do not determine keeps its usual value: decode steps of memory-bound batches say nothing of
// prompts and computing.
func TestCalibrateKeepsWhatIsOpen(t *testing.T) {
	s := llama(t)
	truth := planted(s, 0.49, 2, 0, 40, 0.4, 0.6)
	fit, err := s.Calibrate(measured(truth, 0, 1, step(1, 2000), step(32, 2000), step(64, 4000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "memory", constantOf(fit, "memory").Value, 0.6, 1e-5)
	within(t, "step overhead", constantOf(fit, "step overhead").Value, 2, 1e-4)
	for _, name := range []string{"compute", "attention", "front end"} {
		if c := constantOf(fit, name); c.Uncertainty != nil || c.Value != c.Usual {
			t.Errorf("%+v", c)
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	s := llama(t)
	for name, c := range map[string]struct {
		points []Point
		want   string
	}{
		"nothing":      {nil, "0 points"},
		"one row":      {[]Point{step(8, 1000)}, "1 point;"},
		"prompts only": {[]Point{prompt(4000), prompt(8000), prompt(16000)}, "memory bandwidth"},
	} {
		_, err := s.Calibrate(measured(s, 0, 1, c.points...), nil)
		var vague *UnidentifiableError
		if !errors.As(err, &vague) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	bad := []Point{{Name: "a", Metric: "tpot", Batch: 1, Ms: math.NaN()}, {Name: "b", Metric: "ttft", Ms: 3}, {Name: "c", Metric: "itl", Ms: 3}}
	_, err := s.Calibrate(bad, nil)
	for _, want := range []string{"point 1 (a): NaN ms is not a valid time", "point 2 (b): needs an input", `point 3 (c): metric "itl"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Each point has the prediction of the others; a row that does not fit the arithmetic is visible by that.
func TestCalibrateHeldOut(t *testing.T) {
	s := llama(t)
	points := measured(planted(s, 0.49, 2, 0, 10, 0.4, 0.6), 0, 1, step(1, 1000), step(8, 1000), step(32, 1000), step(64, 1000))
	points[1].Ms *= 2 // it waited for something else
	fit, err := s.Calibrate(points, nil)
	if err != nil {
		t.Fatal(err)
	}
	if off := *fit.Points[1].HeldOutOff; math.Abs(off+0.5) > 0.02 {
		t.Errorf("the row that took twice as long is off by %g", off)
	}
	if *fit.Spread < 0.1 {
		t.Errorf("spread %g", *fit.Spread)
	}
}

// Points faster than the peak put the memory efficiency at its limit, which a note states.
func TestCalibrateAtItsLimit(t *testing.T) {
	s := llama(t)
	points := measured(planted(s, 0.49, 0.1, 0, 10, 0.4, 0.9), 0, 1, step(1, 1000), step(32, 1000), step(128, 1000))
	for i := range points {
		points[i].Ms /= 2 // it runs in fp8
	}
	fit, err := s.Calibrate(points, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(fit.Notes, " "), "check the hardware and the precision") {
		t.Errorf("%+v", fit)
	}
}

// A row that is slow for any other reason is not taken for computing: on one step alone the compute share keeps its
// usual value.
func TestCalibrateComputeNeedsMoreThanOneStep(t *testing.T) {
	s := llama(t)
	points := measured(planted(s, 0.49, 1, 0, 10, 0.58, 0.8), 0, 1, step(1, 1000), step(8, 1000), step(32, 1000), step(128, 1000))
	points[3].Ms *= 2
	fit, err := s.Calibrate(points, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := constantOf(fit, "compute"); c.Uncertainty != nil {
		t.Errorf("%+v", c)
	}
}

// A server whose reading and computing take turns is found out by the points left out, on any device.
func TestCalibrateChoosesTheForm(t *testing.T) {
	s := llama(t)
	truth := planted(s, 0.49, 2, 0, 10, 0.4, 0.6)
	for _, turns := range []bool{false, true} {
		truth.Device.Efficiency.Additive = turns
		fit, err := s.Calibrate(measured(truth, 0.01, 1, rows()...), nil)
		if err != nil {
			t.Fatal(err)
		}
		if fit.Additive != turns || fit.Device.Efficiency.Additive != turns {
			t.Errorf("additive %v, want %v", fit.Additive, turns)
		}
	}
}

// Kept-out points are predicted with the fit, and their errors are those of the prediction.
func TestCalibrateChecks(t *testing.T) {
	s := llama(t)
	truth := planted(s, 0.49, 2, 0, 10, 0.4, 0.6)
	check := measured(truth, 0, 1, step(1, 500), prompt(1000), prompt(3000), Point{Metric: "tpot", Concurrency: 20, Input: 1000, Output: 100})
	check[1].Ms /= 1.2
	check[2].Ms /= 1.1
	fit, err := s.Calibrate(measured(truth, 0, 1, rows()...), check)
	if err != nil {
		t.Fatal(err)
	}
	want := []CheckErrors{{"tpot", false, 1, 0, 0}, {"tpot", true, 1, 0, 0}, {"ttft", false, 2, 0.15, 0.2}}
	if len(fit.Errors) != len(want) || len(fit.Check) != 4 {
		t.Fatalf("%+v", fit.Errors)
	}
	for i, e := range fit.Errors {
		if w := want[i]; e.Metric != w.Metric || e.Loaded != w.Loaded || e.Points != w.Points || math.Abs(e.Median-w.Median) > 1e-3 || math.Abs(e.Worst-w.Worst) > 1e-3 {
			t.Errorf("%+v, want %+v", e, w)
		}
	}
}

// Whatever the times are, a fit has constants within their limits and can be written as JSON, or there is an error.
func TestCalibrateOfAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"llama-3.1-8b", "qwen3-30b-a3b"} {
		for _, d := range []string{"h100-sxm", "cpu-ddr5-4800-8ch"} {
			s := Setup{Model: model(t, name), Device: device(t, d)}
			for range 30 {
				var points []Point
				for range random.IntN(9) {
					p := step(float64(1+random.IntN(200)), float64(random.IntN(9000)))
					if random.IntN(2) == 0 {
						p = prompt(float64(1 + random.IntN(9000)))
					}
					p.Ms = math.Exp(20*random.Float64() - 8)
					points = append(points, p)
				}
				fit, err := s.Calibrate(points, points)
				if err != nil {
					continue
				}
				if _, err := json.Marshal(fit); err != nil {
					t.Fatalf("%v: %+v", err, fit)
				}
				calibrated := s
				calibrated.Device = fit.Device
				if err := calibrated.Check(); err != nil {
					t.Fatalf("%v: %+v", err, points)
				}
			}
		}
	}
}

// TestCalibratedRange: the narrow range of a fit is for what was measured; other models, precisions and numbers of
// GPUs have the table's, and a note.
func TestCalibratedRange(t *testing.T) {
	s := llama(t)
	fit, err := s.Calibrate(measured(s, 0.01, 1, rows()...), nil)
	if err != nil {
		t.Fatal(err)
	}
	usual := BuiltinHardware().Efficiency
	own := fit.Device.Efficiency.Fitted.Range
	other := Setup{Model: model(t, "deepseek-r1"), GPUs: 16}
	fp8, two := s, s
	fp8.Precision, two.GPUs = "fp8", 2
	for name, c := range map[string]struct {
		setup Setup
		tpot  Range
		note  string
	}{
		"the same":          {s, own, ""},
		"another model":     {other, usual.TPOT.Sparse, "the device's constants were fitted to meta-llama/Llama-3.1-8B-Instruct (bf16, 1 GPU)"},
		"another precision": {fp8, usual.TPOT.Dense, "the device's constants were fitted to"},
		"more GPUs":         {two, usual.TPOT.Dense, "the device's constants were fitted to"},
	} {
		c.setup.Device = fit.Device
		b := c.setup.Decode(32, 1000)
		if low, high := b.LowMs/b.ExpectedMs, b.HighMs/b.ExpectedMs; math.Abs(low-c.tpot.Low) > 1e-9 || math.Abs(high-c.tpot.High) > 1e-9 {
			t.Errorf("%s: the range is %g to %g, want %+v", name, low, high, c.tpot)
		}
		if !strings.Contains(b.Note, c.note) || c.note == "" && b.Note != "" {
			t.Errorf("%s: the note is %q", name, b.Note)
		}
	}
	if own.High > 1.2 || usual.TPOT.Dense.High < 1.2 {
		t.Errorf("the ranges are %+v and %+v", own, usual.TPOT.Dense)
	}
}

// TestConstantsSet: each constant is what it was set to, for plain and special models, on each engine.
func TestConstantsSet(t *testing.T) {
	for _, name := range []string{"llama-3.1-8b", "gpt-oss-120b", "deepseek-r1"} {
		for _, engine := range []string{"", "vllm", "sglang", "trtllm", "another"} {
			for _, bare := range []bool{false, true} {
				s := Setup{Model: model(t, name), Device: device(t, "h200-sxm"), GPUs: 8, Engine: engine}.owned()
				if bare {
					s.Device.Efficiency = examples(0.4, 0, 1)
				}
				for i := range constants {
					const want = 0.3
					e, with := *s.efficiency(), s
					constants[i].set(&e, &s, want)
					with.Device.Efficiency = &e
					if got := constants[i].get(&with); math.Abs(got-want) > 1e-9 {
						t.Errorf("%s on %q, bare %v: %s is %g, set to %g", name, engine, bare, constants[i].name, got, want)
					}
				}
			}
		}
	}
}
