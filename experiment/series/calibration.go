package series

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/roofline"
)

// Calibration is what of some rows roofline.Calibrate can use.
type Calibration struct {
	Points  []roofline.Point
	Of      *record.Roofline // of the first row that is used: model and hardware of all; nil: none is
	LeftOut []string         // the other rows, and why: "chat-r1 (client_bound)"
}

// CalibrationOf takes a decode step from each row: the p50 of the gaps between tokens where each event has one token, since
// tpot also holds the prompts of others that were computed in between. A row with one slot, where nothing queues, gives its
// TTFT too.
func CalibrationOf(rows []record.Row) Calibration {
	var c Calibration
	for i := range rows {
		r := &rows[i]
		b := r.Roofline
		if why := c.unfit(r); why != "" {
			c.LeftOut = append(c.LeftOut, r.ID+" ("+why+")")
			continue
		}
		if c.Of == nil {
			c.Of = b
		}
		if ms, ok := StepMs(r); ok {
			c.Points = append(c.Points, roofline.Point{Name: r.ID + ", decode", Batch: b.Batch, Context: b.Context, Ms: ms})
		}
		if r.Spec.Concurrency == 1 && r.Spec.Rate == 0 && r.Summary.TTFT != nil && b.Input > 0 {
			c.Points = append(c.Points, roofline.Point{Name: r.ID + ", TTFT", Input: b.Input, Cached: b.Cached, Ms: r.Summary.TTFT.P50})
		}
	}
	return c
}

// unfit says why a row tells nothing; empty: it does. Its times can be believed where no check failed but those of what was
// asked, or of how many requests there were, of which a p50 needs few.
func (c *Calibration) unfit(r *record.Row) string {
	const fewest = 6 // stats gives a p50 no interval below
	harmless := []string{"few_samples", "rate_not_achieved", "concurrency", "prompt_length", "faster_than_bound"}
	failed := slices.DeleteFunc(slices.Clone(r.Checks.Failed), func(code string) bool { return slices.Contains(harmless, code) })
	switch {
	case r.Roofline == nil:
		return "no bound"
	case len(failed) > 0:
		return strings.Join(failed, ", ")
	case r.Summary.Requests.Completed < fewest:
		return fmt.Sprintf("%d requests completed, %d are needed", r.Summary.Requests.Completed, fewest)
	case c.Of != nil && !SameSetup(r.Roofline, c.Of):
		return "another model or hardware"
	}
	return ""
}

// StepMs is how long a decode step took at the median.
func StepMs(r *record.Row) (ms float64, ok bool) {
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

func SameSetup(a, b *record.Roofline) bool {
	return a.Model == b.Model && a.Hardware == b.Hardware && a.GPUs == b.GPUs && a.Precision == b.Precision
}
