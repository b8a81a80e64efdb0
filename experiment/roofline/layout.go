package roofline

import "math"

// Layout divides a model among GPUs. The zero value is tensor parallelism over all of them.
type Layout struct {
	// AttentionDP computes each sequence's attention on one GPU (data-parallel attention): the attention's weights are
	// copied, the KV cache is not.
	AttentionDP bool `json:"attention_dp,omitempty"`
	// ExpertParallel keeps each expert whole on one GPU; a layer waits for the GPU with the most experts to read.
	ExpertParallel bool `json:"expert_parallel,omitempty"`
}

func (s *Setup) all() int { return max(1, s.GPUs) }

func (s *Setup) gpus() float64 { return float64(s.all()) }

func (s *Setup) kvWidth() int {
	if s.AttentionDP {
		return 1
	}
	return s.all()
}

// held is the number of sequences that all GPUs seem to hold if each takes as long as the one with the most.
func (s *Setup) held(batch float64) float64 {
	if !s.AttentionDP {
		return batch
	}
	return math.Ceil(batch/s.gpus()) * s.gpus()
}

func (s *Setup) concentrate(p *pass, fresh float64, prompts int) {
	if !s.AttentionDP {
		return
	}
	idle := s.gpus()/min(s.gpus(), float64(prompts)) - 1
	p.attention += idle * p.attention
	p.flops += idle * 2 * fresh * float64(s.Model.attentionParams())
}

func (s *Setup) copiedParams() float64 {
	if !s.AttentionDP {
		return 0
	}
	return float64(s.Model.attentionParams()) * (s.gpus() - 1)
}

// busiest is the number of experts that all GPUs seem to read if each takes as long as the busiest: the mean of a GPU
// and √(2·ln g) standard deviations (about the largest of g normal numbers).
func (s *Setup) busiest(distinct float64) float64 {
	g, all := s.gpus(), float64(s.Model.MoE.Experts)
	if !s.ExpertParallel || g < 2 || distinct <= 0 || distinct >= all {
		return distinct
	}
	mean := distinct / g
	deviation := math.Sqrt(mean * (1 - distinct/all))
	return min(all, g*(mean+math.Sqrt(2*math.Log(g))*deviation))
}
