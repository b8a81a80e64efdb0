package experiment

import (
	"cmp"
	"fmt"

	"bench/experiment/roofline"
)

// Bounds computes what the hardware would allow for a row; the zero value can't, and says why.
type Bounds struct {
	setup   *roofline.Setup
	missing string
}

// NewBounds looks up the model and the hardware of the target.
func NewBounds(models roofline.Models, model string, t Target) Bounds {
	if t.Hardware == "" {
		return Bounds{missing: "hardware is not stated in [target]"}
	}
	device, err := roofline.FindDevice(t.Hardware)
	if err != nil {
		return Bounds{missing: err.Error()}
	}
	m, err := models.Find(model)
	if err != nil {
		return Bounds{missing: err.Error()}
	}
	s := &roofline.Setup{Model: m, Device: device, GPUs: t.GPUs, Precision: t.Precision}
	if err := s.Check(); err != nil {
		return Bounds{missing: err.Error()}
	}
	return Bounds{setup: s}
}

// of is the bound for the batch and the context that were observed, not the nominal ones.
func (b Bounds) of(s *Summary, t Target) (*RowBound, string) {
	if b.setup == nil {
		return nil, b.why()
	}
	n := float64(s.Requests.Completed)
	if n == 0 {
		return nil, "no request completed"
	}
	r := &RowBound{
		Model: b.setup.Model.ID, Hardware: b.setup.Device.ID, GPUs: max(t.GPUs, 1), Precision: t.Precision,
		Batch: max(1, s.Concurrency.Mean), Input: float64(s.Tokens.Prompt) / n,
	}
	if s.Tokens.Cached != nil {
		r.Cached = float64(*s.Tokens.Cached) / n
	}
	r.Context = r.Input + float64(s.Tokens.Output)/n/2
	r.TPOT = b.setup.Decode(r.Batch, r.Context)
	r.TTFT = b.setup.Prefill(r.Input, r.Cached)
	if s.TPOT != nil && r.TPOT.FloorMs > 0 {
		x := s.TPOT.P50 / r.TPOT.FloorMs
		r.TPOTRatio = &x
	}
	if s.TTFT != nil && r.TTFT.FloorMs > 0 {
		x := s.TTFT.P50 / r.TTFT.FloorMs
		r.TTFTRatio = &x
	}
	return r, ""
}

func (b Bounds) why() string { return cmp.Or(b.missing, "no model and no hardware to compute it from") }

// String says what the bounds are computed for, or why there are none.
func (b Bounds) String() string {
	if b.setup == nil {
		return "no bounds: " + b.why()
	}
	return fmt.Sprintf("bounds for %s on %d × %s", b.setup.Model.ID, max(b.setup.GPUs, 1), b.setup.Device.ID)
}
