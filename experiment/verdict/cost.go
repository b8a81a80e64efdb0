package verdict

import (
	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// NoPrice is the reason of a row without a price. It holds for every row of a run.
const NoPrice = "price not specified: write gpus and gpu_hour_usd in [target]"

// costOf is the cost of a row that meets its SLO, or why it has none.
func costOf(r *record.Row, t experiment.Target) (*record.Cost, string) {
	verdict, _ := OfRows(r)
	usd, ok := costPerMillion(&r.Summary, t)
	switch {
	case !t.Priced():
		return nil, NoPrice
	case verdict != "" && verdict != stats.Pass:
		return nil, "the SLO is not met: " + string(verdict)
	case !ok:
		return nil, "no output token in the window"
	}
	c := &record.Cost{HourUSD: hourUSD(t), USDPerMillion: usd}
	if c.HourUSD > 0 {
		c.TokensPerUSD = 3600 * r.Summary.Throughput.OutputTokensPerS / c.HourUSD
	}
	return c, ""
}

// hourUSD is the price of all GPUs for an hour; t must be priced.
func hourUSD(t experiment.Target) float64 { return *t.GPUHourUSD * float64(t.GPUs) }

// costPerMillion is the price of a million output tokens in USD at this throughput; false without a price or
// tokens.
func costPerMillion(s *record.Summary, t experiment.Target) (usd float64, ok bool) {
	if !t.Priced() || s.Throughput.OutputTokensPerS <= 0 {
		return 0, false
	}
	return hourUSD(t) / 3600 / s.Throughput.OutputTokensPerS * 1e6, true
}
