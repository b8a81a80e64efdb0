package roofline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bench/experiment/stats"
)

// Point is one measured time: of a decode step or a prompt alone or, with a Concurrency, the TPOT or TTFT of a
// closed loop.
type Point struct {
	Name        string  `json:"name"`                  // of the row
	Metric      string  `json:"metric"`                // "tpot" or "ttft"
	Concurrency float64 `json:"concurrency,omitempty"` // 0 = a single step or prompt
	Batch       float64 `json:"batch,omitempty"`       // of a single step
	Context     float64 `json:"context_tokens,omitempty"`
	Input       float64 `json:"input_tokens,omitempty"`
	Cached      float64 `json:"cached_tokens,omitempty"`
	Output      float64 `json:"output_tokens,omitempty"` // of a closed loop
	Ms          float64 `json:"ms"`
}

// Fit are the constants of a server: those with which the arithmetic of a Setup is closest to its measured times.
type Fit struct {
	Constants []Constant `json:"constants"`
	// Additive means that reading and computing take turns on this server.
	Additive bool `json:"additive"`
	// Spread is the root mean square of the relative residuals, with the degrees of freedom as divisor; null:
	// as many constants as points.
	Spread *float64 `json:"spread"`
	Points []Fitted `json:"points"`
	// Check are points that the fit did not use, and Errors the errors of their predictions.
	Check  []Fitted      `json:"check,omitempty"`
	Errors []CheckErrors `json:"check_errors,omitempty"`
	Notes  []string      `json:"notes,omitempty"`
	// Device is the setup's with the fit as its efficiency. The typical range of this setup is twice the spread.
	Device Device `json:"-"`
}

// Constant is a fitted constant of a server.
type Constant struct {
	Name  string  `json:"name"`
	Of    string  `json:"of,omitempty"` // what it is a share of; empty: Value is a time in ms
	Value float64 `json:"value"`
	Usual float64 `json:"usual"` // without the fit
	// Uncertainty is its standard error: relative for a share, in ms for a time. null: the points do not determine it,
	// and it keeps its usual value.
	Uncertainty *float64 `json:"uncertainty"`
}

type Fitted struct {
	Point
	FittedMs float64 `json:"fitted_ms"`
	Off      float64 `json:"off"` // (fitted − measured) / measured
	// HeldOutMs is the prediction of a fit of all other points; null: they do not identify one, or the fit did not
	// use the point.
	HeldOutMs  *float64 `json:"held_out_ms,omitempty"`
	HeldOutOff *float64 `json:"held_out_off,omitempty"`
}

// CheckErrors are the errors of the predictions for points that the fit did not use: (predicted − measured) /
// measured.
type CheckErrors struct {
	Metric string  `json:"metric"`
	Loaded bool    `json:"loaded"` // in a closed loop of more than one request
	Points int     `json:"points"`
	Median float64 `json:"median_absolute"`
	Worst  float64 `json:"worst"` // with its sign
}

type UnidentifiableError struct{ Why string }

func (e *UnidentifiableError) Error() string { return "the fit is not identifiable: " + e.Why }

// Calibrate fits constants to measured times, by least squares of the logarithms of fitted ÷ measured, and predicts
// the points of check. Constants that the points leave open keep their usual values; without a memory efficiency the
// error is an *UnidentifiableError. A GPU overlaps reading and computing unless the points show that they take turns.
func (s Setup) Calibrate(points, check []Point) (*Fit, error) {
	if err := errors.Join(s.Check(), checkPoints(points), checkPoints(check)); err != nil {
		return nil, err
	}
	s = s.owned()
	f, err := s.calibrate(points)
	if err != nil {
		return nil, err
	}
	left := f.leaveOut()
	if s.Device.Vendor != "cpu" {
		if turns, err := s.turns().calibrate(points); err == nil {
			// Twice as close, as the form with overlap is the usual one.
			if without := turns.leaveOut(); rms(without, points) < rms(left, points)/2 {
				f, left = turns, without
			}
		}
	}
	return f.report(left, check), nil
}

func (s Setup) owned() Setup {
	e, reach := *s.efficiency(), s.Device.Reach
	e.Memory = min(1, e.Memory*cmp.Or(reach.Memory, 1))
	by := cmp.Or(reach.Compute, 1)
	e.Compute, e.Experts, e.Attention = e.Compute.times(by), min(1, e.Experts*by), min(1, e.Attention*by)
	s.Device.Reach, s.Device.Efficiency = Reach{}, &e
	return s
}

func (s Setup) turns() Setup {
	e := *s.efficiency()
	e.Additive = true
	s.Device.Efficiency = &e
	return s
}

func checkPoints(points []Point) error {
	var errs []error
	for i, p := range points {
		if !(p.Ms > 0) || math.IsInf(p.Ms, 0) {
			errs = append(errs, fmt.Errorf("point %d (%s): %g ms is not a valid time", i+1, p.Name, p.Ms))
		}
		switch {
		case p.Concurrency > 0 && (p.Input <= 0 || p.Output < 1):
			errs = append(errs, fmt.Errorf("point %d (%s): needs an input and an output", i+1, p.Name))
		case p.Concurrency == 0 && p.Metric == "ttft" && p.Input <= 0:
			errs = append(errs, fmt.Errorf("point %d (%s): needs an input", i+1, p.Name))
		case p.Concurrency == 0 && p.Metric == "tpot" && !(p.Batch >= 1 && p.Context >= 0):
			errs = append(errs, fmt.Errorf("point %d (%s): needs a batch of at least 1 and a context", i+1, p.Name))
		case p.Metric != "ttft" && p.Metric != "tpot":
			errs = append(errs, fmt.Errorf("point %d (%s): metric %q is neither ttft nor tpot", i+1, p.Name, p.Metric))
		}
	}
	return errors.Join(errs...)
}

func (s *Setup) pointMs(p Point) float64 {
	switch {
	case p.Concurrency > 0:
		load := s.AtConcurrency(p.Concurrency, Workload{Input: p.Input, Cached: p.Cached, Output: p.Output})
		if p.Metric == "ttft" {
			return load.TTFT.ExpectedMs
		}
		return load.TPOT.ExpectedMs
	case p.Metric == "ttft":
		return s.FrontEndMs() + s.PrefillMs(p.Input, p.Cached)
	}
	return s.DecodeMs(p.Batch, p.Context)
}

func (f *calibration) report(held []float64, check []Point) *Fit {
	s := f.with(f.at)
	out := &Fit{Additive: s.additive()}
	for i, c := range slices.Backward(constants) {
		if !c.additive || out.Additive {
			out.Constants = append(out.Constants, f.constant(i, &s))
		}
	}
	for i, p := range f.points {
		x := s.fitted(p)
		if !math.IsNaN(held[i]) {
			off := held[i]/p.Ms - 1
			x.HeldOutMs, x.HeldOutOff = &held[i], &off
		}
		out.Points = append(out.Points, x)
	}
	spread := 0.05 // without residuals: an assumption
	if more := len(f.points) - len(f.free); more > 0 {
		spread = math.Sqrt(f.sum / float64(more))
		out.Spread = &spread
	} else {
		out.Notes = append(out.Notes, "as many constants as points: the fit is exact, and its residuals carry no information")
	}
	if s.efficiency().Memory > 0.999 {
		out.Notes = append(out.Notes, "the memory efficiency is at its limit: the points reach or exceed the peak; check the hardware and the precision")
	}
	out.Device = s.Device
	e := out.Device.Efficiency
	for _, p := range check {
		out.Check = append(out.Check, s.fitted(p))
	}
	out.Errors = checkErrors(out.Check)
	up := 1 + min(max(0.02, 2*spread, worst(out.Errors)), 99)
	r := Range{1 / up, up}
	fitted := s.fittedFor(r)
	e.Fitted = &fitted
	e.Source = fmt.Sprintf("fitted to %d measured times of %s", len(f.points), s.Model.ID)
	return out
}

func worst(errors []CheckErrors) (size float64) {
	for _, e := range errors {
		size = max(size, math.Abs(e.Worst))
	}
	return size
}

func (f *calibration) constant(index int, s *Setup) Constant {
	c := &constants[index]
	out := Constant{Name: c.name, Of: c.of, Value: c.get(s), Usual: c.get(&f.setup)}
	if k := slices.Index(f.free, index); k >= 0 {
		out.Uncertainty = &f.errors[k]
	}
	return out
}

func (s *Setup) fitted(p Point) Fitted {
	ms := s.pointMs(p)
	return Fitted{Point: p, FittedMs: ms, Off: ms/p.Ms - 1}
}

func checkErrors(points []Fitted) (out []CheckErrors) {
	for _, metric := range []string{"tpot", "ttft"} {
		for _, loaded := range []bool{false, true} {
			e := CheckErrors{Metric: metric, Loaded: loaded}
			var sizes []float64
			for _, p := range points {
				if p.Metric != metric || loaded != (max(p.Concurrency, p.Batch) > 1) {
					continue
				}
				sizes = append(sizes, math.Abs(p.Off))
				if math.Abs(p.Off) > math.Abs(e.Worst) {
					e.Worst = p.Off
				}
			}
			if e.Points = len(sizes); e.Points > 0 {
				slices.Sort(sizes)
				e.Median = stats.Quantile(sizes, 0.5)
				out = append(out, e)
			}
		}
	}
	return out
}

func rms(ms []float64, points []Point) float64 {
	sum, n := 0.0, 0
	for i, p := range points {
		if !math.IsNaN(ms[i]) {
			off := math.Log(ms[i] / p.Ms)
			sum, n = sum+off*off, n+1
		}
	}
	if n == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(sum / float64(n))
}
