package series

import (
	"math"

	"bench/experiment/stats"
)

// Frontier is the points of a series that no other point beats in both of two figures. Points of different
// series are never compared: they are of different workloads.
type Frontier struct {
	Gain   string `json:"gain"`   // output_tokens_per_s, or output_tokens_per_s_per_gpu if the number of GPUs is specified
	Cost   string `json:"cost"`   // ttft_p99, tpot_p95, e2e_p99 (less is better); or per_user_tokens_per_s (more is better)
	Points []int  `json:"points"` // from the best cost to the worst
}

// FrontierAgainst is the points that no other point beats in both output tokens/s and a percentile of ttft,
// tpot or e2e, by ascending latency. A percentile without an upper bound ranks by its lower bound; a point
// without either is left out.
func (s *Series) FrontierAgainst(metric, percentile string) []int {
	return s.trade(func(p *Point) float64 {
		if l, ok := p.Latency(metric).Get(percentile); ok {
			if _, ms, ok := l.Mark(); ok {
				return ms
			}
		}
		return math.NaN()
	})
}

func (s *Series) trade(cost func(*Point) float64) []int {
	points := make([]stats.Point, len(s.Points))
	for i := range s.Points {
		points[i] = stats.Point{Cost: cost(&s.Points[i]), Gain: s.Points[i].OutputTokensPerS.Median}
	}
	return stats.Frontier(points)
}

// frontiers leaves out those without a point.
func (s *Series) frontiers() []Frontier {
	gain := "output_tokens_per_s"
	if s.Points[0].OutputTokensPerSPerGPU != nil {
		gain += "_per_gpu"
	}
	out := []Frontier{}
	add := func(cost string, points []int) {
		if len(points) > 0 {
			out = append(out, Frontier{gain, cost, points})
		}
	}
	add("ttft_p99", s.FrontierAgainst("ttft", "p99"))
	add("tpot_p95", s.FrontierAgainst("tpot", "p95"))
	add("e2e_p99", s.FrontierAgainst("e2e", "p99"))
	add("per_user_tokens_per_s", s.trade(func(p *Point) float64 {
		if len(p.PerUserTokensPerS.Values) == 0 {
			return math.NaN()
		}
		return -p.PerUserTokensPerS.Median
	}))
	return out
}
