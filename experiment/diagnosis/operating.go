package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// OperatingPoint is the load to ship: the highest one that meets the SLO, with its settings and figures. Figures
// of repeats are their medians.
type OperatingPoint struct {
	Name string `json:"name"` // with the workload: "D-saturation, concurrency 32"
	Load string `json:"load"`

	OutputTokensPerSPerGPU *float64 `json:"output_tokens_per_s_per_gpu"` // null: the number of GPUs is not specified
	OutputTokensPerS       float64  `json:"output_tokens_per_s"`
	RequestsPerS           float64  `json:"requests_per_s"`
	PerUserTokensPerS      *float64 `json:"output_tokens_per_s_per_user"` // interactivity, 1 / TPOT p50; null: no TPOT
	N                      int      `json:"n"`                            // completed requests of the smallest repeat

	Closest  *Closest     `json:"closest_limit"` // null: the SLO has no maximum that was measured
	Cost     *record.Cost `json:"cost"`          // null: see no_cost
	NoCost   string       `json:"no_cost,omitempty"`
	Settings []Fact       `json:"settings"` // the load, the other axes, and the command of the server

	// Cautions are those of its repeats, one per code. Its PASS holds with their effects.
	Cautions []record.Finding `json:"cautions"`

	Brings Brings `json:"-"`
}

// BringsText is users, throughput, cost and share of the roofline on one line; empty: no point.
func (o *OperatingPoint) BringsText() string {
	if o == nil {
		return ""
	}
	return o.Brings.text()
}

type Closest struct {
	Metric string  `json:"metric"` // of the SLO
	Share  float64 `json:"share"`  // measured value ÷ limit
	Text   string  `json:"text"`   // "TPOT p95 at 7 % of its limit"
}

func operatingPoint(m *record.Manifest, s *series.Series, p *series.Point) *OperatingPoint {
	first := p.Rows[0]
	o := &OperatingPoint{Name: s.PointName(p), Load: p.Load, OutputTokensPerS: p.OutputTokensPerS.Median,
		RequestsPerS: p.RequestsPerS.Median,
		N:            p.Completed(), Settings: settings(m, s, p), Cautions: oncePerAdvice(findings(p), record.Caution),
		Closest: closest(p), Brings: *bringsAt(m, s, requested(s, p))}
	if g := p.OutputTokensPerSPerGPU; g != nil {
		o.OutputTokensPerSPerGPU = new(g.Median)
	}
	if u := p.PerUserTokensPerS; len(u.Values) > 0 {
		o.PerUserTokensPerS = new(u.Median)
	}
	if o.Cost = series.MedianCost(p.Rows); o.Cost == nil {
		o.NoCost = first.NoCost
	}
	return o
}

func figures(p *series.Point) []Fact {
	var out []Fact
	throughput := func(name string, r record.Repeats) {
		text := unit.Digits(r.Median)
		if r.Spread != nil {
			text += fmt.Sprintf(" [%s, %s]", unit.Digits(r.Spread.Min), unit.Digits(r.Spread.Max))
		}
		out = append(out, Fact{name, text})
	}
	if g := p.OutputTokensPerSPerGPU; g != nil {
		throughput("tok/s/GPU", *g)
	} else {
		throughput("output tok/s", p.OutputTokensPerS)
	}
	if len(p.PerUserTokensPerS.Values) > 0 && len(p.Classes) == 0 {
		throughput("tok/s/user", p.PerUserTokensPerS)
	}
	for _, q := range limitedPercentiles(p) { // of all classes together they are no answer to limits of each
		if l, ok := p.Latency(q[0]).Get(q[1]); ok && len(p.Classes) == 0 {
			out = append(out, Fact{metric.Words(q[0]) + " " + q[1], l.WithInterval()})
		}
	}
	if c := series.MedianCost(p.Rows); c != nil {
		out = append(out, Fact{"cost", unit.Digits(c.USDPerMillion) + verdict.PerMillion})
	}
	if e := p.EnergyPerToken; e != nil {
		throughput("J/token", *e)
	}
	return append(out, Fact{"n", unit.Count(p.Completed())})
}

func limitedPercentiles(p *series.Point) [][2]string {
	var out [][2]string
	for _, latency := range metric.Shown {
		limited := false
		for _, l := range p.Rows[0].Spec.SLO.Limits {
			if l.Metric == latency && slices.Contains(metric.Percentiles, l.Stat) {
				out, limited = append(out, [2]string{latency, l.Stat}), true
			}
		}
		if !limited && (latency == "ttft" || latency == "tpot" || latency == "ttfo" && p.Thinks()) {
			out = append(out, [2]string{latency, "p95"})
		}
	}
	return out
}

func closest(p *series.Point) *Closest {
	var out *Closest
	for _, r := range p.Rows {
		for i := range r.SLO {
			v := &r.SLO[i]
			if strings.HasPrefix(v.Metric, "min_") || v.Value == nil || *v.Value <= 0 || v.Limit <= 0 {
				continue
			}
			if x := *v.Value / v.Limit; out == nil || x > out.Share {
				out = &Closest{v.Metric, x, fmt.Sprintf("%s at %.0f %% of its limit",
					verdict.LimitName(v.Metric, v.Class), 100*x)}
			}
		}
	}
	return out
}

func settings(m *record.Manifest, s *series.Series, p *series.Point) []Fact {
	out := []Fact{{"load", p.Load}}
	for _, a := range s.OtherAxes {
		out = append(out, Fact{a.Key, a.Value})
	}
	for _, start := range slices.Backward(m.Servers) {
		if start.Variant == p.Rows[0].Spec.Variant && start.Command != nil && start.ReadyS > 0 {
			return append(out, Fact{"server", strings.Join(start.Command, " ")})
		}
	}
	if text := m.Facts["server_flags"]; text != "" {
		out = append(out, Fact{"server_flags, as specified", text})
	}
	return out
}

func oncePerAdvice(all []record.Finding, severity record.Severity) []record.Finding {
	out := []record.Finding{}
	for _, f := range all {
		same := func(g record.Finding) bool { return g.Code == f.Code && g.Hint == f.Hint }
		if f.Severity == severity && !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	return out
}
