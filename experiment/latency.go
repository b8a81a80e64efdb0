package experiment

import "bench/experiment/stats"

// Latency is one metric of one request in ms, by its name in Latencies; ok is false where it has none. The gaps behind itl are
// many for a request, so that it has no value here.
func (r *Record) Latency(metric string, stream bool) (ms float64, ok bool) {
	return r.latency(metric, stream)
}

// Latency is the sample of a metric by its name in Latencies; nil where nothing was measured.
func (s *Summary) Latency(metric string) *stats.Summary {
	return map[string]*stats.Summary{
		"ttft": s.TTFT, "ttft_from_send": s.TTFTFromSend, "ttfe": s.TTFE, "tpot": s.TPOT, "itl": s.ITL,
		"e2e": s.E2E, "e2e_from_send": s.E2EFromSend, "cap_wait": s.CapWait, "lag": s.Lag,
	}[metric]
}
