package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
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

func figure(name, short, rest string) Fact {
	return Fact{Name: name, Value: strings.TrimSpace(short + " " + rest), Short: short, Rest: rest}
}

func figures(p *series.Point) []Fact {
	var out []Fact
	throughput := func(name string, r record.Repeats) {
		within := ""
		if r.Spread != nil {
			within = fmt.Sprintf("[%s, %s]", unit.Digits(r.Spread.Min), unit.Digits(r.Spread.Max))
		}
		out = append(out, figure(name, unit.Digits(r.Median), within))
	}
	if g := p.OutputTokensPerSPerGPU; g != nil {
		throughput("tok/s/GPU", *g)
	} else {
		throughput("output tok/s", p.OutputTokensPerS)
	}
	if len(p.PerUserTokensPerS.Values) > 0 && len(p.Classes) == 0 {
		throughput("tok/s/user", p.PerUserTokensPerS)
	}
	if len(p.Classes) == 0 { // of all classes together they are no answer to limits of each
		out = append(out, percentiles(p)...)
	}
	if c := series.MedianCost(p.Rows); c != nil {
		cost := unit.Digits(c.USDPerMillion)
		out = append(out, Fact{Name: "cost", Value: cost + verdict.PerMillion, Short: cost})
	}
	if e := p.EnergyPerToken; e != nil {
		throughput("J/token", *e)
	}
	return append(out, Fact{Name: "n", Value: unit.Count(p.Completed())})
}

// percentiles are those that the SLO limits; else the p95 of the first token and of the time per token.
func percentiles(p *series.Point) (out []Fact) {
	add := func(latency, stat string) {
		if l, ok := p.Latency(latency).Get(stat); ok {
			l.CI95 = bounded(p, latency+"_"+stat, l.CI95)
			value, within := l.WithInterval()
			f := figure(metric.Words(latency)+" "+stat, value, within)
			f.Latency = true
			out = append(out, f)
		}
	}
	for _, latency := range metric.Shown {
		limited := false
		for _, l := range p.Rows[0].Spec.SLO.Limits {
			if l.Metric == latency && slices.Contains(metric.Percentiles, l.Stat) {
				add(latency, l.Stat)
				limited = true
			}
		}
		if !limited && (latency == "ttft" || latency == "tpot" || latency == "ttfo" && p.Thinks()) {
			add(latency, "p95")
		}
	}
	return out
}

// bounded has the ends of the limit's verdict where the order statistics leave an end open, so that a PASS does not
// stand beside an interval without an end. With failed requests the verdict is on another percentile.
func bounded(p *series.Point, limit string, iv stats.Interval) stats.Interval {
	failed := slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.Summary.Requests.Failed > 0 })
	for _, v := range p.Limits {
		if !failed && v.Metric == limit && v.Class == "" && v.Interval != nil {
			if math.IsInf(iv.Lo, 0) {
				iv.Lo = v.Interval.Lo
			}
			if math.IsInf(iv.Hi, 0) {
				iv.Hi = v.Interval.Hi
			}
		}
	}
	return iv
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
	out := []Fact{{Name: "load", Value: p.Load}}
	for _, a := range s.OtherAxes {
		out = append(out, Fact{Name: a.Key, Value: a.Value})
	}
	for _, start := range slices.Backward(m.Servers) {
		if start.Variant == p.Rows[0].Spec.Variant && start.Command != nil && start.ReadyS > 0 {
			return append(out, Fact{Name: "server", Value: strings.Join(start.Command, " ")})
		}
	}
	if text := m.Facts["server_flags"]; text != "" {
		out = append(out, Fact{Name: "server_flags, as specified", Value: text})
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

// Brings is what a load brings. At a measured load its figures are those of the point. At another rate users and
// throughput follow from the rate, the turns and the mean response of the nearest valid point; at another concurrency
// they are of that point.
type Brings struct {
	UsersPerMinute         *float64 `json:"users_once_a_minute"` // who send a request each minute; null: unknown
	OutputTokensPerS       *float64 `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *float64 `json:"output_tokens_per_s_per_gpu"`
	USDPerMillion          *float64 `json:"usd_per_million_output_tokens"`
	// that send a request each minute, per kW of the GPUs; absent: their power was not collected
	UsersPerKW     *float64 `json:"users_once_a_minute_per_kw,omitempty"`
	EnergyPerToken *float64 `json:"energy_j_per_output_token,omitempty"` // of the nearest valid point

	RooflineShare *float64 `json:"roofline_share"` // floor of the TPOT at the nearest valid point ÷ its median

	sharedAt string // the load of that point, if it is another one
	gpus     int    // 0 = not specified
	atLeast  bool   // the load that the SLO allows may be higher: so may be what it brings, and lower its cost
}

func bringsAt(m *record.Manifest, s *series.Series, load float64) *Brings {
	b, p := &Brings{}, nearest(s, load)
	if p == nil {
		return b
	}
	requests, output := p.RequestsPerS.Median, p.OutputTokensPerS.Median
	if measured := requested(s, p); measured != load {
		b.sharedAt = loadText(s.Axis, measured)
		if mean := meanOutput(p); s.Axis == "rate" && mean > 0 { // what arrived in a short window depends on its edges
			requests = load * p.Rows[0].Spec.RequestsPerArrival()
			output = requests * mean
		}
	}
	b.UsersPerMinute, b.OutputTokensPerS = new(60*requests), &output
	b.gpus = cmp.Or(p.Rows[0].GPUs(), m.Target.GPUs)
	if g := p.OutputTokensPerSPerGPU; g != nil && p.OutputTokensPerS.Median > 0 {
		b.OutputTokensPerSPerGPU = new(g.Median * output / p.OutputTokensPerS.Median)
	}
	if e := p.EnergyPerToken; e != nil && output > 0 {
		b.EnergyPerToken, b.UsersPerKW = new(e.Median), new(60e3*requests/(e.Median*output))
	}
	if hour := b.hourUSD(m); hour > 0 && *b.OutputTokensPerS > 0 {
		b.USDPerMillion = new(hour / (3600 * *b.OutputTokensPerS) * 1e6)
	}
	if r := p.Rows[0].Roofline; r != nil && p.Rows[0].Summary.TPOT != nil && p.Rows[0].Summary.TPOT.P50 > 0 {
		floor := r.TPOT.FloorMs
		if r.Loaded != nil {
			floor = r.Loaded.FloorMs
		}
		b.RooflineShare = new(floor / p.Rows[0].Summary.TPOT.P50)
	}
	return b
}

func meanOutput(p *series.Point) float64 {
	tokens, requests := 0, 0
	for _, r := range p.Rows {
		tokens, requests = tokens+r.Summary.Tokens.Output, requests+r.Summary.Requests.Completed
	}
	return float64(tokens) / math.Max(1, float64(requests))
}

// hourUSD is the price of an hour of all GPUs; 0 = not specified. Rows that miss the SLO have no cost of their own.
func (b *Brings) hourUSD(m *record.Manifest) float64 {
	if m.GPUHourUSD == nil {
		return 0
	}
	return *m.GPUHourUSD * float64(b.gpus)
}

func nearest(s *series.Series, load float64) (best *series.Point) {
	least := math.Inf(1)
	for i := range s.Points {
		p := &s.Points[i]
		if d := math.Abs(math.Log(requested(s, p) / load)); p.Valid && p.RequestsPerS.Median > 0 && d < least {
			least, best = d, p
		}
	}
	return best
}

// BringsText is what the load of a point brings; empty: the point is not valid.
func BringsText(m *record.Manifest, s *series.Series, p *series.Point) string {
	if _, ok := RulerLoad(s, p); !ok || !p.Valid {
		return ""
	}
	return bringsAt(m, s, requested(s, p)).text()
}

func (b *Brings) text() string {
	var out []string
	at := ""
	if b.sharedAt != "" {
		at = " at " + b.sharedAt
	}
	about, least, most := "≈ ", "", ""
	if b.atLeast {
		about, least, most = "at least ", "at least ", "at most "
	}
	if u := b.UsersPerMinute; u != nil {
		text := about + UsersText(*u) + " users who ask once a minute"
		if b.gpus > 1 {
			text += ", " + UsersText(*u/float64(b.gpus)) + " per GPU"
		}
		out = append(out, text)
	}
	if u := b.UsersPerKW; u != nil {
		out = append(out, fmt.Sprintf("≈ %s users/kW, %s J/token%s", UsersText(*u), unit.Digits(*b.EnergyPerToken),
			at))
	}
	if g := b.OutputTokensPerSPerGPU; g != nil {
		out = append(out, least+unit.Digits(*g)+" tok/s/GPU")
	} else if x := b.OutputTokensPerS; x != nil {
		out = append(out, least+unit.Digits(*x)+" output tok/s")
	}
	if c := b.USDPerMillion; c != nil {
		out = append(out, most+unit.Digits(*c)+verdict.PerMillion)
	}
	if r := b.RooflineShare; r != nil {
		out = append(out, fmt.Sprintf("TPOT floor %.0f %% of TPOT%s", 100**r, at))
	}
	return strings.Join(out, " · ")
}

// UsersText rounds a number of users to two digits.
func UsersText(perMinute float64) string {
	step := math.Pow(10, max(0, math.Floor(math.Log10(perMinute))-1))
	return unit.Count(int(math.Round(perMinute/step) * step))
}
