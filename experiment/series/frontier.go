package series

import (
	"math"

	"bench/experiment/stats"
)

// Frontier is the points of a series that no other beats in both of two figures. It is of one shape: points of another
// series are never on it, and what it is per GPU is the same, since all of a series run on the same ones.
type Frontier struct {
	Gain   string `json:"gain"`   // output_tokens_per_s, or output_tokens_per_s_per_gpu where it is stated
	Cost   string `json:"cost"`   // ttft_p99, tpot_p95, e2e_p99; or per_user_tokens_per_s, of which more is better
	Points []int  `json:"points"` // by ascending cost; from the fastest for the user on
}

// frontier ranks points by what is drawn and quoted: a p99 without a bound by the lower end of its
// interval. A point of which not even that is known has no rank.
func (s *Series) frontierIndices() []int { return s.Against(s.Cost, "p99") }

// Against is the points that no other beats in output tokens/s and in a percentile of ttft, tpot or e2e, by ascending latency.
func (s *Series) Against(metric, percentile string) []int {
	return s.trade(func(p *SeriesPoint) float64 {
		if l, ok := p.Latency(metric).Get(percentile); ok {
			if _, ms, ok := l.Mark(); ok {
				return ms
			}
		}
		return math.NaN()
	})
}

func (s *Series) trade(cost func(*SeriesPoint) float64) []int {
	points := make([]stats.Point, len(s.Points))
	for i := range s.Points {
		points[i] = stats.Point{Cost: cost(&s.Points[i]), Gain: s.Points[i].OutputTokensPerS.Median}
	}
	return stats.Frontier(points)
}

// frontiers are all that have a point.
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
	add("ttft_p99", s.Against("ttft", "p99"))
	add("tpot_p95", s.Against("tpot", "p95"))
	add("e2e_p99", s.Against("e2e", "p99"))
	add("per_user_tokens_per_s", s.trade(func(p *SeriesPoint) float64 {
		if len(p.PerUserTokensPerS.Values) == 0 {
			return math.NaN()
		}
		return -p.PerUserTokensPerS.Median
	}))
	return out
}
