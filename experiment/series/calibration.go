package series

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/roofline"
)

type Calibration struct {
	Points  []roofline.Point
	Check   []roofline.Point // of the rows that the fit must not use
	Setup   *record.Roofline // model and hardware, the same for all points; nil: no row is used
	LeftOut []string         // the other rows, with the reason: "chat-r1 (client_bound)"
}

// CheckRow begins the names of rows that a calibration keeps out of its fit, to check it.
const CheckRow = "check"

func CalibrationPoints(rows []record.Row) Calibration {
	var c Calibration
	for i := range rows {
		r := &rows[i]
		if why := c.unfit(r); why != "" {
			c.LeftOut = append(c.LeftOut, r.ID+" ("+why+")")
			continue
		}
		if c.Setup == nil {
			c.Setup = r.Roofline
		}
		switch check := strings.HasPrefix(r.Spec.Name, CheckRow); {
		case check && loaded(r):
			c.Check = append(c.Check, atConcurrency(r)...)
		case check:
			c.Check = append(c.Check, alone(r)...)
		default:
			c.Points = append(c.Points, alone(r)...)
		}
	}
	return c
}

func alone(r *record.Row) (points []roofline.Point) {
	b := r.Roofline
	if ms, ok := StepMs(r); ok {
		points = append(points, roofline.Point{Name: r.ID, Metric: "tpot", Batch: b.Batch, Context: b.Context, Ms: ms})
	}
	if r.Spec.Concurrency == 1 && r.Spec.Rate == 0 && r.Summary.TTFT != nil && b.Input > 0 {
		points = append(points, roofline.Point{Name: r.ID, Metric: "ttft", Input: b.Input, Cached: b.Cached, Ms: r.Summary.TTFT.P50})
	}
	return points
}

func loaded(r *record.Row) bool {
	return r.Spec.Concurrency > 1 && r.Spec.Rate == 0 && r.Roofline.Input > 0 && r.Summary.Tokens.Output > r.Summary.Requests.Completed
}

func atConcurrency(r *record.Row) (points []roofline.Point) {
	b, s := r.Roofline, &r.Summary
	at := roofline.Point{
		Name: r.ID, Concurrency: float64(r.Spec.Concurrency), Input: b.Input, Cached: b.Cached,
		Output: float64(s.Tokens.Output) / float64(s.Requests.Completed),
	}
	if s.TPOT != nil {
		at.Metric, at.Ms = "tpot", s.TPOT.P50
		points = append(points, at)
	}
	if s.TTFT != nil {
		at.Metric, at.Ms = "ttft", s.TTFT.P50
		points = append(points, at)
	}
	return points
}

// unfit is the reason to leave a row out. Notes, and findings on requested load and lengths, don't move a median.
func (c *Calibration) unfit(r *record.Row) string {
	const fewest = 6 // stats gives a p50 no interval below
	failed := slices.DeleteFunc(slices.Clone(r.Findings), harmless)
	codes := slices.Concat(record.Codes(failed, record.Invalid), record.Codes(failed, record.Caution))
	switch {
	case r.Roofline == nil:
		return "no roofline"
	case r.Speculation != nil:
		return "the server speculates: a step has several tokens"
	case len(codes) > 0:
		return strings.Join(codes, ", ")
	case r.Summary.Requests.Completed < fewest:
		return fmt.Sprintf("%d requests completed, %d needed", r.Summary.Requests.Completed, fewest)
	case c.Setup != nil && !SameSetup(r.Roofline, c.Setup):
		return "different model or hardware"
	}
	return ""
}

func harmless(f record.Finding) bool {
	switch f.Code {
	case "rate_not_achieved", "concurrency", "faster_than_bound":
		return true
	case "prompts":
		return f.Severity == record.Invalid || len(f.Effects) > 0 && f.Effects[0].Bound != nil
	}
	return false
}

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
