package series

import (
	"fmt"
	"math"

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
		_, behind := stats.Saturation([]float64{offered}, []float64{got}, keepsUp)
		if behind && !(n > 0 && 1-got/offered < 2/math.Sqrt(n)) {
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
