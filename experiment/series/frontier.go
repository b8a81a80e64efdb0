package series

import (
	"math"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// Frontier is the points of a series that no other point beats in both of two figures. Points of different
// series are never compared: they are of different workloads.
type Frontier struct {
	// output_tokens_per_s, or output_tokens_per_s_per_gpu if the number of GPUs is specified
	Gain string `json:"gain"`
	// ttft_p99, tpot_p95, e2e_p99 (less is better); or per_user_tokens_per_s (more is better)
	Cost   string `json:"cost"`
	Points []int  `json:"points"` // from the best cost to the worst
}

func (s *Series) frontierAgainst(metric, percentile string) []int {
	return s.trade(func(p *Point) float64 { return ranked(p.Latency(metric), percentile) })
}

func ranked(ps record.Percentiles, name string) float64 {
	if l, ok := ps.Get(name); ok && l.Grade != stats.NoBound {
		return l.Median
	}
	return math.NaN()
}

func (s *Series) interactive() []int {
	return s.trade(func(p *Point) float64 {
		if math.IsNaN(ranked(p.TPOT, "p50")) || len(p.PerUserTokensPerS.Values) == 0 {
			return math.NaN()
		}
		return -p.PerUserTokensPerS.Median
	})
}

func (s *Series) trade(cost func(*Point) float64) []int {
	points := make([]stats.Point, len(s.Points))
	for i := range s.Points {
		p := &s.Points[i]
		points[i] = stats.Point{Cost: cost(p), Gain: p.OutputTokensPerS.Median}
		if !p.Valid {
			points[i].Cost = math.NaN()
		}
	}
	return stats.Frontier(points)
}

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
	add("ttft_p99", s.frontierAgainst("ttft", "p99"))
	add("tpot_p95", s.frontierAgainst("tpot", "p95"))
	add("e2e_p99", s.frontierAgainst("e2e", "p99"))
	add("per_user_tokens_per_s", s.interactive())
	return out
}
