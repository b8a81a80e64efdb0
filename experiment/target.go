package experiment

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/openai"
)

// Target is the [target] table: the thing under test, as declared.
type Target struct {
	openai.Target
	Hardware   string   `toml:"hardware" json:"hardware,omitempty"`         // id in the hardware table; empty = no bounds
	GPUs       int      `toml:"gpus" json:"gpus,omitempty"`                 // 0 = not stated: no per-GPU figures
	Precision  string   `toml:"precision" json:"precision,omitempty"`       // of the weights; empty = the model's own
	GPUHourUSD *float64 `toml:"gpu_hour_usd" json:"gpu_hour_usd,omitempty"` // price of one GPU for an hour; nil = not stated
	Owned
	Facts map[string]string `toml:"facts" json:"facts,omitempty"` // what bench can't see
}

// Check reports what is wrong in the table.
func (t Target) Check(bad func(key, problem, hint string)) {
	t.Target.Check(bad)
	if t.GPUs < 0 {
		bad("gpus", "gpus is negative", "write gpus = 1")
	}
	if usd := t.GPUHourUSD; usd != nil && !(*usd >= 0 && *usd <= math.MaxFloat64) { // nan, too
		bad("gpu_hour_usd", fmt.Sprintf("%v is no price", *usd), "write gpu_hour_usd = 2.5")
	}
	t.Owned.Check(bad)
	if t.GPUHourUSD != nil && t.GPUPriceUSD > 0 {
		bad("gpu_price_usd", "the price of a GPU is stated twice, by the hour and to buy", "leave out gpu_hour_usd or gpu_price_usd")
	}
}

// wantedFacts are what a reader of the report would ask for and bench can't see.
var wantedFacts = []string{"driver", "network", "quantization", "server_flags", "storage", "tokenizer"}

// NotStated lists what a reader would want to know of the target and nobody declared.
func (t Target) NotStated() []string {
	missing := []string{}
	if t.Hardware == "" {
		missing = append(missing, "hardware")
	}
	if t.GPUs == 0 {
		missing = append(missing, "gpus")
	}
	if t.Precision == "" {
		missing = append(missing, "precision")
	}
	if _, ok := t.gpuHourUSD(); !ok {
		missing = append(missing, "gpu_hour_usd")
	}
	for _, f := range wantedFacts {
		if strings.TrimSpace(t.Facts[f]) == "" {
			missing = append(missing, f)
		}
	}
	return missing
}
