package roofline

import (
	"errors"
	"fmt"
	"math"
)

// Point is one measured time: the TPOT of a batch at a context; or, where Input
// is stated, the TTFT of a request alone on the machine.
type Point struct {
	Name    string  `json:"name"` // for people
	Batch   float64 `json:"batch,omitempty"`
	Context float64 `json:"context_tokens,omitempty"`
	Input   float64 `json:"input_tokens,omitempty"`
	Cached  float64 `json:"cached_tokens,omitempty"`
	Ms      float64 `json:"ms"`
}

// Fit is what a server was seen to reach of its hardware: the constants that
// bring the arithmetic of a Setup nearest to its measured times.
type Fit struct {
	OverheadMs float64  `json:"overhead_ms"` // of a step; the least times of all-reduces are part of it
	Memory     float64  `json:"memory"`      // share of the memory bandwidth
	Compute    *float64 `json:"compute"`     // share of the compute peak; null: no point tells, the usual share stays
	// Spread is the root mean square of the relative residuals, over what the
	// points have more than the fit has constants; null: they have no more.
	Spread *float64 `json:"spread"`
	Points []Fitted `json:"points"`
	Notes  []string `json:"notes,omitempty"`

	// Efficiency is the fit as a Setup takes it, for this model, device and number
	// of GPUs. Its band is twice the spread.
	Efficiency Efficiency `json:"-"`
}

// Fitted is one point beside the fit.
type Fitted struct {
	Point
	FittedMs float64 `json:"fitted_ms"`
	Off      float64 `json:"off"` // (fitted − measured) / measured
	// HeldOutMs is what a fit of all other points predicts; null: they don't
	// identify one.
	HeldOutMs  *float64 `json:"held_out_ms"`
	HeldOutOff *float64 `json:"held_out_off"`
}

// UnidentifiableError says why a fit of these points would mean nothing.
type UnidentifiableError struct{ Why string }

func (e *UnidentifiableError) Error() string { return "these points don't identify a fit: " + e.Why }

// Calibrate fits overhead, memory efficiency and compute efficiency to measured
// times, by least squares of the relative errors, with each share within 1 to
// 100 % of the peak. It refuses points from which one of the first two can't be
// told (*UnidentifiableError).
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
			errs = append(errs, fmt.Errorf("point %d (%s): %g ms is no time", i+1, p.Name, p.Ms))
		}
		if p.Input <= 0 && !(p.Batch >= 1 && p.Context >= 0) {
			errs = append(errs, fmt.Errorf("point %d (%s): neither an input, nor a batch of 1 or more and a context", i+1, p.Name))
		}
	}
	return errors.Join(errs...)
}

// fit is a setup with the constants found, relative to its usual ones: reading
// takes memory times as long, computing compute times.
type fit struct {
	setup    Setup // with the efficiency that the factors are relative to
	constant [3]float64
	// free says which constants the points told; the others kept their start.
	free      [3]bool
	residuals float64 // sum of the squares of the relative errors
}

// The constants, by their index.
const (
	overhead = iota
	memory
	compute
)

// fit finds the constants: those of the points that compute too, if these tell
// of computing, else the first two.
func (s Setup) fit(points []Point) (fit, error) {
	e := *s.efficiency()
	e.ByGPUs = []ByGPUs{e.at(s.width())}
	e.ByGPUs[0].GPUs, e.ByGPUs[0].AllReduceUs = 1, 0 // a constant of a step: the fit's overhead has it
	s.Efficiency = &e
	rows := s.rows(points)
	if len(points) < 2 {
		return fit{}, tooFew(len(points), 2)
	}
	f := s.leastSquares(rows, [3]bool{true, true, true})
	if why := f.vague(rows, compute); why != "" {
		f = s.leastSquares(rows, [3]bool{true, true, false})
	}
	if len(points) < f.unknowns() {
		return f, tooFew(len(points), f.unknowns())
	}
	if why := f.vague(rows, memory); why != "" {
		return f, &UnidentifiableError{why}
	}
	return f, nil
}

func tooFew(points, constants int) error {
	return &UnidentifiableError{fmt.Sprintf("%d points for %d constants; add rows at other batches", points, constants)}
}

func (f *fit) unknowns() (n int) {
	for _, free := range f.free {
		if free {
			n++
		}
	}
	return n
}

// row is one point in the terms of the fit, at factors of 1.
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
		x := s.expect(s.at(p), usual)
		rows[i] = row{weights: x.weights(), linear: x.compute(), kv: x.kv, scan: x.scan, fixed: x.reduce, measured: p.Ms, prompt: p.Input > 0}
	}
	return rows
}

// at is the pass of a point.
func (s *Setup) at(p Point) pass {
	if p.Input > 0 {
		return s.prefill(p.Input, p.Cached)
	}
	return s.decode(p.Batch, p.Context)
}

// coefficients are what the constants are multiplied with, if reading and
// computing take equally long at this ratio of their factors.
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

// ms is what the fit predicts for a point.
func (f *fit) ms(p Point) float64 { return f.setup.rows([]Point{p})[0].ms(f.constant) }

// report is the fit in the words of a reader.
func (f *fit) report(points []Point) *Fit {
	usual := f.setup.usual(f.setup.Efficiency)
	out := &Fit{OverheadMs: f.constant[overhead], Memory: usual.memory / f.constant[memory]}
	shares := usual.compute.times(1 / f.constant[compute])
	if f.free[compute] {
		share := shares.of(f.setup.Device.DenseTFLOPS.kind(f.setup.experts().kind))
		out.Compute = &share
	} else {
		out.Notes = append(out.Notes, "no point is limited by computing in a way that tells its efficiency: the usual one stays")
	}
	rows := f.setup.rows(points)
	if moved := f.moved(rows, overhead); moved > loose*out.OverheadMs {
		out.Notes = append(out.Notes, fmt.Sprintf("the overhead is loose: an error of 1 %% in each time could move it by %.2g ms; rows whose times differ more would tell it", moved))
	}
	for i, r := range rows {
		ms := r.ms(f.constant)
		out.Points = append(out.Points, Fitted{Point: points[i], FittedMs: ms, Off: ms/r.measured - 1})
	}
	spread := 0.05 // nothing tells: a judgement
	if more := len(points) - f.unknowns(); more > 0 {
		spread = math.Sqrt(f.residuals / float64(more))
		out.Spread = &spread
	} else {
		out.Notes = append(out.Notes, "as many constants as points: the fit goes through them, and its residuals say nothing")
	}
	if out.Memory > 0.999 {
		out.Notes = append(out.Notes, "the memory efficiency is at its limit: the points are as fast as the peak, or faster; is the hardware or the precision another?")
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
	if !f.free[compute] { // as uncertain as it was
		low.Compute, high.Compute = e.Low.Compute, e.High.Compute
	}
	e.Low, e.High = low, high
	e.Source = fmt.Sprintf("fitted to %d measured points", len(out.Points))
	return e
}
