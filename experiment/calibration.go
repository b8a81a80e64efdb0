package experiment

import (
	"math"

	"bench/experiment/roofline"
)

// CalibrationPoints are the rows as roofline.Calibrate takes them, of the first row's model and hardware; of is that row's
// bound, nil where none has one. TPOT is the p50 of the gaps between tokens where each event has one token: it is a decode
// step, while tpot also holds the prompts of others that were computed in between. TTFT counts of rows with one slot only,
// where nothing queues. Rows with a failed check are left out.
func CalibrationPoints(rows []Row) (points []roofline.Point, of *RowBound) {
	for i := range rows {
		r := &rows[i]
		b := r.Bound
		if b == nil || !r.Validity.Valid() || (of != nil && !sameSetup(b, of)) {
			continue
		}
		if of == nil {
			of = b
		}
		if ms, ok := r.stepMs(); ok {
			points = append(points, roofline.Point{Name: r.ID + ", TPOT", Batch: b.Batch, Context: b.Context, Ms: ms})
		}
		if r.Spec.Concurrency == 1 && r.Spec.Rate == 0 && r.Summary.TTFT != nil {
			points = append(points, roofline.Point{Name: r.ID + ", TTFT", Input: b.Input, Cached: b.Cached, Ms: r.Summary.TTFT.P50})
		}
	}
	return points, of
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
