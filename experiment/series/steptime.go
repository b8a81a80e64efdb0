package series

import (
	"math"

	"bench/experiment/record"
)

// StepMs is the p50 of itl if each event has one token, since tpot includes other requests' prefill; else of tpot.
func StepMs(r *record.Row) (ms float64, ok bool) {
	const tolerance = 0.01 // of one token per event
	s := &r.Summary
	if s.ITL != nil && math.Abs(s.TokensPerEvent-1) <= tolerance {
		return s.ITL.P50, s.ITL.P50 > 0
	}
	if s.TPOT != nil {
		return s.TPOT.P50, s.TPOT.P50 > 0
	}
	return 0, false
}

func SameSetup(a, b *record.Roofline) bool {
	return a.Model == b.Model && a.Hardware == b.Hardware && a.GPUs == b.GPUs && a.Precision == b.Precision
}
