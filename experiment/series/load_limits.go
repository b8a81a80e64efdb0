package series

import (
	"fmt"
	"math"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// LoadLimit is one point that stands out in a series (max load within SLO, saturation, knee), or the reason
// why none does.
type LoadLimit struct {
	Point *int   `json:"point"` // index in the series' points; null: none
	Why   string `json:"why"`

	// knee: the highest sensitivity at which Kneedle finds the same point
	Sensitivity float64 `json:"sensitivity,omitempty"`

	// Certainty by resampling the repeats; absent if no point has two.
	Resampled *Resampled `json:"resampled,omitempty"`
}

func none(format string, args ...any) LoadLimit { return LoadLimit{Why: fmt.Sprintf(format, args...)} }

// findMaxLoad: a load that meets the SLO above one that misses it is chance, or another state of the server.
func (s *Series) findMaxLoad() LoadLimit {
	best, stated := -1, false
	for i := range s.Points {
		p := &s.Points[i]
		stated = stated || p.SLO != ""
		switch {
		case p.MissesSLO() && p.FailsByLoad():
			if best < 0 {
				return none("%s misses the SLO", p.Load)
			}
			return LoadLimit{Point: &best, Why: "the highest load that meets the SLO below the first that misses it"}
		case p.Valid && p.SLO == stats.Pass:
			best = i
		}
	}
	switch {
	case !stated:
		return none("no SLO is specified")
	case best < 0:
		return none("no valid point meets the SLO")
	}
	return LoadLimit{Point: &best, Why: "the highest load that meets the SLO"}
}

func (s *Series) findKnee() LoadLimit {
	// Kneedle runs at the first sensitivity, which its paper uses; the higher ones need a clearer bend.
	sensitivities := []float64{1, 1.5, 2, 3, 5, 10}
	var load, output []float64
	for i := range s.Points {
		if x, ok := s.Points[i].FiniteLoad(); ok {
			load, output = append(load, x), append(output, s.Points[i].OutputTokensPerS.Median)
		}
	}
	if len(load) < 4 {
		return none("no knee: a curve needs at least four loads")
	}
	i, ok := stats.Knee(load, output, sensitivities[0])
	if !ok {
		return none("no knee: throughput does not bend")
	}
	if !stats.Bends(s.runs()) {
		return none("no knee: throughput bends by no more than its noise; add loads or repeats")
	}
	k := LoadLimit{Point: &i}
	for _, x := range sensitivities {
		if j, ok := stats.Knee(load, output, x); !ok || j != i {
			break
		}
		k.Sensitivity = x
	}
	k.Why = fmt.Sprintf("above it throughput gains fall off (Kneedle, up to sensitivity %g)", k.Sensitivity)
	return k
}

const keepsUp = 0.95

func (s *Series) findSaturation() LoadLimit {
	if s.Closed {
		return s.closedSaturation()
	}
	if _, rated := s.Points[0].FiniteLoad(); !rated {
		return none("no saturation: all requests are sent at once, so no rate is offered")
	}
	for i := range s.Points {
		p := &s.Points[i]
		if _, ok := p.FiniteLoad(); !ok {
			continue
		}
		q := &p.Rows[0].Summary.Requests
		got, offered := p.RequestsPerS.Median, p.OfferedPerS.Median
		if q.Left > 0 { // the server can't complete them
			offered *= float64(q.Stayed()) / float64(q.Planned)
		}
		// A count of n arrivals has a standard deviation of √n: a shortfall within two of them can be chance.
		n := float64(q.Stayed())
		if offered > 0 && got/offered < keepsUp && !(n > 0 && 1-got/offered < 2/math.Sqrt(n)) {
			return LoadLimit{Point: &i, Why: fmt.Sprintf("%s of %s offered requests/s achieved", unit.Brief(got, 3),
				unit.Brief(offered, 3))}
		}
		if t, grows := p.queue(); grows {
			return LoadLimit{Point: &i,
				Why: fmt.Sprintf("the queue grows: requests in flight rose by %.0f %% during the window", 100*t.Change)}
		}
	}
	return none("no saturation: the server keeps up with every rate")
}

func (s *Series) runs() (load, output []float64) {
	for i := range s.Points {
		if x, ok := s.Points[i].FiniteLoad(); ok {
			for _, r := range s.Points[i].Rows {
				load, output = append(load, x), append(output, r.Summary.Throughput.OutputTokensPerS)
			}
		}
	}
	return load, output
}

const (
	// leastGain is the throughput of an added request, as a share of the first ones', below which the loop is
	// saturated.
	leastGain = 0.1
	// gainConfidence is the one-sided confidence that a gain is below the limit.
	gainConfidence = 0.95
	// assumedMargin is the margin of a series with too few runs to show it: 5 % noise at gainConfidence.
	assumedMargin = 0.08
)

// closedSaturation is the first load that hardly adds throughput, by more than its margin of noise.
func (s *Series) closedSaturation() LoadLimit {
	first := s.Points[0].OutputTokensPerS.Median / s.Points[0].LoadValue
	margin := s.gainMargin()
	unclear := ""
	for i := 1; i < len(s.Points); i++ {
		gain := s.gain(i-1, i)
		if !(first > 0 && gain < leastGain*first) {
			continue
		}
		text := fmt.Sprintf("above %s each added request gains %s%%s tok/s (%s each at first)", s.Points[i-1].Load,
			unit.Brief(gain, 3), unit.Brief(first, 3))
		for j := i; j < len(s.Points); j++ {
			if s.gain(i-1, j)+margin(i-1, j) < leastGain*first {
				return LoadLimit{Point: &i, Why: fmt.Sprintf(text, "")}
			}
		}
		unclear = fmt.Sprintf(text, " ± "+unit.Brief(margin(i-1, i), 3))
	}
	switch {
	case len(s.Points) < 2:
		return none("no saturation: the series has one load")
	case unclear != "":
		return none("saturation is undecided: %s; add repeats or higher loads", unclear)
	}
	return none("no saturation: each added request still gains throughput")
}

func (s *Series) gain(from, to int) float64 {
	a, b := &s.Points[from], &s.Points[to]
	return (b.OutputTokensPerS.Median - a.OutputTokensPerS.Median) / (b.LoadValue - a.LoadValue)
}

func (s *Series) gainMargin() func(from, to int) float64 {
	load, output := s.runs()
	ofRun, known := stats.NoiseMargin(load, output, gainConfidence)
	return func(from, to int) float64 {
		a, b := &s.Points[from], &s.Points[to]
		margin := ofRun
		if !known {
			margin = assumedMargin * max(a.OutputTokensPerS.Median, b.OutputTokensPerS.Median)
		}
		return margin * math.Sqrt(1/float64(len(a.Rows))+1/float64(len(b.Rows))) / (b.LoadValue - a.LoadValue)
	}
}

// Estimate is the highest load that meets the SLO by all points of a series together. ok is false for one load, and
// where the points show neither end.
func (s *Series) Estimate() (b stats.Bracket, ok bool) {
	if s.Twin != nil && s.Twin.Rejected == "" && s.Twin.Outside == "" {
		return s.Twin.Bracket, s.Twin.Best != nil
	}
	k, all := s.asSearch(false)
	if k == nil {
		return b, false
	}
	b = k.Algorithm().Between(all)
	return b, b.Best != nil
}

// asSearch takes the points of a series as the probes of a search, or of their own one; nil: they are of one load.
// anyLimits takes points without a verdict, too.
func (s *Series) asSearch(anyLimits bool) (*experiment.Search, []stats.Probe) {
	k := &experiment.Search{Axis: s.Axis, Goal: experiment.GoalSLO, Min: math.Inf(1),
		Tolerance: experiment.DefaultTolerance}
	var all []stats.Probe
	loads := map[float64]bool{}
	for i := range s.Points {
		p := &s.Points[i]
		load := loadOn(s.Axis, &p.Rows[0].Spec)
		if !p.Valid || p.SLO == "" && !anyLimits || math.IsInf(load, 1) || load <= 0 || p.Rows[0].Spec.IsColdStart() {
			continue
		}
		k.Min, k.Max, loads[load] = min(k.Min, load), max(k.Max, load), true
		for _, r := range p.Rows {
			all = append(all, probe(k, r))
		}
	}
	if len(loads) < 2 {
		return nil, nil
	}
	const beyond = 2 // beside the points the estimate ends there
	k.Min, k.Max = k.Min/beyond, k.Max*beyond
	if s.Axis == "concurrency" {
		k.Min, k.Max = max(1, math.Floor(k.Min)), math.Ceil(k.Max)
	}
	if search := s.Points[0].Rows[0].Spec.Search; search != nil {
		return search, all
	}
	return k, all
}

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
	add("per_user_tokens_per_s", s.trade(func(p *Point) float64 {
		if math.IsNaN(ranked(p.TPOT, "p50")) || len(p.PerUserTokensPerS.Values) == 0 {
			return math.NaN()
		}
		return -p.PerUserTokensPerS.Median
	}))
	return out
}
