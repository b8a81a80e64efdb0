package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bench/experiment/stats"
)

// Owned is what the target costs where nobody pays for it by the hour, and what
// else its price rests on: keys of [target], all of one GPU with its share of
// the server around it. 0 = not stated.
type Owned struct {
	GPUPriceUSD  float64 `toml:"gpu_price_usd" json:"gpu_price_usd,omitempty"`   // to buy
	GPULifeYears float64 `toml:"gpu_life_years" json:"gpu_life_years,omitempty"` // until it is written off
	GPUWatts     float64 `toml:"gpu_watts" json:"gpu_watts,omitempty"`           // at the wall, under load
	KWhUSD       float64 `toml:"kwh_usd" json:"kwh_usd,omitempty"`               // of electricity, cooling included
	Utilisation  float64 `toml:"utilisation" json:"utilisation,omitempty"`       // share of its hours in which it carries such a load, 0 to 1
}

// Check reports what is wrong in the keys.
func (o Owned) Check(bad func(key, problem, hint string)) {
	for _, x := range []struct {
		key   string
		value float64
		hint  string
	}{
		{"gpu_price_usd", o.GPUPriceUSD, "write gpu_price_usd = 30000"}, {"gpu_life_years", o.GPULifeYears, "write gpu_life_years = 4"},
		{"gpu_watts", o.GPUWatts, "write gpu_watts = 1000"}, {"kwh_usd", o.KWhUSD, "write kwh_usd = 0.15"},
	} {
		if !(x.value >= 0 && x.value <= math.MaxFloat64) { // nan, too
			bad(x.key, fmt.Sprintf("%s is %v", x.key, x.value), x.hint)
		}
	}
	if !(o.Utilisation >= 0 && o.Utilisation <= 1) {
		bad("utilisation", fmt.Sprintf("utilisation is %v, not within 0 to 1", o.Utilisation), "write utilisation = 0.6")
	}
	if (o.GPUPriceUSD > 0) != (o.GPULifeYears > 0) {
		bad("gpu_price_usd", "gpu_price_usd and gpu_life_years need each other", "write gpu_price_usd = 30000 and gpu_life_years = 4")
	}
	if o.KWhUSD > 0 && o.GPUWatts == 0 {
		bad("kwh_usd", "kwh_usd without gpu_watts says nothing", "write gpu_watts = 1000")
	}
}

const hoursPerYear = 8766 // 365.25 days

// gpuHourUSD is the price of one GPU for an hour: the stated one, or of an owned
// one what it loses in an hour and the electricity that it takes.
func (t Target) gpuHourUSD() (usd float64, ok bool) {
	if t.GPUHourUSD != nil {
		return *t.GPUHourUSD, true
	}
	if t.GPUPriceUSD == 0 || t.GPULifeYears == 0 {
		return 0, false
	}
	return t.GPUPriceUSD/t.GPULifeYears/hoursPerYear + t.GPUWatts/1000*t.KWhUSD, true
}

// priced says that the price of an hour is known.
func (t Target) priced() bool {
	_, ok := t.gpuHourUSD()
	return ok && t.GPUs > 0
}

// Cost is what the output of a row costs, at the throughput of its window: all
// of it is put on the output tokens.
type Cost struct {
	HourUSD       float64 `json:"hour_usd"` // of all GPUs
	USDPerMillion float64 `json:"usd_per_million_output_tokens"`
	TokensPerUSD  float64 `json:"output_tokens_per_usd"` // 0: the hour costs nothing

	Utilisation *float64 `json:"utilisation"` // null: not stated
	// USDPerMillionUsed is the price where the GPUs carry this load in that share of their hours only, and cost as much in the others.
	USDPerMillionUsed *float64 `json:"usd_per_million_output_tokens_at_utilisation"`

	Watts  *float64 `json:"watts"` // of all GPUs, as stated in [target]; null: not stated
	Joules *float64 `json:"joules_per_output_token"`
}

// CostOf is the cost of a row that meets its SLO, or why there is none.
func CostOf(r *Row, t Target) (*Cost, string) {
	verdict, _ := SLOOf(r)
	switch {
	case !t.priced():
		return nil, noPrice
	case verdict != "" && verdict != stats.Pass:
		return nil, "the SLO is not met: " + string(verdict)
	case r.Summary.Throughput.OutputTokensPerS <= 0:
		return nil, "no output token came inside the window"
	}
	return cost(r.Summary.Throughput.OutputTokensPerS, t), ""
}

const noPrice = "the price or the number of GPUs is not stated: write gpus and gpu_hour_usd in [target]"

// cost is of a throughput above 0 on a priced target.
func cost(tokensPerS float64, t Target) *Cost {
	usd, _ := t.gpuHourUSD()
	c := &Cost{HourUSD: usd * float64(t.GPUs)}
	c.USDPerMillion = c.HourUSD / 3600 / tokensPerS * 1e6
	if c.HourUSD > 0 {
		c.TokensPerUSD = 3600 * tokensPerS / c.HourUSD
	}
	if u := t.Utilisation; u > 0 {
		c.Utilisation, c.USDPerMillionUsed = &u, new(c.USDPerMillion/u)
	}
	if t.GPUWatts > 0 {
		watts := t.GPUWatts * float64(t.GPUs)
		c.Watts, c.Joules = &watts, new(watts/tokensPerS)
	}
	return c
}

// CostPerMillion is the price of a million output tokens in USD at this row's throughput; false
// where price or GPUs are not stated, or nothing came.
func CostPerMillion(s *Summary, t Target) (usd float64, ok bool) {
	if !t.priced() || s.Throughput.OutputTokensPerS <= 0 {
		return 0, false
	}
	return cost(s.Throughput.OutputTokensPerS, t).USDPerMillion, true
}

// PointCost is the cost of one point of a series.
type PointCost struct {
	Point    int  `json:"point"` // index in the series' points
	Cost     Cost `json:"cost"`  // of the repeat with the median price, the dearer of two
	Accepted bool `json:"accepted"`
}

// Costs are those of the points that meet the SLO and are valid, by
// ascending load; the accepted one is the series' SLO knee.
func (s *Series) Costs() []PointCost {
	var out []PointCost
	for i := range s.Points {
		p := &s.Points[i]
		if !p.Valid || (p.SLO != "" && p.SLO != stats.Pass) {
			continue
		}
		if c := middle(p.Rows); c != nil {
			out = append(out, PointCost{Point: i, Cost: *c, Accepted: s.SLOKnee.Point != nil && *s.SLOKnee.Point == i})
		}
	}
	return out
}

// middle is the median cost of a point's repeats; nil: one has none.
func middle(rows []*Row) *Cost {
	costs := make([]*Cost, 0, len(rows))
	for _, r := range rows {
		if r.Cost == nil {
			return nil
		}
		costs = append(costs, r.Cost)
	}
	slices.SortFunc(costs, func(a, b *Cost) int { return cmp.Compare(a.USDPerMillion, b.USDPerMillion) })
	return costs[len(costs)/2]
}
