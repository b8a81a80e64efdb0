package experiment

import (
	"math"
	"slices"

	"bench/experiment/roofline"
)

// Calibration is what of some rows roofline.Calibrate can use.
type Calibration struct {
	Points  []roofline.Point
	Of      *RowBound // of the first row that is used: model and hardware of all; nil: none is
	LeftOut []string  // rows without a bound, with a failed check, or of another model or hardware
}

// CalibrationOf takes a decode step from each row: the p50 of the gaps between tokens where each event has one token, since
// tpot also holds the prompts of others that were computed in between. A row with one slot, where nothing queues, gives its
// TTFT too.
func CalibrationOf(rows []Row) Calibration {
	var c Calibration
	for i := range rows {
		r := &rows[i]
		b := r.Bound
		if b == nil || !timed(r) || (c.Of != nil && !sameSetup(b, c.Of)) {
			c.LeftOut = append(c.LeftOut, r.ID)
			continue
		}
		if c.Of == nil {
			c.Of = b
		}
		if ms, ok := r.stepMs(); ok {
			c.Points = append(c.Points, roofline.Point{Name: r.ID + ", decode", Batch: b.Batch, Context: b.Context, Ms: ms})
		}
		if r.Spec.Concurrency == 1 && r.Spec.Rate == 0 && r.Summary.TTFT != nil && b.Input > 0 {
			c.Points = append(c.Points, roofline.Point{Name: r.ID + ", TTFT", Input: b.Input, Cached: b.Cached, Ms: r.Summary.TTFT.P50})
		}
	}
	return c
}

// timed says that the row's times can be believed: no check failed but those of what was asked, or of how many
// requests there were, of which a p50 needs few.
func timed(r *Row) bool {
	const fewest = 6 // stats gives a p50 no interval below
	for _, code := range r.Validity.Failed {
		if !slices.Contains([]string{"few_samples", "rate_not_achieved", "concurrency", "prompt_length", "faster_than_bound"}, code) {
			return false
		}
	}
	return r.Summary.Requests.Completed >= fewest
}

// stepMs is how long a decode step took at the median.
func (r *Row) stepMs() (ms float64, ok bool) {
	const single = 0.01 // off one token an event
	s := &r.Summary
	if s.ITL != nil && math.Abs(s.TokensPerEvent-1) <= single {
		return s.ITL.P50, s.ITL.P50 > 0
	}
	if s.TPOT != nil {
		return s.TPOT.P50, s.TPOT.P50 > 0
	}
	return 0, false
}

func sameSetup(a, b *RowBound) bool {
	return a.Model == b.Model && a.Hardware == b.Hardware && a.GPUs == b.GPUs && a.Precision == b.Precision
}
