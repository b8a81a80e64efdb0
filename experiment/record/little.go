package record

import (
	"math"
)

// Little is Little's law applied to the row: requests in flight = arrival rate × mean stay. It holds for
// every steady load. If it does not, a queue grew or drained, or records are missing.
type Little struct {
	InFlight  float64 `json:"in_flight"`            // N: mean number of requests in flight
	RequestsS float64 `json:"ended_requests_per_s"` // λ: requests that ended in the window, of any phase and outcome
	MeanMs    float64 `json:"mean_stay_ms"`         // W: their mean time from sent to end
	Off       float64 `json:"off"`                  // λ·W / N − 1
	// of |off| for a steady row: at most one stay is cut at the ends of the window
	Tolerance  float64 `json:"tolerance"`
	Consistent bool    `json:"consistent"`
}

// LittlesLaw is nil if no request ended in the window.
func LittlesLaw(records []*Record, w Window) *Little {
	const least = 0.02
	ended, stay, inside := 0, 0.0, 0.0
	for _, r := range records {
		if !r.Sent.ok || !r.End.ok {
			continue
		}
		inside += float64(max(0, min(r.End.us, w.EndUs)-max(r.Sent.us, w.StartUs)))
		if w.has(r.End) {
			ended++
			stay += float64(r.End.us - r.Sent.us)
		}
	}
	length := float64(w.EndUs - w.StartUs)
	if ended == 0 || inside == 0 || length <= 0 {
		return nil
	}
	l := &Little{InFlight: inside / length, RequestsS: float64(ended) / length * 1e6,
		MeanMs: stay / float64(ended) / 1e3}
	l.Off = stay/inside - 1
	l.Tolerance = max(least, l.MeanMs*1e3/length)
	l.Consistent = math.Abs(l.Off) <= l.Tolerance
	return l
}
