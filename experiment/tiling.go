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

// Defaults of a tiling row, those of the tool that it is compared with.
const (
	tileInput   = 32_000
	tileOutput  = 100
	tileOffload = 100.0 // GiB
	tileRatio   = 0.9
	perInFlight = 3 // contexts for each request in flight
)

// Sizing says how many contexts fill a tier of the KV cache, and from what.
type Sizing struct {
	OffloadGiB    float64 // of the tier
	Ratio         float64 // of it that is filled
	BytesPerToken float64
	Input         int // tokens of a context, its question included

	// Where the model says the bytes:
	Model       string  // its entry in the model table; empty: the bytes were stated
	KVPrecision string  // assumed or stated
	Full        float64 // bytes a token where every layer keeps every token
	Resident    float64 // the same as windows and linear layers keep them, on average over a context
}

const gib = 1 << 30

// ContextGiB is what one context takes.
func (z Sizing) ContextGiB() float64 { return z.BytesPerToken * float64(z.Input) / gib }

// Contexts is floor(ratio · tier / context): one more would be over what is to be filled.
func (z Sizing) Contexts() int {
	return int(math.Min(math.Floor(z.Ratio*z.OffloadGiB*gib/(z.BytesPerToken*float64(z.Input))), math.MaxInt32))
}

// InFlight is a third of the contexts, and one at least: none would be a workload that stands still.
func InFlight(contexts int) int { return max(1, contexts/perInFlight) }

// none says why no context fits.
func (z Sizing) none() error {
	return fmt.Errorf("no context fits: %.4g × %.4g GiB to fill, and a context of %d tokens of %.10g bytes takes %.4g GiB\nhint: a larger tier (offload_gib), a shorter input, or fewer bytes_per_token",
		z.Ratio, z.OffloadGiB, z.Input, z.BytesPerToken, z.ContextGiB())
}

// sizing is what a row states, with the defaults; its bytes a token are 0 where the model has to say them.
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

// of takes the bytes of a token from a model.
func (z Sizing) of(m roofline.Model, t *workload.Tile) Sizing {
	s := roofline.Setup{Model: m, KVPrecision: t.KVPrecision}
	z.Model, z.KVPrecision = m.ID, cmp.Or(t.KVPrecision, "bf16")
	z.Full, z.Resident = s.KVBytesPerToken(), s.KVBytes(float64(z.Input))/float64(z.Input)
	z.BytesPerToken = z.Full
	if t.Accounting == workload.Resident {
		z.BytesPerToken = z.Resident
	}
	return z
}

// errUnsized says that a row's contexts can't be counted yet.
var errUnsized = errors.New("how many contexts there are follows from the model's KV cache, and the model is not known\nhint: state model in [target], or bytes_per_token or contexts in [row.tile]")

// Size fills in what follows from a tiling row's sizing: the contexts, the slots, and the requests of its rounds. model is the
// name that the server goes by, empty where it is not known yet: then only what is stated can be used. The sizing is nil for
// a row that states its contexts, and for one that is no tiling.
func (s *Spec) Size(models roofline.Models, model string, gpus int) (*Sizing, error) {
	if s.Tile == nil {
		return nil, nil
	}
	var used *Sizing
	t := *s.Tile // the row's other repeats have the same
	if t.Contexts == 0 {
		z, err := s.sized(&t, models, model, gpus)
		if err != nil {
			return nil, err
		}
		t.Contexts, used = z.Contexts(), &z
	}
	s.Tile = &t
	if s.Rate == 0 && s.Concurrency == 0 {
		s.Concurrency = InFlight(t.Contexts)
	}
	if s.Warmup == (workload.Extent{}) {
		s.Warmup = s.tileWarmup(t.Contexts)
	}
	if t.Rounds > 0 {
		s.Requests = t.Rounds * t.Contexts
	}
	return used, nil
}

// A rotation of few or short contexts is over before server and client run as they will: clocks, graphs and batches take longer.
const (
	warmTime   = workload.Span(time.Minute)
	warmShares = 10 // of a stated duration the warm-up need not take more than one of so many, or a trial would be all warm-up
)

// tileWarmup is the first rotation, which finds nothing, whole, however long it takes: the rest of it would be measured as if the
// caches had been tried. It goes on for a minute where it ends sooner, or for a tenth of the stated duration. Where rounds or
// requests end the row it is the rotation alone.
func (s *Spec) tileWarmup(contexts int) workload.Extent {
	e := workload.Extent{Requests: contexts}
	switch {
	case s.Endless():
		e.Time = warmTime
	case s.Duration > 0:
		e.Time = min(warmTime, s.Duration/warmShares)
	}
	return e
}

func (s *Spec) sized(t *workload.Tile, models roofline.Models, model string, gpus int) (Sizing, error) {
	if t.OffloadPerGPUGiB > 0 && gpus < 1 {
		return Sizing{}, errors.New("the tier is sized by GPU, and how many there are is not stated\nhint: gpus = 8 in [target], or --gpus 8")
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
		z = z.of(m, t)
	}
	if z.Contexts() < 1 {
		return z, z.none()
	}
	return z, nil
}

// presetTile fills in what a tiling row leaves out.
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
	if _, err := s.Size(nil, "", 0); err != nil {
		problem, hint, _ := strings.Cut(err.Error(), "\nhint: ")
		bad("tile", problem, hint)
	}
}

// sizedLoad is the load to be checked: what the sizing will fill in counts as stated, and the end of a row without one.
func (s *Spec) sizedLoad() workload.Load {
	l := s.Phases()
	if s.Endless() && l.Duration == 0 && l.Requests == 0 {
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

// ContextsOver is the least number of contexts that a cache of so many tokens can't hold even without one of them: the worst case
// for it. With fewer it may find some.
func ContextsOver(cache, input int) int { return (cache+input-1)/input + 1 }
