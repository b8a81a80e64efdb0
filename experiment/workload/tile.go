package workload

import "fmt"

// Generators of a row's requests.
const (
	Synthetic = "synthetic" // drawn lengths, prefixes, conversations
	Replay    = "trace"     // of [row.trace]
	Tiling    = "tiling"    // of [row.tile]
)

// Tile makes the requests of a row walk round a fixed set of contexts, strictly in their order, each with a
// random question of the context's own set behind it. A cache that frees what was used longest ago finds
// nothing as soon as the set is larger than it is, by however little, and all of it as long as it is not: what
// is found again must have come from a tier that holds the whole set.
//
// How many contexts there are is stated, or follows from the tier that they are to fill (experiment's Size).
type Tile struct {
	Contexts       int `toml:"contexts" json:"contexts"`                         // 0 = as the sizing says
	Questions      int `toml:"questions" json:"questions,omitempty"`             // of each context; 0 = as many as there are contexts
	QuestionTokens int `toml:"question_tokens" json:"question_tokens,omitempty"` // of the input, at its end; 0 = 32, or half of a shorter input
	Rounds         int `toml:"rounds" json:"rounds,omitempty"`                   // rotations of the window; 0 = as duration and requests say

	OffloadGiB       float64 `toml:"offload_gib" json:"offload_gib,omitempty"`                 // GiB of the tier that the contexts are to fill; 0 = 100
	OffloadPerGPUGiB float64 `toml:"offload_gib_per_gpu" json:"offload_gib_per_gpu,omitempty"` // GiB of each GPU's buffer, in place of offload_gib: times [target] gpus
	Ratio            float64 `toml:"ratio" json:"ratio,omitempty"`                             // share of the tier that is filled; 0 = 0.9
	BytesPerToken    float64 `toml:"bytes_per_token" json:"bytes_per_token,omitempty"`         // of the KV cache; 0 = the model's
	KVPrecision      string  `toml:"kv_precision" json:"kv_precision,omitempty"`               // of the KV cache, for the model's bytes; empty = bf16
	Accounting       string  `toml:"accounting" json:"accounting,omitempty"`                   // full (also when empty): every layer keeps every token; resident: as windows and linear layers keep them
}

// Accountings of a context's bytes.
const (
	Full     = "full"
	Resident = "resident"
)

// defaultQuestion is long enough for a question, and two whole blocks.
const defaultQuestion = 2 * BlockTokens

// question is how many tokens of a prompt are the question.
func (t *Tile) question(input int) int {
	if t.QuestionTokens > 0 {
		return min(t.QuestionTokens, input)
	}
	return min(defaultQuestion, input/2)
}

// PerContext is how many questions each context has.
func (t *Tile) PerContext() int {
	if t.Questions > 0 {
		return t.Questions
	}
	return t.contexts()
}

// contexts is at least one: a plan that is not sized yet can be looked at.
func (t *Tile) contexts() int { return max(t.Contexts, 1) }

// maxContexts bounds the set: its questions are numbered by context.
const maxContexts = 1 << 24

// checkGenerator judges whether the row's tables are those of its workload.
func (w Workload) checkGenerator(bad func(key, problem, hint string)) {
	switch w.Generator {
	case "":
		if w.Tile != nil {
			bad("tile", "[row.tile] goes with another workload", `write workload = "tiling" in the row, or remove [row.tile]`)
		}
	case Synthetic:
		w.without(bad, w.Trace != nil, "trace")
		w.without(bad, w.Tile != nil, "tile")
	case Replay:
		if w.Trace == nil {
			bad("workload", `workload "trace" without a trace`, `write [row.trace] and below it file = "trace.jsonl"`)
		}
		w.without(bad, w.Tile != nil, "tile")
	case Tiling:
		w.without(bad, w.Trace != nil, "trace")
	default:
		bad("workload", fmt.Sprintf("unknown workload %q", w.Generator), `write "synthetic", "trace" or "tiling"`)
	}
}

func (w Workload) without(bad func(key, problem, hint string), there bool, table string) {
	if there {
		bad(table, fmt.Sprintf("the workload %q has no [row.%s]", w.Generator, table), "remove workload or [row."+table+"]")
	}
}

// checkTile judges a row that walks round contexts.
func (w Workload) checkTile(bad func(key, problem, hint string)) {
	t := w.Tile
	switch {
	case len(w.Mix) > 0:
		bad("mix", "a tiling row has no classes", "remove mix, or make it a row of its own")
	case w.Pairs != nil || w.Prefix != nil || w.Session != nil:
		bad("tile", "the prompts of a tiling row share their contexts, and nothing else", "remove pairs, prefix and session")
	case w.Input.Dist != "fixed":
		bad("input", "all contexts of a tiling row have the same length", "write input = 32000 (prompt tokens, the question included)")
	case t.question(w.Input.Least()) >= w.Input.Least():
		bad("tile.question_tokens", fmt.Sprintf("a question of %d tokens leaves no context in an input of %d", t.question(w.Input.Least()), w.Input.Least()),
			"input includes the question: make input larger or the question shorter")
	}
	if !w.Output.set() {
		bad("output", "no output length", "write output = 100 (tokens to write)")
	}
	for _, n := range []struct {
		key  string
		is   int
		most int
		like string
	}{
		{"contexts", t.Contexts, maxContexts, "contexts = 40"}, {"questions", t.Questions, maxContexts, "questions = 40"},
		{"question_tokens", t.QuestionTokens, maxTokens, "question_tokens = 32"}, {"rounds", t.Rounds, maxContexts, "rounds = 3"},
	} {
		if n.is < 0 || n.is > n.most {
			bad("tile."+n.key, fmt.Sprintf("%s %d is not between 1 and %d", n.key, n.is, n.most), "write "+n.like)
		}
	}
	t.checkSizing(bad)
}

// checkSizing judges what says how many contexts there are.
func (t *Tile) checkSizing(bad func(key, problem, hint string)) {
	positive := func(key string, x, most float64, like string) {
		if !(x >= 0 && x <= most) {
			bad("tile."+key, fmt.Sprintf("%s %v is not above 0, and %s at most", key, x, plain(most)), "write "+like)
		}
	}
	positive("offload_gib", t.OffloadGiB, 1<<30, "offload_gib = 100")
	positive("offload_gib_per_gpu", t.OffloadPerGPUGiB, 1<<30, "offload_gib_per_gpu = 100")
	positive("ratio", t.Ratio, 100, "ratio = 0.9")
	positive("bytes_per_token", t.BytesPerToken, 1<<30, "bytes_per_token = 131072")
	if t.OffloadGiB > 0 && t.OffloadPerGPUGiB > 0 {
		bad("tile.offload_gib_per_gpu", "the tier is sized twice, as a whole and by GPU", "remove offload_gib or offload_gib_per_gpu")
	}
	if t.Accounting != "" && t.Accounting != Full && t.Accounting != Resident {
		bad("tile.accounting", fmt.Sprintf("unknown accounting %q", t.Accounting), `write "full" or "resident"`)
	}
	if t.BytesPerToken > 0 && (t.Accounting != "" || t.KVPrecision != "") {
		bad("tile.bytes_per_token", "the bytes of a token are stated, and what they follow from too", "remove bytes_per_token, or accounting and kv_precision")
	}
}

// tiles is the prompt of request i: its context, and one of the context's questions.
func (p *Plan) tiles(i, input int) []Block {
	t := p.w.Tile
	context := uint64(i % t.contexts())
	question := uint64(p.rand(streamQuestion, uint64(i)).IntN(t.PerContext()))
	asks := t.question(input)
	out := p.fill(make([]Block, 0, input/BlockTokens+2), input-asks, blockContext, context)
	return p.fill(out, asks, blockQuestion, context, question)
}
