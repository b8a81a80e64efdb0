package experiment

import (
	"maps"
	"slices"

	"bench/experiment/openai"
)

// Target is the [target] table: the thing under test, as declared.
type Target struct {
	openai.Target
	Hardware   string            `toml:"hardware" json:"hardware,omitempty"`         // id in the hardware table; empty = no bounds
	GPUs       int               `toml:"gpus" json:"gpus,omitempty"`                 // 0 = not stated: no per-GPU figures
	Precision  string            `toml:"precision" json:"precision,omitempty"`       // of the weights; empty = the model's own
	GPUHourUSD *float64          `toml:"gpu_hour_usd" json:"gpu_hour_usd,omitempty"` // price of one GPU for an hour; nil = not stated
	Facts      map[string]string `toml:"facts" json:"facts,omitempty"`               // what bench can't see
}

// Check reports what is wrong in the table.
func (t Target) Check(bad func(key, problem, hint string)) {
	t.Target.Check(bad)
	if t.GPUs < 0 {
		bad("gpus", "gpus is negative", "write gpus = 1")
	}
	if t.GPUHourUSD != nil && *t.GPUHourUSD < 0 {
		bad("gpu_hour_usd", "the price is negative", "write gpu_hour_usd = 2.5")
	}
}

// wantedFacts are what a reader of the report would ask for and bench can't see.
var wantedFacts = []string{"driver", "network", "quantization", "server_flags", "storage", "tokenizer"}

// NotStated lists what a reader would want to know of the target and nobody declared.
func (t Target) NotStated() []string {
	var missing []string
	if t.Hardware == "" {
		missing = append(missing, "hardware")
	}
	if t.GPUs == 0 {
		missing = append(missing, "gpus")
	}
	if t.Precision == "" {
		missing = append(missing, "precision")
	}
	if t.GPUHourUSD == nil {
		missing = append(missing, "gpu_hour_usd")
	}
	stated := slices.Collect(maps.Keys(t.Facts))
	for _, f := range wantedFacts {
		if !slices.Contains(stated, f) {
			missing = append(missing, f)
		}
	}
	return missing
}
