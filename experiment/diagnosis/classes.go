package diagnosis

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Tenants is how the classes of a mix fared beside each other at the quoted point.
type Tenants struct {
	// "gold: TTFT p95 +4 % [2, 6] beside bulk; tokens: gold 12 % [10, 14], bulk 88 % [86, 90]; Jain 0.98 [0.95, 1]"
	Text      string   `json:"text"`
	Slowdowns []Change `json:"slowdowns"` // of each class, against alone; empty: none ran alone
	// of its first repeat; absent: as in the row
	Service *record.Service `json:"service,omitempty"`
}

// tenantsOf is nil unless classes of the point have headers or a key, or run alone, too.
func tenantsOf(all []series.Series, p *series.Point) *Tenants {
	first := p.Shown()[0]
	t := &Tenants{Slowdowns: slowdowns(all, p), Service: first.Service}
	if len(first.Spec.Mix) < 2 || !first.Spec.HasTenants() && len(t.Slowdowns) == 0 {
		return nil
	}
	var parts []string
	for _, c := range t.Slowdowns {
		if c.Metric == t.Slowdowns[0].Metric {
			parts = append(parts, c.beside(first))
		}
	}
	if s := t.Service; s != nil {
		var shares []string
		for _, c := range s.Classes {
			shares = append(shares, c.Class+" "+shareText(c.Tokens))
		}
		parts = append(parts, "tokens: "+strings.Join(shares, ", "))
		if j := s.Jain; j != nil {
			parts = append(parts, fmt.Sprintf("Jain %.2f [%.2f, %.2f]", j.Value, j.CI95.Lo, j.CI95.Hi))
		}
	}
	t.Text = strings.Join(parts, "; ")
	return t
}

func shareText(b record.Bounded) string {
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*b.Value, 100*b.CI95.Lo, 100*b.CI95.Hi)
}

func slowdowns(all []series.Series, p *series.Point) []Change {
	out := []Change{}
	var rows []record.Row
	for _, r := range p.Shown() {
		rows = append(rows, *r)
	}
	eachRow(all, func(_ *series.Point, r *record.Row) {
		if r.Spec.Alone != "" && r.Spec.Name == rows[0].Spec.Name {
			rows = append(rows, *r)
		}
	})
	for _, x := range series.Interferences(rows) {
		out = append(out, Slowdown(&x))
	}
	return out
}

// Slowdown is a class's latency beside the others against alone, on the same server.
func Slowdown(x *series.Interference) Change {
	c := Change{Metric: x.Metric + "_p95", Class: x.Class, Base: x.Alone, Value: x.Together, Ratio: x.Ratio,
		CI95: x.CI95, Spread: "requests", Result: resultOf(x.CI95.Hi < 1, x.CI95.Lo > 1)}
	if x.CI95.Lo == 0 || math.IsInf(x.CI95.Hi, 0) {
		c.CI95, c.Result = stats.Interval{Lo: 0, Hi: math.Inf(1)}, Inconclusive
	}
	return c
}

func (c *Change) beside(r *record.Row) string {
	var others []string
	for _, o := range r.Spec.Mix {
		if o.Name != c.Class {
			others = append(others, o.Name)
		}
	}
	return fmt.Sprintf("%s: %s %s beside %s", c.Class, verdict.LimitName(c.Metric, ""), c.Text(), unit.Some(others))
}

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
		for _, f := range percentiles(p) {
			parts = append(parts, f.Name+" "+f.Value)
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
