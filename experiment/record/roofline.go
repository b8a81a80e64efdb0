package record

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/roofline"
)

// RowBound is what the hardware would allow for the batch and context that were observed.
type Roofline struct {
	Model     string         `json:"model"`
	Hardware  string         `json:"hardware"`
	Vendor    string         `json:"vendor,omitempty"` // of the hardware: nvidia, amd, cpu, …; absent: not told
	GPUs      int            `json:"gpus"`
	Precision string         `json:"precision"`
	Batch     float64        `json:"batch"`          // mean number of requests between first and last token, as a token of the window meets them; those queued are not in it
	Context   float64        `json:"context_tokens"` // mean tokens of prompt and answer so far, of the tokens of the window
	Input     float64        `json:"input_tokens"`   // mean prompt tokens
	Cached    float64        `json:"cached_tokens"`  // mean cached prompt tokens, 0 where not told
	TPOT      roofline.Bound `json:"tpot"`
	TTFT      roofline.Bound `json:"ttft"`
	// Loaded is tpot where the prompts of other requests are computed in between, as in a steady load of the lengths that
	// were observed. A server that computes prompts on other devices can be faster.
	Loaded *roofline.Bound `json:"tpot_beside_prompts,omitempty"`

	TPOTRatio *float64 `json:"tpot_measured_over_floor"` // p50 / floor; null: no tpot
	TTFTRatio *float64 `json:"ttft_measured_over_floor"`
	// TPOTPlace is where the measured p50 lies; absent: there is none. It is slow only above the band of tpot_beside_prompts.
	TPOTPlace roofline.Place `json:"tpot_place,omitempty"`
	TTFTPlace roofline.Place `json:"ttft_place,omitempty"`

	MBU *float64 `json:"mbu,omitempty"` // share of the peak memory bandwidth that decode steps of tpot's p50 use; absent: no tpot, or none above 0
	MFU *float64 `json:"mfu,omitempty"` // share of the peak compute that the window's tokens need, those of cached prompts not; absent: the peak is unknown
}

// Bounds computes what the hardware would allow for a row; the zero value can't, and says why.
type RooflineSource struct {
	setup   *roofline.Setup
	missing string
}

// NewBounds looks up the model and the hardware of the target.
func NewRooflineSource(models roofline.Models, hardware roofline.Hardware, model string, t experiment.Target) RooflineSource {
	if t.Hardware == "" {
		return RooflineSource{missing: "hardware is not stated in [target]"}
	}
	if t.GPUs == 0 {
		return RooflineSource{missing: "gpus is not stated in [target]"}
	}
	device, err := hardware.Find(t.Hardware)
	if err != nil {
		return RooflineSource{missing: err.Error()}
	}
	m, err := models.Find(model)
	if err != nil {
		return RooflineSource{missing: err.Error()}
	}
	s := &roofline.Setup{Model: m, Device: device, GPUs: t.GPUs, Precision: t.Precision, Efficiency: &hardware.Efficiency}
	if err := s.Check(); err != nil {
		return RooflineSource{missing: err.Error()}
	}
	return RooflineSource{setup: s}
}

// of is the bound for what was observed, not for what was asked.
func (b RooflineSource) Of(s *Summary, seen Decoding, t experiment.Target) (*Roofline, string) {
	if b.setup == nil {
		return nil, b.Missing()
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
	if seen.batch == 0 { // no two tokens came apart
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
		if s.TPOT.P50 > 0 { // 0: answers came all at once
			r.MBU = new(b.setup.MBU(r.Batch, r.Context, s.TPOT.P50))
		}
	}
	if s.TTFT != nil {
		r.TTFTRatio, r.TTFTPlace = beside(r.TTFT, s.TTFT.P50)
	}
	if mfu, ok := b.setup.MFU(s.Throughput.PromptTokensPerS*(1-Ratio(r.Cached, r.Input)), s.Throughput.OutputTokensPerS); ok {
		r.MFU = &mfu
	}
	return r, ""
}

func Ratio(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

func beside(b roofline.Bound, ms float64) (ratio *float64, place roofline.Place) {
	if b.FloorMs <= 0 {
		return nil, ""
	}
	return new(ms / b.FloorMs), b.Place(ms)
}

// promptMs is what a prompt adds to a step that reads the weights anyway: its operations, and reading its cached prefix. 0: the
// device's compute peak is unknown.
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

// Missing says why there are no bounds; empty: there are.
func (b RooflineSource) Missing() string {
	if b.setup != nil {
		return ""
	}
	return cmp.Or(b.missing, "no model and no hardware to compute it from")
}

// foreign is the hardware where it is none that telemetry reads; empty: it is NVIDIA's, or nobody told.
func (b RooflineSource) Foreign() string {
	if b.setup == nil || b.setup.Device.Vendor == "" || b.setup.Device.Vendor == NVIDIA {
		return ""
	}
	return b.setup.Device.ID
}

// nvidia is the vendor whose GPUs have an exporter that telemetry reads.
const NVIDIA = "nvidia"

// decoding is what the server's batch was, as far as the client can see it: the requests between
// their first and their last token.
type Decoding struct {
	batch   float64 // mean that a token meets, itself among them; 0 = there was none, as without streaming
	context float64 // mean prompt and answer so far
}

// observe counts by token, not by time: a step that computes a long prompt takes as long as ten that
// only decode, and fewer requests are decoding in it; that is not the batch of a step.
func ObserveDecoding(records []*Record, w Window) Decoding {
	busy := changes(records)
	var tokens, batch, context float64
	for _, r := range records {
		if !r.decoded() {
			continue
		}
		i, _ := slices.BinarySearchFunc(busy, r.First.us, func(c change, us int64) int { return cmp.Compare(c.us, us) })
		at, each, n := r.First, float64(r.OutputTokens)/float64(r.Gaps.Len()+1), 1.0
		for us := range r.Gaps.All() {
			at.us += us
			n++
			for i+1 < len(busy) && busy[i+1].us < at.us {
				i++
			}
			if w.has(at) {
				tokens++
				batch += float64(busy[i].n)
				context += float64(r.Prompt()) + n*each
			}
		}
	}
	if tokens == 0 {
		return Decoding{}
	}
	return Decoding{batch: batch / tokens, context: context / tokens}
}

// decoded says that tokens came one after the other.
func (r *Record) decoded() bool { return r.First.ok && r.Last.ok && r.Last.us > r.First.us }

// change is how many requests decode from a moment on.
type change struct {
	us int64
	n  int
}

// changes are in the order of time, one for each moment.
func changes(records []*Record) []change {
	var all []change
	for _, r := range records {
		if r.decoded() {
			all = append(all, change{r.First.us, 1}, change{r.Last.us, -1})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.us, b.us) })
	out := all[:0]
	n := 0
	for _, c := range all {
		n += c.n
		if len(out) > 0 && out[len(out)-1].us == c.us {
			out[len(out)-1].n = n
		} else {
			out = append(out, change{c.us, n})
		}
	}
	return out
}

// Little is Little's law on the row itself: as many requests are in the server as arrive in the time
// that one stays. It holds for any row whose load is steady, whatever the server does; where it
// doesn't, the row's figures are of a queue that grows or drains, or of records that are not whole.
type Little struct {
	InFlight   float64 `json:"in_flight"`            // N: mean number of requests sent and not over
	RequestsS  float64 `json:"ended_requests_per_s"` // λ: those that ended in the window, of any phase and outcome
	MeanMs     float64 `json:"mean_stay_ms"`         // W: mean of these, from sent to over
	Off        float64 `json:"off"`                  // λ·W / N − 1
	Tolerance  float64 `json:"tolerance"`            // of a steady row: what is cut at the ends of the window, at most one stay
	Consistent bool    `json:"consistent"`
}

// littlesLaw is nil where no request ended in the window.
func LittlesLaw(records []*Record, w Window) *Little {
	const least = 0.02
	ended, stay, inside := 0, 0.0, 0.0
	for _, r := range records {
		if !r.Sent.ok || !r.End.ok {
			continue
		}
		inside += float64(max(0, min(r.End.us, w.EndUs)-max(r.Sent.us, w.StartUs)))
		if w.has(r.End) {
			ended++
			stay += float64(r.End.us - r.Sent.us)
		}
	}
	length := float64(w.EndUs - w.StartUs)
	if ended == 0 || inside == 0 || length <= 0 {
		return nil
	}
	l := &Little{InFlight: inside / length, RequestsS: float64(ended) / length * 1e6, MeanMs: stay / float64(ended) / 1e3}
	l.Off = stay/inside - 1
	l.Tolerance = max(least, l.MeanMs*1e3/length)
	l.Consistent = math.Abs(l.Off) <= l.Tolerance
	return l
}
