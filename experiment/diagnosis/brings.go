package diagnosis

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Brings is what a load brings. At a measured load its figures are those of the point. At another rate users and
// throughput follow from the rate and the mean response of the nearest valid point; at another concurrency they are of
// that point.
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
			requests, output = load, load*mean
		}
	}
	b.UsersPerMinute, b.OutputTokensPerS, b.gpus = new(60*requests), &output, m.Target.GPUs
	if g := p.OutputTokensPerSPerGPU; g != nil && p.OutputTokensPerS.Median > 0 {
		b.OutputTokensPerSPerGPU = new(g.Median * output / p.OutputTokensPerS.Median)
	}
	if e := p.EnergyPerToken; e != nil && output > 0 {
		b.EnergyPerToken, b.UsersPerKW = new(e.Median), new(60e3*requests/(e.Median*output))
	}
	if hour := hourUSD(m); hour > 0 && *b.OutputTokensPerS > 0 {
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
func hourUSD(m *record.Manifest) float64 {
	if m.GPUHourUSD == nil {
		return 0
	}
	return *m.GPUHourUSD * float64(m.Target.GPUs)
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
