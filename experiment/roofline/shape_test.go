package roofline

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// shape is one line of testdata/shapes.json: figures that another program
// (Python, from the config.json files) computed for the same models, before
// this table existed.
type shape struct {
	ID           string  `json:"id"`
	Params       int64   `json:"params"`
	ActiveParams int64   `json:"active_params"`
	ReadParams   int64   `json:"read_params"`   // in each step, without routed experts
	ExpertParams int64   `json:"expert_params"` // one expert, one layer
	WeightBytes  float64 `json:"weight_bytes"`
	KVUniform    float64 `json:"kv_uniform"` // bytes per token, bf16, every layer full
	KVGrowth     float64 `json:"kv_growth"`  // the same once windows are full
	KV32000      float64 `json:"kv_32000"`   // one sequence of 32,000 tokens
}

// sparse are the models with an indexer. The other program counted 2 bytes for
// each of 128 indexer dimensions; engines store 132 bytes per token and layer.
var sparse = map[string]float64{"deepseek-ai/DeepSeek-V3.2": 61, "zai-org/GLM-5": 78}

func shapes(t *testing.T) []shape {
	data, err := os.ReadFile("testdata/shapes.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []shape
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestShapesOfAllModels(t *testing.T) {
	models, all := table(t), shapes(t)
	if len(models) != len(all) || len(all) != 56 {
		t.Fatalf("%d models, %d shapes, want 56", len(models), len(all))
	}
	for i, want := range all {
		m := models[i]
		indexer := sparse[m.ID] * (256 - 132) // bytes per token
		s := Setup{Model: m}
		check := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 0.5 {
				t.Errorf("%s: %s is %.0f, want %.0f", m.ID, what, got, want)
			}
		}
		if m.ID != want.ID {
			t.Fatalf("entry %d is %s, want %s", i, m.ID, want.ID)
		}
		check("parameters", float64(m.Params()), float64(want.Params))
		check("active parameters", float64(m.ActiveParams()), float64(want.ActiveParams))
		check("parameters read", float64(m.headParams()+m.everyTokenParams()), float64(want.ReadParams))
		check("parameters of an expert", float64(m.expertParams()), float64(want.ExpertParams))
		check("bytes of weights", s.WeightBytes(), want.WeightBytes)
		check("KV bytes per token", s.KVBytesPerToken(), want.KVUniform-indexer)
		check("KV growth", m.kv(1<<20+1, 2, 1)-m.kv(1<<20, 2, 1), want.KVGrowth-indexer)
		check("KV at 32,000", m.kv(32000, 2, 1), want.KV32000-32000*indexer)
	}
}

// Published totals are rounded by up to 3 % (gemma-4: 26 for 25.2 thousand
// million), most are exact but for norms and biases.
func TestParametersAgainstPublished(t *testing.T) {
	close := 0
	for _, m := range table(t) {
		off := math.Abs(float64(m.Params())/float64(m.PublishedParams) - 1)
		if off > 0.03 {
			t.Errorf("%s: %d parameters, published %d", m.ID, m.Params(), m.PublishedParams)
		}
		if off <= 0.001 {
			close++
		}
	}
	if close != 44 {
		t.Errorf("%d models within 0.1 %% of the published number, want 44", close)
	}
}

func TestKVPrecisionHalves(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), KVPrecision: "fp8"}
	if got := s.KVBytesPerToken(); got != 65536 {
		t.Errorf("got %g bytes, want 65536", got)
	}
}

// Llama-3.1-8B has 8 KV heads: 16 GPUs hold each twice, 3 hold one of them
// twice. The latent vector of DeepSeek is on every GPU.
func TestTensorParallelCopies(t *testing.T) {
	llama, deepseek := model(t, "llama-3.1-8b"), model(t, "deepseek-r1")
	for _, c := range []struct {
		m    Model
		gpus int
		want float64
	}{{llama, 1, 131072}, {llama, 8, 131072}, {llama, 16, 262144}, {llama, 3, 147456}, {deepseek, 8, 8 * 70272}} {
		if got := c.m.kv(1, 2, c.gpus); got != c.want {
			t.Errorf("%s on %d GPUs: %g bytes per token, want %g", c.m.ID, c.gpus, got, c.want)
		}
	}
}

// Expected distinct experts: computed with numpy, E*(1-(1-k/E)**B).
func TestDistinctExperts(t *testing.T) {
	for _, c := range []struct {
		e, k   int
		tokens float64
		want   float64
	}{{8, 2, 1, 2}, {8, 2, 8, 7.199097}, {128, 4, 8, 28.71042}, {128, 8, 32, 111.7710}, {256, 8, 64, 222.4425}} {
		if got := (MoE{Experts: c.e, TopK: c.k}).distinct(c.tokens); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%d of %d, %g tokens: %g, want %g", c.k, c.e, c.tokens, got, c.want)
		}
	}
}

// pairs against counting: token i looks at min(i, span) others and itself; the
// area is half a token per pair smaller.
func TestPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, span := rapid.IntRange(0, 500).Draw(t, "n"), rapid.IntRange(1, 600).Draw(t, "span")
		count := 0.0
		for i := range n {
			count += math.Min(float64(i)+0.5, float64(span))
		}
		if got := pairs(float64(n), float64(span)); math.Abs(got-count) > 1e-9*(1+count) {
			t.Fatalf("pairs(%d, %d) = %g, want %g", n, span, got, count)
		}
	})
}
