package diagnosis

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Brings is what a load brings. Figures are those of the nearest valid point; a rate's throughput and cost are scaled
// to another load.
type Brings struct {
	UsersPerMinute         *float64 `json:"users_once_a_minute"` // who send a request each minute; null: unknown
	OutputTokensPerS       *float64 `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *float64 `json:"output_tokens_per_s_per_gpu"`
	USDPerMillion          *float64 `json:"usd_per_million_output_tokens"`
	RooflineShare          *float64 `json:"roofline_share"` // floor of the TPOT at this load ÷ its median
}

func bringsAt(s *series.Series, load float64) (b Brings) {
	p := nearest(s, load)
	if p == nil {
		return b
	}
	scale := 1.0
	if done := p.RequestsPerS.Median; s.Axis == "rate" && done > 0 && requested(s, p) != load {
		scale = load / done
	}
	times := func(x float64) *float64 { x *= scale; return &x }
	b.UsersPerMinute, b.OutputTokensPerS = times(60*p.RequestsPerS.Median), times(p.OutputTokensPerS.Median)
	if g := p.OutputTokensPerSPerGPU; g != nil {
		b.OutputTokensPerSPerGPU = times(g.Median)
	}
	if hour := hourUSD(s); hour > 0 && *b.OutputTokensPerS > 0 {
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

// hourUSD is the price of an hour of all GPUs; 0 = not specified.
func hourUSD(s *series.Series) float64 {
	for i := range s.Points {
		for _, r := range s.Points[i].Rows {
			if r.Cost != nil {
				return r.Cost.HourUSD
			}
		}
	}
	return 0
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
func BringsText(s *series.Series, p *series.Point) string {
	if _, ok := RulerLoad(s, p); !ok || !p.Valid {
		return ""
	}
	b := bringsAt(s, requested(s, p))
	return b.text()
}

func (b *Brings) text() string {
	var out []string
	if u := b.UsersPerMinute; u != nil {
		out = append(out, "≈ "+UsersText(*u)+" users who ask once a minute")
	}
	if g := b.OutputTokensPerSPerGPU; g != nil {
		out = append(out, unit.Digits(*g)+" tok/s/GPU")
	} else if x := b.OutputTokensPerS; x != nil {
		out = append(out, unit.Digits(*x)+" output tok/s")
	}
	if c := b.USDPerMillion; c != nil {
		out = append(out, unit.Digits(*c)+verdict.PerMillion)
	}
	if r := b.RooflineShare; r != nil {
		out = append(out, fmt.Sprintf("%.0f %% of the roofline", 100**r))
	}
	return strings.Join(out, " · ")
}

// UsersText rounds a number of users to two digits.
func UsersText(perMinute float64) string { return unit.Count(int(twoDigits(perMinute))) }

func twoDigits(x float64) float64 {
	if x < 10 {
		return math.Round(x)
	}
	step := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/step) * step
}
