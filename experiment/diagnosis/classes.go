package diagnosis

import (
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// ClassAnswer is how one class of a mix meets its SLO at the quoted point.
type ClassAnswer struct {
	Class   string        `json:"class"`   // empty: the limits of the row that no class overrides
	Verdict stats.Verdict `json:"verdict"` // the worst of its limits; empty: the class has no SLO of its own
	N       int           `json:"n"`       // completed requests of the smallest repeat
	Text    string        `json:"text"`    // "TTFT p95 120 ms [100, 150] ≤ 300 ms PASS; n 4,000"
}

func (c *ClassAnswer) Name() string {
	if c.Class == "" {
		return "row"
	}
	return c.Class
}

// classesOf is nil unless a class of the point has an SLO of its own.
func classesOf(p *series.Point) []ClassAnswer {
	var out []ClassAnswer
	for i := range p.Classes {
		c := &p.Classes[i]
		out = append(out, ClassAnswer{c.Class, c.SLO, c.Completed(), classText(c.Limits, c)})
	}
	if len(out) == 0 {
		return nil
	}
	own := ClassAnswer{N: p.Completed()}
	var limits []record.Verdict
	for _, v := range p.Limits {
		if v.Class == "" {
			limits = append(limits, v)
			own.Verdict = worse(own.Verdict, v.Verdict)
		}
	}
	if len(limits) > 0 {
		own.Text = classText(limits, p)
		out = append(out, own)
	}
	return out
}

func classText(limits []record.Verdict, p *series.Point) string {
	var parts []string
	for i := range limits {
		parts = append(parts, verdict.ResultText(&limits[i]))
	}
	if len(limits) == 0 {
		for _, q := range limitedPercentiles(p) {
			if l, ok := p.Latency(q[0]).Get(q[1]); ok {
				parts = append(parts, metric.Words(q[0])+" "+q[1]+" "+l.WithInterval())
			}
		}
	}
	return strings.Join(append(parts, "n "+unit.Count(p.Completed())), "; ")
}

func worse(a, b stats.Verdict) stats.Verdict {
	for _, v := range []stats.Verdict{stats.Fail, stats.Undecided, stats.Pass} {
		if a == v || b == v {
			return v
		}
	}
	return ""
}
