package record

import (
	"bench/experiment/stats"
)

// Latency is the sample of a metric by its name in Latencies; nil where nothing was measured.
func (s *Summary) Latency(metric string) *stats.Summary {
	return map[string]*stats.Summary{
		"ttft": s.TTFT, "ttft_from_send": s.TTFTFromSend, "ttfe": s.TTFE, "tpot": s.TPOT, "itl": s.ITL,
		"e2e": s.E2E, "e2e_from_send": s.E2EFromSend, "cap_wait": s.CapWait, "lag": s.Lag,
	}[metric]
}
