package page

import (
	"slices"

	"bench/experiment/series"
)

type publishedMark struct {
	By      string             `json:"by"`
	Load    int                `json:"load"`    // concurrency
	Latency map[string]float64 `json:"latency"` // ms
}

func publishedMarks(s *series.Series) []publishedMark {
	var out []publishedMark
	for i := range s.Points {
		p := s.Points[i].Published
		if p == nil || s.Axis != "concurrency" {
			continue
		}
		for _, f := range p.Figures {
			m := publishedMark{By: f.By() + " (" + f.From() + ")", Load: f.Concurrency,
				Latency: map[string]float64{"ttft": f.TTFTMs, "tpot": f.TPOTMs}}
			again := slices.ContainsFunc(out, func(x publishedMark) bool { return x.By == m.By && x.Load == m.Load })
			if f.Concurrency > 0 && !again {
				out = append(out, m)
			}
		}
	}
	return out
}
