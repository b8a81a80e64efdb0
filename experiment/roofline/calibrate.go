package roofline

import (
	"errors"
	"fmt"
	"math"
)

// Point is one measured time: the TPOT of a batch at a context or, if Input is set, the TTFT of a single
// request.
type Point struct {
	Name    string  `json:"name"` // for display
	Batch   float64 `json:"batch,omitempty"`
	Context float64 `json:"context_tokens,omitempty"`
	Input   float64 `json:"input_tokens,omitempty"`
	Cached  float64 `json:"cached_tokens,omitempty"`
	Ms      float64 `json:"ms"`
}

// Fit is the fraction of its hardware that a server reached: the constants with which the arithmetic of a
// Setup is closest to its measured times.
type Fit struct {
	OverheadMs float64  `json:"overhead_ms"` // of a step, including the minimum latency of all-reduces
	Memory     float64  `json:"memory"`      // share of the memory bandwidth
	Compute    *float64 `json:"compute"`     // share of the compute peak; null: not determined by the points, the default is used
	// Spread is the root mean square of the relative residuals, with the degrees of freedom as divisor; null:
	// as many constants as points.
	Spread *float64 `json:"spread"`
	Points []Fitted `json:"points"`
	Notes  []string `json:"notes,omitempty"`

	// Efficiency is the fit for a Setup with this model, device and number of GPUs. Its typical range is
	// twice the spread.
	Efficiency Efficiency `json:"-"`
}

// Fitted is a point and its fitted time.
type Fitted struct {
	Point
	FittedMs float64 `json:"fitted_ms"`
	Off      float64 `json:"off"` // (fitted − measured) / measured
	// HeldOutMs is the prediction of a fit of all other points; null: they do not identify one.
	HeldOutMs  *float64 `json:"held_out_ms"`
	HeldOutOff *float64 `json:"held_out_off"`
}

// UnidentifiableError states why the points do not determine the constants.
type UnidentifiableError struct{ Why string }

// Error implements error.
func (e *UnidentifiableError) Error() string { return "the fit is not identifiable: " + e.Why }

// Calibrate fits overhead, memory efficiency and compute efficiency to measured times, by least squares of
// the relative errors, with each share within 1 to 100 % of the peak. It returns an *UnidentifiableError if
// the points do not determine the overhead and the memory efficiency.
func (s Setup) Calibrate(points []Point) (*Fit, error) {
	if err := errors.Join(s.Check(), checkPoints(points)); err != nil {
		return nil, err
	}
	f, err := s.fit(points)
	if err != nil {
		return nil, err
	}
	out := f.report(points)
	for i := range points {
		others := append(append([]Point{}, points[:i]...), points[i+1:]...)
		if without, err := s.fit(others); err == nil {
			ms := without.ms(points[i])
			off := ms/points[i].Ms - 1
			out.Points[i].HeldOutMs, out.Points[i].HeldOutOff = &ms, &off
		}
	}
	return out, nil
}

func checkPoints(points []Point) error {
	var errs []error
	for i, p := range points {
		if !(p.Ms > 0) || math.IsInf(p.Ms, 0) {
			errs = append(errs, fmt.Errorf("point %d (%s): %g ms is not a valid time", i+1, p.Name, p.Ms))
		}
		if p.Input <= 0 && !(p.Batch >= 1 && p.Context >= 0) {
			errs = append(errs, fmt.Errorf("point %d (%s): needs an input, or a batch of at least 1 and a context", i+1, p.Name))
		}
	}
	return errors.Join(errs...)
}

// fit is a setup and its fitted constants: the overhead in ms, and the factors by which reading and computing
// take longer than with the default efficiencies.
type fit struct {
	setup    Setup // with the default efficiency
	constant [3]float64
	// free are the constants that the points determine; the others keep their defaults.
	free      [3]bool
	residuals float64 // sum of the squared relative errors
}

// The constants, by their index.
const (
	overhead = iota
	memory
	compute
)

// fit finds all constants or, if the points do not determine the compute efficiency, the first two.
func (s Setup) fit(points []Point) (fit, error) {
	e := *s.efficiency()
	e.ByGPUs = []ByGPUs{e.forWidth(s.width())}
	e.ByGPUs[0].GPUs, e.ByGPUs[0].AllReduceUs = 1, 0 // constant in each step, so part of the fitted overhead
	s.Efficiency = &e
	rows := s.rows(points)
	if len(points) < 2 {
		return fit{}, tooFew(len(points), 2)
	}
	f := s.leastSquares(rows, [3]bool{true, true, true})
	if why := f.vague(rows, compute); why != "" {
		f = s.leastSquares(rows, [3]bool{true, true, false})
	}
	if len(points) < len(f.open()) {
		return f, tooFew(len(points), len(f.open()))
	}
	if why := f.vague(rows, memory); why != "" {
		return f, &UnidentifiableError{why}
	}
	return f, nil
}

func tooFew(points, constants int) error {
	return &UnidentifiableError{fmt.Sprintf("%d points for %d constants; add rows at other batches", points, constants)}
}

// open are the indexes of the free constants.
func (f *fit) open() (open []int) {
	for i, free := range f.free {
		if free {
			open = append(open, i)
		}
	}
	return open
}

// row is one point as the times of its parts with default efficiencies.
type row struct {
	weights, linear float64 // ms that overlap
	kv, scan        float64 // ms that overlap
	fixed, measured float64
	prompt          bool
}

func (s *Setup) rows(points []Point) []row {
	rows := make([]row, len(points))
	usual := s.usual(s.Efficiency)
	for i, p := range points {
		x := s.expect(s.passOf(p), usual)
		rows[i] = row{weights: x.weights(), linear: x.compute(), kv: x.kv, scan: x.scan, fixed: x.reduce, measured: p.Ms, prompt: p.Input > 0}
	}
	return rows
}

// passOf is the pass of a point.
func (s *Setup) passOf(p Point) pass {
	if p.Input > 0 {
		return s.prefill(p.Input, p.Cached)
	}
	return s.decode(p.Batch, p.Context)
}

// coefficients are the factors of the constants, if reading and computing take equally long at this ratio of
// the compute to the memory factor.
func (r row) coefficients(ratio float64) (x [3]float64) {
	x[overhead] = 1
	if r.linear <= ratio*r.weights {
		x[memory] += r.weights
	} else {
		x[compute] += r.linear
	}
	if r.scan <= ratio*r.kv {
		x[memory] += r.kv
	} else {
		x[compute] += r.scan
	}
	return x
}

func (r row) ms(c [3]float64) float64 {
	return c[overhead] + max(c[memory]*r.weights, c[compute]*r.linear) + max(c[memory]*r.kv, c[compute]*r.scan) + r.fixed
}

// ms is the prediction for a point.
func (f *fit) ms(p Point) float64 { return f.setup.rows([]Point{p})[0].ms(f.constant) }

// report converts the fit to its result.
func (f *fit) report(points []Point) *Fit {
	usual := f.setup.usual(f.setup.Efficiency)
	out := &Fit{OverheadMs: f.constant[overhead], Memory: usual.memory / f.constant[memory]}
	shares := usual.compute.times(1 / f.constant[compute])
	if f.free[compute] {
		share := shares.of(f.setup.Device.DenseTFLOPS.kind(f.setup.experts().kind))
		out.Compute = &share
	} else {
		out.Notes = append(out.Notes, "no point determines the compute efficiency: the default is used")
	}
	rows := f.setup.rows(points)
	if moved := f.moved(rows, overhead); moved > loose*out.OverheadMs {
		out.Notes = append(out.Notes, fmt.Sprintf("the overhead is uncertain: a 1 %% error in each time could move it by %.2g ms; add rows whose times differ more", moved))
	}
	for i, r := range rows {
		ms := r.ms(f.constant)
		out.Points = append(out.Points, Fitted{Point: points[i], FittedMs: ms, Off: ms/r.measured - 1})
	}
	spread := 0.05 // without residuals: an assumption
	if more := len(points) - len(f.open()); more > 0 {
		spread = math.Sqrt(f.residuals / float64(more))
		out.Spread = &spread
	} else {
		out.Notes = append(out.Notes, "as many constants as points: the fit is exact, and its residuals carry no information")
	}
	if out.Memory > 0.999 {
		out.Notes = append(out.Notes, "the memory efficiency is at its limit: the points reach or exceed the peak; check the hardware and the precision")
	}
	out.Efficiency = f.efficiency(out, shares, math.Max(0.02, 2*spread))
	return out
}

func (f *fit) efficiency(out *Fit, shares Rates, band float64) Efficiency {
	e := *f.setup.Efficiency
	e.ByGPUs = []ByGPUs{{GPUs: 1, MemorySmall: out.Memory, MemoryLarge: out.Memory}}
	e.Compute, e.StepOverheadMs = shares, out.OverheadMs
	if e.StepOverheadMs < 1e-6 {
		e.StepOverheadMs = 0
	}
	up := min(1+band, 100)
	low := Scale{Memory: up, Compute: up, Link: up, Overhead: 1 / up}
	high := Scale{Memory: 1 / up, Compute: 1 / up, Link: 1 / up, Overhead: up}
	if !f.free[compute] { // keeps its default uncertainty
		low.Compute, high.Compute = e.Low.Compute, e.High.Compute
	}
	e.Low, e.High = low, high
	e.Source = fmt.Sprintf("fitted to %d measured points", len(out.Points))
	return e
}
