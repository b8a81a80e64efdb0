package record

import (
	"cmp"
	"strings"

	"bench/experiment"
	"bench/experiment/roofline"
)

type Roofline struct {
	Model     string `json:"model"`
	Hardware  string `json:"hardware"`
	Vendor    string `json:"vendor,omitempty"` // of the hardware: nvidia, amd, cpu, …; absent = unknown
	GPUs      int    `json:"gpus"`
	Precision string `json:"precision"` // of [target]
	// of the KV cache, if it was stated; only predictions state it
	KV      string `json:"kv_precision,omitempty"`
	Weights string `json:"weight_precision,omitempty"` // of the weights, or of the experts
	// mean number of requests that decode at a token of the window; without queued ones
	Batch float64 `json:"batch"`
	// mean tokens of prompt and answer so far, at a token of the window
	Context float64 `json:"context_tokens"`
	Input   float64 `json:"input_tokens"`  // mean prompt tokens
	Cached  float64 `json:"cached_tokens"` // mean cached prompt tokens; 0 = not reported
	// TokensPerStep are the tokens of a decode step of a server that drafts, as measured: tpot is the bound on such a
	// step, drafting left out, over its tokens. Absent = one.
	TokensPerStep float64        `json:"tokens_per_step,omitempty"`
	TPOT          roofline.Bound `json:"tpot"`
	TTFT          roofline.Bound `json:"ttft"`
	// Loaded is tpot with the prefill of other requests in between, and TTFTLoaded is ttft with the queue, both in a
	// steady load of the observed lengths. A server that prefills on other devices can be faster.
	Loaded     *roofline.Bound `json:"tpot_beside_prompts,omitempty"`
	TTFTLoaded *roofline.Bound `json:"ttft_at_load,omitempty"`

	TPOTRatio *float64 `json:"tpot_measured_over_floor"` // p50 / floor; null = no tpot
	TTFTRatio *float64 `json:"ttft_measured_over_floor"`
	// TPOTPlace and TTFTPlace are the places of the measured p50s; absent = no tpot or ttft. They are slow only above
	// the typical ranges of tpot_beside_prompts and ttft_at_load.
	TPOTPlace roofline.Place `json:"tpot_place,omitempty"`
	TTFTPlace roofline.Place `json:"ttft_place,omitempty"`

	// share of the peak memory bandwidth that decode steps of the tpot p50 use; absent = no tpot above 0
	MBU *float64 `json:"mbu,omitempty"`
	// share of the peak compute that the window's tokens need, without cached ones; absent = unknown peak
	MFU *float64 `json:"mfu,omitempty"`
}

// RooflineSource computes the roofline of rows. The zero value has none, and Missing is the reason.
type RooflineSource struct {
	setup   *roofline.Setup
	missing string
	stored  *Roofline // in place of a setup
}

func NewRooflineSource(models roofline.Models, hardware roofline.Hardware, model string,
	t experiment.Target) RooflineSource {
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
	s := &roofline.Setup{Model: m, Device: device, GPUs: t.GPUs, Precision: t.Precision,
		Efficiency: &hardware.Efficiency}
	if err := s.Check(); err != nil {
		return RooflineSource{missing: err.Error()}
	}
	return RooflineSource{setup: s}
}

// RooflineOf is the source of a setup that passed Check.
func RooflineOf(s roofline.Setup) RooflineSource { return RooflineSource{setup: &s} }

func (b RooflineSource) WithKV(precision string) RooflineSource {
	if b.setup == nil || precision == "" {
		return b
	}
	s := *b.setup
	s.KVPrecision = precision
	return RooflineOf(s)
}

func (b RooflineSource) Or(stored *Roofline) RooflineSource {
	if b.Missing() == "" || stored == nil {
		return b
	}
	return RooflineSource{stored: stored}
}

// Of is the roofline for the observed batch and lengths; nil and the reason without one.
func (b RooflineSource) Of(s *Summary, seen Decoding, t experiment.Target, engine string) (*Roofline, string) {
	if b.setup == nil {
		return b.stored, b.Missing()
	}
	n := float64(s.Requests.Completed)
	if n == 0 {
		return nil, "no request completed"
	}
	if s.Tokens.Prompt == 0 { // of a real prompt not even the requested length is known
		return nil, "the server does not report prompt tokens"
	}
	r := &Roofline{
		Model: b.setup.Model.ID, Hardware: b.setup.Device.ID, Vendor: b.setup.Device.Vendor, GPUs: t.GPUs,
		Precision: t.Precision, KV: b.setup.KVPrecision, Weights: b.setup.WeightPrecision(),
		Batch: max(1, seen.batch), Context: seen.context, Input: float64(s.Tokens.Prompt) / n,
	}
	if s.Tokens.Cached != nil {
		r.Cached = float64(*s.Tokens.Cached) / n
	}
	if seen.batch == 0 { // no decoding to observe
		r.Context = r.Input + float64(s.Tokens.Output)/n/2
	}
	setup := *b.setup
	setup.Engine = cmp.Or(engine, setup.Engine)
	r.TPOT = setup.Decode(r.Batch, r.Context)
	r.TTFT = setup.Prefill(r.Input, r.Cached)
	work := roofline.Workload{Input: r.Input, Cached: r.Cached, Output: max(1, float64(s.Tokens.Output)/n)}
	load := setup.AtConcurrency(r.Batch, work)
	// A queue is made of all requests in flight, not of those that decode.
	load.TTFT = setup.AtConcurrency(max(r.Batch, s.Concurrency.Mean), work).TTFT
	if seen.perStep > 1 {
		r.TokensPerStep = seen.perStep
		r.TPOT, load.TPOT = setup.DecodeSpeculated(r.Batch, r.Context, seen.drafted, seen.perStep, load.TPOT)
	}
	r.Loaded, r.TTFTLoaded = &load.TPOT, &load.TTFT
	if s.TPOT != nil {
		r.TPOTRatio, r.TPOTPlace = beside(r.TPOT, load.TPOT, s.TPOT.P50)
		if s.TPOT.P50 > 0 { // 0 = buffered answers
			r.MBU = new(b.setup.MBU(r.Batch, r.Context, s.TPOT.P50*max(1, r.TokensPerStep)))
		}
	}
	if s.TTFT != nil {
		r.TTFTRatio, r.TTFTPlace = beside(r.TTFT, load.TTFT, s.TTFT.P50)
	}
	if mfu, ok := b.setup.MFU(s.Throughput.PromptTokensPerS*(1-r.Cached/r.Input),
		s.Throughput.OutputTokensPerS); ok {
		r.MFU = &mfu
	}
	return r, ""
}

func beside(b, loaded roofline.Bound, ms float64) (ratio *float64, place roofline.Place) {
	if b.FloorMs <= 0 {
		return nil, ""
	}
	b.HighMs = max(b.HighMs, loaded.HighMs)
	return new(ms / b.FloorMs), b.Place(ms)
}

// PromptMs is the time that a prefill adds to a step that reads the weights anyway, ms. 0 = peak unknown.
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

const (
	NVIDIA = "nvidia"
	AMD    = "amd"
)

func hasGPUMetrics(vendor string) bool { return vendor == "" || vendor == NVIDIA || vendor == AMD }
