package experiment

import (
	"fmt"
	"math"

	"bench/experiment/stats"
)

// frontier ranks points by what is drawn and quoted: a p99 without a bound by the lower end of its
// interval. A point of which not even that is known has no rank.
func (s *Series) frontier() []int {
	points := make([]stats.Point, len(s.Points))
	for i := range s.Points {
		p := &s.Points[i]
		points[i] = stats.Point{Cost: math.NaN(), Gain: p.OutputTokensPerS.Median}
		if l, ok := p.Latency(s.Cost).Get("p99"); ok {
			if _, ms, ok := l.Mark(); ok {
				points[i].Cost = ms
			}
		}
	}
	return stats.Frontier(points)
}

func (s *Series) contractKnee() Knee {
	undecided, doubted, need, stated, below := "", "", 0, false, false
	for i := len(s.Points) - 1; i >= 0; i-- {
		p := &s.Points[i]
		stated = stated || p.Contract != ""
		switch {
		case p.Contract == stats.Pass && p.Valid:
			why := "the highest load that meets the contract"
			if len(s.Points) == 1 {
				why = "the only load meets the contract; a series of loads would show how far it goes"
			} else if i == len(s.Points)-1 {
				why = "the highest load of the series still meets the contract: the knee is here or above; go on to higher load"
			}
			for j := range i {
				below = below || s.Points[j].Contract == stats.Fail
			}
			if below {
				why += "; but a lower load fails it, so look at the repeats"
			}
			return Knee{&i, why}
		case p.Contract == stats.Pass:
			doubted = p.Load
		case p.Contract == stats.Undecided:
			undecided, need = p.Load, p.Need
		}
	}
	switch {
	case !stated:
		return Knee{Why: "no contract is stated"}
	case doubted != "":
		return Knee{Why: fmt.Sprintf("no valid point passes: %s meets the contract, but its row is doubted", doubted)}
	case undecided != "" && need > 0:
		return Knee{Why: fmt.Sprintf("no point passes yet: undecided at %s, need %s more requests", undecided, Count(need))}
	case undecided != "":
		return Knee{Why: "no point passes: undecided at " + undecided}
	}
	return Knee{Why: "no valid point passes; go on to lower load"}
}

func (s *Series) geometricKnee() Knee {
	var load, gain []float64
	for i := range s.Points {
		if x, ok := s.Points[i].Offered(); ok { // inf comes last, so that the indexes stay
			load, gain = append(load, x), append(gain, s.Points[i].OutputTokensPerS.Median)
		}
	}
	if len(load) < 4 {
		return Knee{Why: "no knee: a curve needs four loads or more"}
	}
	i, ok := stats.Knee(load, gain, 1)
	if !ok {
		return Knee{Why: "no knee: the curve has not bent; go on to higher load"}
	}
	return Knee{&i, "more load buys little more throughput (Kneedle)"}
}

// keepsUp is the share of the offered requests/s that a server which keeps up answers; worthASlot
// is the share of the first slots' throughput that a further slot must bring.
const (
	keepsUp    = 0.95
	worthASlot = 0.1
)

func (s *Series) saturation() Knee {
	if s.Closed {
		return s.closedSaturation()
	}
	var offered, achieved []float64
	for i := range s.Points {
		p := &s.Points[i]
		got := p.RequestsPerS.Median
		// Chance alone moves the count of a window by its root: a shortfall within two of them says nothing.
		if n := float64(p.Rows[0].Summary.Requests.Planned); n > 0 && 1-got/p.OfferedPerS.Median < 2/math.Sqrt(n) {
			got = math.NaN()
		}
		if _, ok := p.Offered(); !ok {
			got = math.NaN()
		}
		offered, achieved = append(offered, p.OfferedPerS.Median), append(achieved, got)
	}
	i, ok := stats.Saturation(offered, achieved, keepsUp)
	if _, rated := s.Points[0].Offered(); !rated {
		return Knee{Why: "no saturation: all at once is no rate to keep up with"}
	}
	if !ok {
		return Knee{Why: "no saturation: the server keeps up with every rate, within chance; go on to higher load"}
	}
	return Knee{&i, fmt.Sprintf("%.3g of %.3g offered requests/s achieved", achieved[i], offered[i])}
}

func (s *Series) closedSaturation() Knee {
	for i := 1; i < len(s.Points); i++ {
		a, b := &s.Points[i-1], &s.Points[i]
		first := s.Points[0].OutputTokensPerS.Median / s.Points[0].load
		more := (b.OutputTokensPerS.Median - a.OutputTokensPerS.Median) / (b.load - a.load)
		if first > 0 && more < worthASlot*first {
			return Knee{&i, fmt.Sprintf("a slot beyond %s brings %.3g output tok/s, the first ones %.3g", a.Load, more, first)}
		}
	}
	if len(s.Points) < 2 {
		return Knee{Why: "no saturation: one load is no series"}
	}
	return Knee{Why: "no saturation: further slots still bring throughput; go on to higher load"}
}
