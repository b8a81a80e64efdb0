package report

import (
	"fmt"
	"io"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// AskText writes the twin's answer to a question.
func AskText(w io.Writer, s *series.Series, q series.Question, a *series.Estimated, screen Screen) error {
	p := newPrinter(screen)
	load := func(x float64) string { return unit.Brief(x, 4) + map[bool]string{true: "/s"}[s.Axis == "rate"] }
	if q.Load > 0 {
		on := ""
		if q.Replicas > 1 {
			on = fmt.Sprintf(" on %.0f replicas", q.Replicas)
		}
		p.wrap("", fmt.Sprintf("%s at %s %s%s (estimated, ms)", s.Label(), s.Axis, load(q.Load), on))
		for _, latency := range metric.Shown {
			var parts []string
			for i := range a.Latencies {
				if name, percentile, _ := strings.Cut(a.Latencies[i].Metric, "_"); name == latency {
					parts = append(parts, latencyText(percentile, &a.Latencies[i]))
				}
			}
			if len(parts) > 0 {
				p.wrap(fmt.Sprintf("  %-6s", metric.Words(latency)), strings.Join(parts, " · "))
			}
		}
	} else {
		answer := "not known"
		switch {
		case a.Best != nil:
			answer = fmt.Sprintf("≈ %s (%s–%s), estimated", load(*a.Best), unit.Brief(*a.Low, 3),
				unit.Brief(*a.High, 3))
		case a.Low != nil:
			answer = load(*a.Low) + " or more, estimated"
		case a.High != nil:
			answer = "below " + load(*a.High) + ", estimated"
		}
		p.wrap("", fmt.Sprintf("%s: the highest %s that meets the SLO is %s", s.Label(), s.Axis, answer))
	}
	p.wrap("  twin", series.TwinText(&a.Twin))
	p.wrap("  server", series.ServerText(&a.Twin))
	return p.flush(w)
}

func latencyText(percentile string, p *record.TwinPoint) string {
	return fmt.Sprintf("%s %s [%s, %s]", percentile, unit.Brief(p.Ms, 3), unit.Brief(p.Low, 3), unit.Brief(p.High, 3))
}
