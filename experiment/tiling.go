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
	TileRatio   = 0.9   // share of the tier to fill
	perInFlight = 3     // contexts per request in flight
)

type Sizing struct {
	Overflows bool // the contexts exceed the server's own cache instead, as the model's bytes are unknown

	OffloadGiB    float64 // size of the tier
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

func (z Sizing) contexts() int {
	return int(math.Min(math.Floor(TileRatio*z.OffloadGiB*gib/(z.BytesPerToken*float64(z.Input))), math.MaxInt32))
}

func (z Sizing) noneFits() error {
	return fmt.Errorf("no context fits: %g × %.4g GiB to fill, but a context of %d tokens at %.10g bytes takes "+
		"%.4g GiB\nhint: a larger tier (offload_gib), a shorter input or fewer bytes_per_token",
		TileRatio, z.OffloadGiB, z.Input, z.BytesPerToken, z.ContextGiB())
}

func (z Sizing) withModel(m roofline.Model, t *workload.Tile) Sizing {
	s := roofline.Setup{Model: m, KVPrecision: t.KVPrecision}
	z.Model, z.KVPrecision = m.ID, cmp.Or(t.KVPrecision, "bf16")
	z.Full, z.Resident = s.KVBytesPerToken(), s.KVBytes(float64(z.Input))/float64(z.Input)
	z.BytesPerToken = z.Full
	return z
}

var errUnsized = errors.New("the number of contexts depends on the model's KV cache, and the model is unknown\n" +
	"hint: write model in [target], or bytes_per_token or contexts in [row.tile]")

var errNoCache = errors.New("the server does not report its KV cache (vllm:cache_config_info), " +
	"which fit = \"hbm\" needs\nhint: state the contexts: contexts = 8 in [row.tile]")

type Machine struct {
	Models      roofline.Models
	Model       string // served name; empty = not known yet
	CacheTokens int    // of the server's own KV cache; 0 = not reported
}

// SizeTiling fills in the contexts of a tiling row, and what depends on them. The sizing is nil if they are stated.
func (s *Spec) SizeTiling(m Machine) (*Sizing, error) {
	if s.Tile == nil {
		return nil, nil
	}
	t := *s.Tile // the row's other repeats share the pointer
	sizing, err := s.countContexts(&t, m)
	if err != nil {
		return nil, err
	}
	s.Tile = &t
	if s.Closed() && s.Concurrency == 0 {
		s.Concurrency = max(1, t.Contexts/perInFlight)
	}
	if s.Warmup == (workload.Extent{}) {
		s.Warmup = s.tileWarmup(t.Contexts)
	}
	if t.Rounds > 0 {
		s.Requests = t.Rounds * t.Contexts
	}
	return sizing, nil
}

// countContexts fills in the contexts, unless they are stated; those of stated bytes are counted again, for their
// sizing.
func (s *Spec) countContexts(t *workload.Tile, m Machine) (*Sizing, error) {
	auto := t.Fit == workload.FitAuto
	if auto {
		t.Fit = ""
	}
	if t.Contexts > 0 && t.BytesPerToken == 0 {
		return nil, nil
	}
	_, unknown := m.Models.Find(m.Model)
	assumed := auto && !t.Sized() && unknown != nil && m.CacheTokens > 0
	if assumed {
		t.Fit = workload.FitHBM
	}
	if t.Fit == workload.FitHBM {
		if m.CacheTokens == 0 {
			return nil, errNoCache
		}
		t.Contexts = ContextsToOverflow(m.CacheTokens, s.Input.Least())
		if assumed {
			return &Sizing{Overflows: true}, nil
		}
		return nil, nil
	}
	z, err := s.sized(t, m)
	if err != nil {
		return nil, err
	}
	t.Contexts = z.contexts()
	return &z, nil
}

// The warm-up takes at least warmTime, or 1/warmShares of the duration: a short rotation does not warm a server.
const (
	warmTime   = workload.Span(time.Minute)
	warmShares = 10
)

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

func (s *Spec) sized(t *workload.Tile, m Machine) (Sizing, error) {
	z := Sizing{OffloadGiB: cmp.Or(t.OffloadGiB, tileOffload), BytesPerToken: t.BytesPerToken, Input: s.Input.Least()}
	if z.BytesPerToken == 0 {
		if m.Model == "" {
			return z, errUnsized
		}
		model, err := m.Models.Find(m.Model)
		if err != nil {
			return z, err
		}
		z = z.withModel(model, t)
	}
	if z.contexts() < 1 {
		return z, z.noneFits()
	}
	return z, nil
}

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
	if err := roofline.CheckPrecision("KV precision", s.Tile.KVPrecision); err != nil {
		bad("tile.kv_precision", err.Error(), `write kv_precision = "fp8"`)
	}
	if s.UntilInterrupted() && (s.Duration > 0 || s.Requests > 0 || s.Tile.Rounds > 0) {
		s.Until = "" // a stated end comes first
	}
	counts := s.Tile.Contexts > 0
	switch {
	case counts && s.Tile.Sized():
		bad("tile.contexts", "contexts cannot be combined with the size of the tier",
			"remove contexts, or offload_gib, bytes_per_token and kv_precision")
		return
	case s.Tile.Fit == workload.FitHBM, s.Input.Dist != "fixed", !counts && s.Tile.BytesPerToken == 0:
		return
	}
	if _, err := s.SizeTiling(Machine{}); err != nil {
		problem, hint, _ := strings.Cut(err.Error(), "\nhint: ")
		bad("tile", problem, hint)
	}
}

func (s *Spec) sizedLoad() workload.Load {
	l := s.EffectiveLoad()
	if s.UntilInterrupted() && l.Duration == 0 && l.Requests == 0 {
		l.Requests = 1
	}
	if s.Tile == nil {
		return l
	}
	if s.Closed() && l.Concurrency == 0 {
		l.Concurrency = 1
	}
	if s.Tile.Rounds > 0 && l.Requests == 0 {
		l.Requests = 1
	}
	return l
}

// ContextsToOverflow is the smallest number of contexts that always miss in an LRU cache of that many tokens.
func ContextsToOverflow(cache, input int) int { return (cache+input-1)/input + 1 }
