package report

import (
	"fmt"
	"io"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/text"
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
		p.wrap("", fmt.Sprintf("%s at %s %s%s (estimated of a long run, ms)", s.Label(), s.Axis, load(q.Load), on))
		for i := 0; i < len(a.Latencies); {
			metric, _, _ := strings.Cut(a.Latencies[i].Metric, "_")
			line := fmt.Sprintf("  %-5s", strings.ToUpper(metric))
			for ; i < len(a.Latencies) && strings.HasPrefix(a.Latencies[i].Metric, metric+"_"); i++ {
				part := latencyText(&a.Latencies[i])
				if text.Width(line+part) > p.width {
					p.line(line)
					line = strings.Repeat(" ", len("  TTFT "))
				}
				line += part
			}
			p.line(line)
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

func latencyText(p *record.TwinPoint) string {
	_, name, _ := strings.Cut(p.Metric, "_")
	return fmt.Sprintf("  %s %s [%s, %s]", name, unit.Brief(p.Ms, 3), unit.Brief(p.Low, 3), unit.Brief(p.High, 3))
}
