package verdict

import (
	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// NoPrice is the reason of a row without a price. It holds for every row of a run.
const NoPrice = "price not specified: write gpus and gpu_hour_usd in [target]"

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

func costPerMillion(s *record.Summary, t experiment.Target) (usd float64, ok bool) {
	if !t.Priced() || s.Throughput.OutputTokensPerS <= 0 {
		return 0, false
	}
	return hourUSD(t) / 3600 / s.Throughput.OutputTokensPerS * 1e6, true
}
