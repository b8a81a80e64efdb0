package workload

import (
	"cmp"
	"slices"
)

const (
	synthetic = "synthetic" // drawn lengths, prefixes, conversations
	Replay    = "trace"     // of [row.trace]
	Tiling    = "tiling"    // of [row.tile]
)

// Tile cycles the requests of a row through a fixed list of contexts, always in the same order; each request
// has a random question of its context appended. An LRU cache hits everything while the contexts fit, and
// nothing once they exceed its capacity, however slightly. Hits beyond its capacity must therefore come from
// a tier that holds all contexts.
//
// The number of contexts is given, or computed from the size of the tier to fill (Size in package experiment).
type Tile struct {
	// 0 = computed from the size of the tier
	Contexts int `toml:"contexts" json:"contexts"`
	// for each context; 0 = the number of contexts
	Questions int `toml:"-" json:"questions,omitempty"`
	// at the end of the input; 0 = 32, or half of a shorter input
	QuestionTokens int `toml:"-" json:"question_tokens,omitempty"`
	// rotations of the window; 0 = duration and requests apply
	Rounds int `toml:"rounds" json:"rounds,omitempty"`

	// size of the tier to fill in GiB; 0 = 100
	OffloadGiB float64 `toml:"offload_gib" json:"offload_gib,omitempty"`
	// KV cache bytes; 0 = computed from the model
	BytesPerToken float64 `toml:"bytes_per_token" json:"bytes_per_token,omitempty"`
	// of the KV cache, to compute its bytes; empty = bf16
	KVPrecision string `toml:"kv_precision" json:"kv_precision,omitempty"`

	// Fit is what the contexts fill: a tier (FitTier, also when empty), one context more than the server's own KV
	// cache holds (FitHBM), or a tier if the model's bytes are known, else that cache (FitAuto).
	Fit string `toml:"fit" json:"fit,omitempty"`
}

const (
	fitTier = "offload"
	FitHBM  = "hbm"
	FitAuto = "auto"
)

func (t *Tile) Sized() bool {
	return t.OffloadGiB > 0 || t.BytesPerToken > 0 || t.KVPrecision != ""
}

// defaultQuestion is two blocks.
const defaultQuestion = 2 * BlockTokens

func (t *Tile) question(input int) int {
	if t.QuestionTokens > 0 {
		return min(t.QuestionTokens, input)
	}
	return min(defaultQuestion, input/2)
}

func (t *Tile) PerContext() int { return cmp.Or(max(t.Questions, 0), t.contexts()) }

// contexts is at least 1, so that a plan works before the number is computed.
func (t *Tile) contexts() int { return max(t.Contexts, 1) }

// maxContexts bounds the number of contexts: the number of questions is its square by default.
const maxContexts = 1 << 24

func checkGenerator(w *Workload, bad mistakes) {
	is := func(generators ...string) bool { return slices.Contains(generators, w.Generator) }
	without := func(table string, there bool) {
		bad.unless(!there, table, "remove workload or [row."+table+"]", "workload %q cannot have [row.%s]", w.Generator,
			table)
	}
	bad.unless(is("", synthetic, Replay, Tiling), "workload", `write "synthetic", "trace" or "tiling"`,
		"unknown workload %q", w.Generator)
	bad.unless(!is("") || w.Tile == nil, "tile", `write workload = "tiling" in the row, or remove [row.tile]`,
		`[row.tile] requires workload = "tiling"`)
	bad.unless(!is(Replay) || w.Trace != nil, "workload", `add [row.trace] with file = "trace.jsonl"`,
		`workload = "trace" requires a trace`)
	without("trace", is(synthetic, Tiling) && w.Trace != nil)
	without("tile", is(synthetic, Replay) && w.Tile != nil)
}

func checkTile(w *Workload, bad mistakes) {
	t := w.Tile
	switch {
	case len(w.Mix) > 0:
		bad("mix", "a tiling row cannot have a mix", "remove mix, or make it a separate row")
	case w.Pairs != nil || w.Prefix != nil || w.Session != nil || w.Prompts != nil:
		bad("tile", "a tiling row cannot have pairs, prefix, prompts or session",
			"remove pairs, prefix, prompts and session")
	case w.Input.Dist != "fixed":
		bad("input", "a tiling row needs a fixed input length",
			"write input = 32000 (prompt tokens, the question included)")
	}
	bad.unless(w.Output.set(), "output", "write output = 100 (tokens to write)", "the output length is missing")
	number := func(key string, n int, like string) {
		bad.unless(n >= 0 && n <= maxContexts, "tile."+key, "write "+like, "%s %d is not between 1 and %d", key, n,
			maxContexts)
	}
	number("contexts", t.Contexts, "contexts = 40")
	number("questions", t.Questions, "questions = 40")
	number("rounds", t.Rounds, "rounds = 3")
	t.checkSizing(bad)
}

func (t *Tile) checkSizing(bad mistakes) {
	positive := func(key string, x float64, like string) {
		bad.unless(x >= 0 && x <= 1<<30, "tile."+key, "write "+like, "%s must be above 0 and at most %d, not %v", key,
			1<<30, x)
	}
	positive("offload_gib", t.OffloadGiB, "offload_gib = 100")
	positive("bytes_per_token", t.BytesPerToken, "bytes_per_token = 131072")
	bad.unless(t.Fit != FitHBM || t.Contexts <= 0 && !t.Sized(), "tile.fit",
		"remove fit, or contexts and the keys of the tier's size",
		`fit = "hbm" counts the contexts from the server's KV cache`)
	bad.unless(slices.Contains([]string{"", fitTier, FitHBM, FitAuto}, t.Fit), "tile.fit",
		`write "offload", "hbm" or "auto"`, "unknown fit %q", t.Fit)
	bad.unless(t.BytesPerToken == 0 || t.KVPrecision == "", "tile.bytes_per_token",
		"remove bytes_per_token, or kv_precision", "bytes_per_token cannot be combined with kv_precision")
}

func (t *Tile) blocks(s seeds, i, input int) []Block {
	context := uint64(i % t.contexts())
	question := uint64(s.rand(streamQuestion, uint64(i)).IntN(t.PerContext()))
	asks := t.question(input)
	out := s.fill(make([]Block, 0, input/BlockTokens+2), input-asks, blockContext, context)
	return s.fill(out, asks, blockQuestion, context, question)
}
