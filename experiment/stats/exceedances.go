package stats

// Exceedances are the requests of one run that exceed one limit on a percentile.
type Exceedances struct {
	Over float64 `json:"over"` // requests over the limit
	// The fewest and the most of them that a disturbance of the run leaves possible; both Over: none does.
	Least   float64 `json:"over_least"`
	Most    float64 `json:"over_most"`
	N       float64 `json:"requests"`
	Time    float64 `json:"correlation_requests"` // autocorrelation time, in requests; at least 1
	Allowed float64 `json:"allowed_share"`        // share that may exceed the limit: 0.05 for a p95
	// Log is ln(percentile ÷ limit), and Error its standard error; 0: unknown. Bounded values count by it alone, others
	// by how many are over the limit, too.
	Log     float64 `json:"-"`
	Error   float64 `json:"-"`
	Bounded bool    `json:"-"`
	Verdict Verdict `json:"-"` // of the limit in this run; empty = UNDECIDED
}

// Correlation is the autocorrelation time that counts for a limit on the p-quantile, in requests: n requests in
// order know the percentile as well as n/time independent ones. It is 1 if all values are below a third of the
// limit, and do not rise: their order then decides nothing.
func (s *InOrder) Correlation(limit, p float64) float64 {
	if s.Alone {
		return 1
	}
	if most := s.sorted.at(s.sorted.size() - 1); most <= limit/3 && !rises(s.values, 12) {
		return 1
	}
	return max(1, s.level(1-p).spread*s.timeAt(p))
}
