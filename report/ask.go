package report

import (
	"fmt"
	"io"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// AskText writes the twin's answer to a question.
func AskText(w io.Writer, s *series.Series, q series.Question, a *series.Estimated) error {
	var b strings.Builder
	load := func(x float64) string { return unit.Brief(x, 4) + map[bool]string{true: "/s"}[s.Axis == "rate"] }
	if q.Load > 0 {
		on := ""
		if q.Replicas > 1 {
			on = fmt.Sprintf(" on %.0f replicas", q.Replicas)
		}
		fmt.Fprintf(&b, "%s at %s %s%s (estimated, ms)\n", s.Label(), s.Axis, load(q.Load), on)
		for i := 0; i < len(a.Latencies); {
			metric, _, _ := strings.Cut(a.Latencies[i].Metric, "_")
			fmt.Fprintf(&b, "  %-5s", strings.ToUpper(metric))
			for ; i < len(a.Latencies) && strings.HasPrefix(a.Latencies[i].Metric, metric+"_"); i++ {
				b.WriteString(latencyText(&a.Latencies[i]))
			}
			b.WriteString("\n")
		}
	} else {
		fmt.Fprintf(&b, "%s: the highest %s that meets the SLO is ", s.Label(), s.Axis)
		switch {
		case a.Best != nil:
			fmt.Fprintf(&b, "≈ %s (%s–%s), estimated\n", load(*a.Best), unit.Brief(*a.Low, 3), unit.Brief(*a.High, 3))
		case a.Low != nil:
			fmt.Fprintf(&b, "%s or more, estimated\n", load(*a.Low))
		case a.High != nil:
			fmt.Fprintf(&b, "below %s, estimated\n", load(*a.High))
		default:
			b.WriteString("not known\n")
		}
	}
	fmt.Fprintf(&b, "  twin %s\n", series.TwinText(&a.Twin))
	_, err := io.WriteString(w, b.String())
	return err
}

func latencyText(p *record.TwinPoint) string {
	_, name, _ := strings.Cut(p.Metric, "_")
	return fmt.Sprintf("  %s %s [%s, %s]", name, unit.Brief(p.Ms, 3), unit.Brief(p.Low, 3), unit.Brief(p.High, 3))
}
