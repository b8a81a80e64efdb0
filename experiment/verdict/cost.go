package verdict

import (
	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// CostOf is the cost of a row that meets its SLO, or why there is none.
func CostOf(r *record.Row, t experiment.Target) (*record.Cost, string) {
	verdict, _ := SLOOf(r)
	switch {
	case !t.Priced():
		return nil, NoPrice
	case verdict != "" && verdict != stats.Pass:
		return nil, "the SLO is not met: " + string(verdict)
	case r.Summary.Throughput.OutputTokensPerS <= 0:
		return nil, "no output token came inside the window"
	}
	return costOf(r.Summary.Throughput.OutputTokensPerS, t), ""
}

const NoPrice = "the price or the number of GPUs is not stated: write gpus and gpu_hour_usd in [target]"

// cost is of a throughput above 0 on a priced target.
func costOf(tokensPerS float64, t experiment.Target) *record.Cost {
	c := &record.Cost{HourUSD: *t.GPUHourUSD * float64(t.GPUs)}
	c.USDPerMillion = c.HourUSD / 3600 / tokensPerS * 1e6
	if c.HourUSD > 0 {
		c.TokensPerUSD = 3600 * tokensPerS / c.HourUSD
	}
	return c
}

// CostPerMillion is the price of a million output tokens in USD at this row's throughput; false
// where price or GPUs are not stated, or nothing came.
func CostPerMillion(s *record.Summary, t experiment.Target) (usd float64, ok bool) {
	if !t.Priced() || s.Throughput.OutputTokensPerS <= 0 {
		return 0, false
	}
	return costOf(s.Throughput.OutputTokensPerS, t).USDPerMillion, true
}
