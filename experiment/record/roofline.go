package record

import (
	"cmp"
	"strings"

	"bench/experiment"
	"bench/experiment/roofline"
)

// Roofline is the latency floor of the hardware for the observed batch and context.
type Roofline struct {
	Model     string         `json:"model"`
	Hardware  string         `json:"hardware"`
	Vendor    string         `json:"vendor,omitempty"` // of the hardware: nvidia, amd, cpu, …; absent = unknown
	GPUs      int            `json:"gpus"`
	Precision string         `json:"precision"`
	Batch     float64        `json:"batch"`          // mean number of requests that decode at a token of the window; without queued ones
	Context   float64        `json:"context_tokens"` // mean tokens of prompt and answer so far, at a token of the window
	Input     float64        `json:"input_tokens"`   // mean prompt tokens
	Cached    float64        `json:"cached_tokens"`  // mean cached prompt tokens; 0 = not reported
	TPOT      roofline.Bound `json:"tpot"`
	TTFT      roofline.Bound `json:"ttft"`
	// Loaded is tpot with the prefill of other requests in between, in a steady load of the observed lengths.
	// A server that prefills on other devices can be faster.
	Loaded *roofline.Bound `json:"tpot_beside_prompts,omitempty"`

	TPOTRatio *float64 `json:"tpot_measured_over_floor"` // p50 / floor; null = no tpot
	TTFTRatio *float64 `json:"ttft_measured_over_floor"`
	// TPOTPlace is the place of the measured p50; absent = no tpot. It is slow only above the typical range
	// of tpot_beside_prompts.
	TPOTPlace roofline.Place `json:"tpot_place,omitempty"`
	TTFTPlace roofline.Place `json:"ttft_place,omitempty"`

	MBU *float64 `json:"mbu,omitempty"` // share of the peak memory bandwidth that decode steps of the tpot p50 use; absent = no tpot above 0
	MFU *float64 `json:"mfu,omitempty"` // share of the peak compute that the window's tokens need, without cached ones; absent = unknown peak
}

// RooflineSource computes the roofline of rows. The zero value has none, and Missing is the reason.
type RooflineSource struct {
	setup   *roofline.Setup
	missing string
	stored  *Roofline // in place of a setup
}

// NewRooflineSource looks up the model and the target's hardware.
func NewRooflineSource(models roofline.Models, hardware roofline.Hardware, model string, t experiment.Target) RooflineSource {
	if t.Hardware == "" {
		return RooflineSource{missing: "hardware is not specified in [target]"}
	}
	var missing []string
	if t.GPUs == 0 {
		missing = append(missing, "gpus is not specified in [target]")
	}
	device, err := hardware.Find(t.Hardware)
	if err != nil {
		missing = append(missing, err.Error())
	}
	m, err := models.Find(model)
	if err != nil {
		missing = append(missing, err.Error())
	}
	if len(missing) > 0 {
		return RooflineSource{missing: strings.Join(missing, "; ")}
	}
	s := &roofline.Setup{Model: m, Device: device, GPUs: t.GPUs, Precision: t.Precision, Efficiency: &hardware.Efficiency}
	if err := s.Check(); err != nil {
		return RooflineSource{missing: err.Error()}
	}
	return RooflineSource{setup: s}
}

// Or is a source that gives the stored roofline, if b has none; nil = there is none.
func (b RooflineSource) Or(stored *Roofline) RooflineSource {
	if b.Missing() == "" || stored == nil {
		return b
	}
	return RooflineSource{stored: stored}
}

// Of is the roofline for the observed batch and lengths, not for the requested ones; nil and the reason
// without one.
func (b RooflineSource) Of(s *Summary, seen Decoding, t experiment.Target) (*Roofline, string) {
	if b.setup == nil {
		return b.stored, b.Missing()
	}
	n := float64(s.Requests.Completed)
	if n == 0 {
		return nil, "no request completed"
	}
	r := &Roofline{
		Model: b.setup.Model.ID, Hardware: b.setup.Device.ID, Vendor: b.setup.Device.Vendor, GPUs: t.GPUs, Precision: t.Precision,
		Batch: max(1, seen.batch), Context: seen.context, Input: float64(s.Tokens.Prompt) / n,
	}
	if s.Tokens.Cached != nil {
		r.Cached = float64(*s.Tokens.Cached) / n
	}
	if seen.batch == 0 { // no decoding to observe
		r.Context = r.Input + float64(s.Tokens.Output)/n/2
	}
	r.TPOT = b.setup.Decode(r.Batch, r.Context)
	r.TTFT = b.setup.Prefill(r.Input, r.Cached)
	loaded := b.setup.Loaded(r.Batch, r.Context, r.Input, r.Cached, float64(s.Tokens.Output)/n)
	r.Loaded = &loaded
	if s.TPOT != nil {
		r.TPOTRatio, r.TPOTPlace = beside(r.TPOT, s.TPOT.P50)
		if r.TPOTPlace == roofline.Slow && s.TPOT.P50 <= loaded.HighMs {
			r.TPOTPlace = roofline.Inside
		}
		if s.TPOT.P50 > 0 { // 0 = buffered answers
			r.MBU = new(b.setup.MBU(r.Batch, r.Context, s.TPOT.P50))
		}
	}
	if s.TTFT != nil {
		r.TTFTRatio, r.TTFTPlace = beside(r.TTFT, s.TTFT.P50)
	}
	if mfu, ok := b.setup.MFU(s.Throughput.PromptTokensPerS*(1-share(r.Cached, r.Input)), s.Throughput.OutputTokensPerS); ok {
		r.MFU = &mfu
	}
	return r, ""
}

// share is part / whole; 0 of nothing.
func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// beside is a measured latency ÷ its floor, and its place in the typical range.
func beside(b roofline.Bound, ms float64) (ratio *float64, place roofline.Place) {
	if b.FloorMs <= 0 {
		return nil, ""
	}
	return new(ms / b.FloorMs), b.Place(ms)
}

// PromptMs is the time that a prefill adds to a step that reads the weights anyway, ms: its operations, and
// reading its cached prefix. 0 = the device's compute peak is unknown.
func (b *Roofline) PromptMs() (ms float64) {
	computed := false
	for _, t := range b.TTFT.Terms {
		switch t.Name {
		case "compute":
			computed = true
			ms += t.Ms
		case "attention", "KV cache":
			ms += t.Ms
		}
	}
	if !computed {
		return 0
	}
	return ms
}

// Missing is why rows have no roofline; empty = they have one.
func (b RooflineSource) Missing() string {
	if b.setup != nil || b.stored != nil {
		return ""
	}
	return cmp.Or(b.missing, "no model and no hardware")
}

// UnsupportedHardware is the hardware if telemetry can't read its GPU metrics; empty = NVIDIA's, AMD's, or unknown.
func (b RooflineSource) UnsupportedHardware() string {
	if b.setup == nil || hasGPUMetrics(b.setup.Device.Vendor) {
		return ""
	}
	return b.setup.Device.ID
}

// The vendors whose GPU metrics telemetry reads.
const (
	NVIDIA = "nvidia"
	AMD    = "amd"
)

// hasGPUMetrics reports whether telemetry reads the GPU metrics of a vendor; empty = unknown.
func hasGPUMetrics(vendor string) bool { return vendor == "" || vendor == NVIDIA || vendor == AMD }
