package experiment

import (
	"cmp"

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
	if t.GPUs == 0 {
		return Bounds{missing: "gpus is not stated in [target]"}
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
// batch is the mean number of requests that were decoding.
func (b Bounds) of(s *Summary, batch float64, t Target) (*RowBound, string) {
	if b.setup == nil {
		return nil, b.Missing()
	}
	n := float64(s.Requests.Completed)
	if n == 0 {
		return nil, "no request completed"
	}
	r := &RowBound{
		Model: b.setup.Model.ID, Hardware: b.setup.Device.ID, GPUs: t.GPUs, Precision: t.Precision,
		Batch: max(1, batch), Input: float64(s.Tokens.Prompt) / n,
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

// Missing says why there are no bounds; empty: there are.
func (b Bounds) Missing() string {
	if b.setup != nil {
		return ""
	}
	return cmp.Or(b.missing, "no model and no hardware to compute it from")
}
