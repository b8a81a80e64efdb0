package record

import "bench/experiment/metric"

// Energy is what the row's GPUs took in the window, over its output tokens; prompts have their share in it.
type Energy struct {
	GPUs           int     `json:"gpus"`
	Joules         float64 `json:"energy_j"` // of all of them
	PowerW         float64 `json:"power_w"`  // mean of all of them together
	PerToken       float64 `json:"energy_j_per_output_token"`
	TokensPerJoule float64 `json:"output_tokens_per_j"` // output tok/s per W
}

// Figure is the value of EnergyPerToken or TokensPerJoule.
func (e *Energy) Figure(name string) float64 {
	if name == metric.EnergyPerToken {
		return e.PerToken
	}
	return e.TokensPerJoule
}
