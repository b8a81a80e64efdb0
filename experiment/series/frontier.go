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

func (s *Series) FrontierAgainst(metric, percentile string) []int {
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
	add("ttft_p99", s.FrontierAgainst("ttft", "p99"))
	add("tpot_p95", s.FrontierAgainst("tpot", "p95"))
	add("e2e_p99", s.FrontierAgainst("e2e", "p99"))
	add("per_user_tokens_per_s", s.interactive())
	return out
}

// Interpolation is the throughput of a series at a given tok/s/user, between two measured points.
type Interpolation struct {
	OutputTokensPerS       float64
	OutputTokensPerSPerGPU float64 // 0: the number of GPUs is not specified
	Faster, Slower         int     // the points around it, as indexes in the series' points; equal: measured there
}

// AtInteractivity interpolates between neighbours of the frontier; ok is false outside: nothing is extrapolated.
func (s *Series) AtInteractivity(perUser float64) (at Interpolation, ok bool) {
	frontier := s.interactive() // from the most tok/s/user to the least
	for i, slower := range frontier {
		x := s.Points[slower].PerUserTokensPerS.Median
		if x > perUser {
			continue
		}
		if x == perUser {
			return s.between(slower, slower, 0), true
		}
		if i == 0 {
			break
		}
		faster := frontier[i-1]
		return s.between(faster, slower,
			(s.Points[faster].PerUserTokensPerS.Median-perUser)/(s.Points[faster].PerUserTokensPerS.Median-x)), true
	}
	return Interpolation{}, false
}

func (s *Series) between(from, to int, share float64) Interpolation {
	a, b := &s.Points[from], &s.Points[to]
	at := Interpolation{Faster: from, Slower: to}
	at.OutputTokensPerS = a.OutputTokensPerS.Median + share*(b.OutputTokensPerS.Median-a.OutputTokensPerS.Median)
	if x, y := a.OutputTokensPerSPerGPU, b.OutputTokensPerSPerGPU; x != nil && y != nil {
		at.OutputTokensPerSPerGPU = x.Median + share*(y.Median-x.Median)
	}
	return at
}

func (s *Series) InteractivityRange() (low, high float64, ok bool) {
	frontier := s.interactive()
	if len(frontier) < 2 {
		return 0, 0, false
	}
	return s.Points[frontier[len(frontier)-1]].PerUserTokensPerS.Median, s.Points[frontier[0]].PerUserTokensPerS.Median, true
}
