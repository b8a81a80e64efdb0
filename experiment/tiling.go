package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"bench/experiment/roofline"
	"bench/experiment/workload"
)

// Defaults of a tiling row: those of tmesh-cli benchmark.
const (
	tileInput   = 32_000
	tileOutput  = 100
	tileOffload = 100.0 // GiB
	tileRatio   = 0.9
	perInFlight = 3 // contexts per request in flight
)

// Sizing is the number of contexts that fill a tier of the KV cache, with its inputs.
type Sizing struct {
	OffloadGiB    float64 // size of the tier
	Ratio         float64 // share of the tier to fill
	BytesPerToken float64
	Input         int // tokens of a context, its question included

	// Only if the bytes come from the model table:
	Model       string  // id in the table; empty = the row specifies the bytes
	KVPrecision string  // specified, else bf16
	Full        float64 // bytes per token if every layer keeps every token
	Resident    float64 // mean bytes per token if windows and linear layers keep less
}

const gib = 1 << 30

func (z Sizing) ContextGiB() float64 { return z.BytesPerToken * float64(z.Input) / gib }

// Contexts is the number of contexts that fit: floor(ratio · tier / context).
func (z Sizing) Contexts() int {
	return int(math.Min(math.Floor(z.Ratio*z.OffloadGiB*gib/(z.BytesPerToken*float64(z.Input))), math.MaxInt32))
}

// noneFits is the error of a tier that is smaller than one context.
func (z Sizing) noneFits() error {
	return fmt.Errorf("no context fits: %.4g × %.4g GiB to fill, but a context of %d tokens at %.10g bytes takes %.4g GiB\n"+
		"hint: a larger tier (offload_gib, --offload-size), a shorter input (--input) or fewer bytes_per_token (--bytes-per-token)",
		z.Ratio, z.OffloadGiB, z.Input, z.BytesPerToken, z.ContextGiB())
}

// sizing is the row's sizing with the defaults; 0 bytes per token = take them from the model.
func sizing(t *workload.Tile, input, gpus int) Sizing {
	z := Sizing{OffloadGiB: t.OffloadGiB, Ratio: t.Ratio, BytesPerToken: t.BytesPerToken, Input: input}
	if t.OffloadPerGPUGiB > 0 {
		z.OffloadGiB = t.OffloadPerGPUGiB * float64(gpus)
	}
	if z.OffloadGiB == 0 {
		z.OffloadGiB = tileOffload
	}
	if z.Ratio == 0 {
		z.Ratio = tileRatio
	}
	return z
}

// withModel takes the bytes per token from a model.
func (z Sizing) withModel(m roofline.Model, t *workload.Tile) Sizing {
	s := roofline.Setup{Model: m, KVPrecision: t.KVPrecision}
	z.Model, z.KVPrecision = m.ID, cmp.Or(t.KVPrecision, "bf16")
	z.Full, z.Resident = s.KVBytesPerToken(), s.KVBytes(float64(z.Input))/float64(z.Input)
	z.BytesPerToken = z.Full
	if t.Accounting == workload.Resident {
		z.BytesPerToken = z.Resident
	}
	return z
}

// errUnsized is the error of a row whose number of contexts depends on an unknown model.
var errUnsized = errors.New("the number of contexts depends on the model's KV cache, and the model is unknown\n" +
	"hint: write model in [target], or bytes_per_token or contexts in [row.tile]")

// SizeTiling fills in the contexts of a tiling row, and the concurrency, warm-up and requests that depend on
// them. model is the served name; empty = not known yet. The sizing is nil for a row that specifies its
// contexts, and for other rows.
func (s *Spec) SizeTiling(models roofline.Models, model string, gpus int) (*Sizing, error) {
	if s.Tile == nil {
		return nil, nil
	}
	var used *Sizing
	t := *s.Tile // the row's other repeats share the pointer
	if t.Contexts == 0 {
		z, err := s.sized(&t, models, model, gpus)
		if err != nil {
			return nil, err
		}
		t.Contexts, used = z.Contexts(), &z
	}
	s.Tile = &t
	if s.Rate == 0 && s.Concurrency == 0 {
		s.Concurrency = max(1, t.Contexts/perInFlight)
	}
	if s.Warmup == (workload.Extent{}) {
		s.Warmup = s.tileWarmup(t.Contexts)
	}
	if t.Rounds > 0 {
		s.Requests = t.Rounds * t.Contexts
	}
	return used, nil
}

// A short rotation ends before clocks, graphs and batches of the server are warm: the warm-up takes at least
// warmTime, or 1/warmShares of the duration if that is less.
const (
	warmTime   = workload.Span(time.Minute)
	warmShares = 10
)

// tileWarmup is the whole first rotation, which can't hit any cache, and at least warmTime. If rounds or
// requests end the row, it is the rotation alone.
func (s *Spec) tileWarmup(contexts int) workload.Extent {
	e := workload.Extent{Requests: contexts}
	switch {
	case s.UntilInterrupted():
		e.Time = warmTime
	case s.Duration > 0:
		e.Time = min(warmTime, s.Duration/warmShares)
	}
	return e
}

func (s *Spec) sized(t *workload.Tile, models roofline.Models, model string, gpus int) (Sizing, error) {
	if t.OffloadPerGPUGiB > 0 && gpus < 1 {
		return Sizing{}, errors.New("offload_gib_per_gpu needs the number of GPUs\nhint: --gpus 8, or gpus = 8 in [target]")
	}
	z := sizing(t, s.Input.Least(), gpus)
	if z.BytesPerToken == 0 {
		if model == "" {
			return z, errUnsized
		}
		m, err := models.Find(model)
		if err != nil {
			return z, err
		}
		z = z.withModel(m, t)
	}
	if z.Contexts() < 1 {
		return z, z.noneFits()
	}
	return z, nil
}

// presetTile fills in the defaults of a tiling row, and reports a size that no context fits.
func (s *Spec) presetTile(bad func(key, problem, hint string)) {
	if s.Generator != workload.Tiling {
		return
	}
	if s.Tile == nil {
		s.Tile = &workload.Tile{}
	}
	if s.Input.IsZero() {
		s.Input = workload.Fixed(tileInput)
	}
	if s.Output.IsZero() {
		s.Output = workload.Fixed(tileOutput)
	}
	if err := (roofline.Setup{KVPrecision: s.Tile.KVPrecision}).CheckKV(); err != nil {
		bad("tile.kv_precision", err.Error(), `write kv_precision = "fp8"`)
	}
	if s.Tile.Contexts == 0 && s.Tile.BytesPerToken == 0 || s.Input.Dist != "fixed" || s.Tile.OffloadPerGPUGiB > 0 {
		return
	}
	if _, err := s.SizeTiling(nil, "", 0); err != nil {
		problem, hint, _ := strings.Cut(err.Error(), "\nhint: ")
		bad("tile", problem, hint)
	}
}

// sizedLoad is the load to check: with placeholders for what Size fills in later, and for the end of an
// endless row.
func (s *Spec) sizedLoad() workload.Load {
	l := s.EffectiveLoad()
	if s.UntilInterrupted() && l.Duration == 0 && l.Requests == 0 {
		l.Requests = 1
	}
	if s.Tile == nil {
		return l
	}
	if s.Rate == 0 && l.Concurrency == 0 {
		l.Concurrency = 1
	}
	if s.Tile.Rounds > 0 && l.Requests == 0 {
		l.Requests = 1
	}
	return l
}

// ContextsToOverflow is the smallest number of contexts that always miss in an LRU cache of that many
// tokens, when they come in a circle: the cache can't hold all but one. With fewer contexts some hit.
func ContextsToOverflow(cache, input int) int { return (cache+input-1)/input + 1 }
