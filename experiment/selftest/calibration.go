package selftest

import (
	"fmt"
	"math"
	"slices"
)

// Calibration is the load up to which the client is accurate on this machine.
type Calibration struct {
	Load // the maxima over the accurate steps below the first inaccurate one
	// first inaccurate step of streams; empty: none
	FirstInaccurate     string `json:"first_inaccurate,omitempty"`
	FirstInaccurateRate string `json:"first_inaccurate_rate,omitempty"` // first inaccurate rate step; empty: none
	// spread and rate steps: highest request rate below the first late step
	OnTimePerS float64 `json:"on_time_requests_per_s"`
	// burst steps: most requests at once below the first late step
	OnTimeTogether int    `json:"on_time_together"`
	LatePerS       string `json:"late,omitempty"` // first late spread or rate step
	LateTogether   string `json:"late_together,omitempty"`
}

// LimitUs is the upper limit of the p99 of errors and lag, µs.
const LimitUs = 1000

// maxLostShare is the largest share of failed or missing requests of an accurate step.
const maxLostShare = 0.01

func (m *Measured) Assess() {
	lost := m.Failed + m.Missing
	switch of := float64(m.Requests + lost); {
	case m.Requests == 0 && m.Failed > 0:
		m.Problem = fmt.Sprintf("all %d requests failed: %s", m.Failed, m.FirstFailure)
		m.Why = m.Problem
	case m.Requests == 0:
		m.Problem = "no request could be matched with the server's records"
		m.Why = m.Problem
	case float64(m.Failed) > maxLostShare*of:
		m.Why = fmt.Sprintf("%d of %.0f requests failed: %s", m.Failed, of, m.FirstFailure)
	case float64(m.Missing) > maxLostShare*of:
		m.Why = fmt.Sprintf("the server's records lack %d of %.0f requests", m.Missing, of)
	case m.First.P99Us >= LimitUs:
		m.Why = "first token p99 " + micros(m.First.P99Us)
	case m.Gap != nil && m.Gap.P99Us >= LimitUs:
		m.Why = "gap p99 " + micros(m.Gap.P99Us)
	default:
		m.Accurate = true
	}
	m.OnTime = m.Lag != nil && m.Lag.P99Us < LimitUs
}

func (m *Measured) worst() float64 {
	worst := 0.0
	for _, e := range []*Error{m.First, m.Gap} {
		if e != nil {
			worst = max(worst, e.P99Us)
		}
	}
	return worst
}

// FirstInaccurate is the smallest inaccurate step: of the rate steps, or of the others; nil: none.
func FirstInaccurate(steps []Measured, rates bool) *Measured {
	var found *Measured
	for i := range steps {
		m := &steps[i]
		if (m.Kind == Rate) == rates && !m.Accurate && (found == nil || m.Size < found.Size) {
			found = m
		}
	}
	return found
}

func Calibrate(steps []Measured) Calibration {
	var v Calibration
	for _, rates := range []bool{false, true} {
		stop := FirstInaccurate(steps, rates)
		if stop != nil && rates {
			v.FirstInaccurateRate = stop.Name()
		} else if stop != nil {
			v.FirstInaccurate = stop.Name()
		}
		for i := range steps {
			if m := &steps[i]; (m.Kind == Rate) == rates && (stop == nil || m.Size < stop.Size) {
				v.Streams = max(v.Streams, m.Load.Streams)
				v.EventsPerS = max(v.EventsPerS, m.Load.EventsPerS)
				v.RequestsPerS = max(v.RequestsPerS, m.Load.RequestsPerS)
			}
		}
	}
	v.addSendingLimits(steps)
	return v
}

func (v *Calibration) addSendingLimits(steps []Measured) {
	var late, together *Measured // the smallest steps that were not sent on time
	for i := range steps {
		m := &steps[i]
		switch {
		case m.OnTime || m.Problem != "":
		case m.Kind == Burst && (together == nil || m.Size < together.Size):
			together, v.LateTogether = m, m.Name()
		case m.Kind != Burst && (late == nil || m.Load.RequestsPerS < late.Load.RequestsPerS):
			late, v.LatePerS = m, m.Name()
		}
	}
	for i := range steps {
		m := &steps[i]
		switch {
		case !m.OnTime:
		case m.Kind == Burst && (together == nil || m.Size < together.Size):
			v.OnTimeTogether = max(v.OnTimeTogether, int(m.Size))
		case m.Kind != Burst && (late == nil || m.Load.RequestsPerS < late.Load.RequestsPerS):
			v.OnTimePerS = max(v.OnTimePerS, m.Load.RequestsPerS)
		}
	}
}

func Better(a, b Measured) Measured {
	if b.Problem == "" && (b.Accurate || a.Problem != "" || b.worst() < a.worst()) {
		a = b
	}
	a.Tries = 2
	return a
}

// Covers reports whether load l is within the calibration: an accurate step had at least as many streams,
// events/s and requests/s; or l is within the maxima and its shares of the maximum events/s and requests/s
// sum to at most 1, since their costs add up.
func (r *Result) Covers(l Load) bool {
	v := r.Calibration
	return r.covering(l) >= 0 ||
		l.within(v.Load) && l.EventsPerS/v.EventsPerS+l.RequestsPerS/v.RequestsPerS <= 1
}

// covering is the index of the first accurate step with at least that load; -1: none.
func (r *Result) covering(l Load) int {
	return slices.IndexFunc(r.Steps, func(m Measured) bool {
		return m.Accurate && m.Load.within(r.Calibration.Load) && l.within(m.Load)
	})
}

func (l Load) within(most Load) bool {
	return l.Streams <= most.Streams && l.EventsPerS <= most.EventsPerS && l.RequestsPerS <= most.RequestsPerS
}

// Nearest is the step with the load nearest to l, in the quantities in which l exceeds the calibration; among
// equals, in all quantities. Nil: nothing was measured.
func (r *Result) Nearest(l Load) *Measured {
	over := [3]bool{l.Streams > r.Calibration.Streams, l.EventsPerS > r.Calibration.EventsPerS,
		l.RequestsPerS > r.Calibration.RequestsPerS}
	var nearest *Measured
	leastOver, least := math.Inf(1), math.Inf(1)
	for i := range r.Steps {
		m := &r.Steps[i]
		if m.Problem != "" {
			continue
		}
		inOver, inAll := 0.0, 0.0
		for k, d := range l.distances(m.Load) {
			inAll = max(inAll, d)
			if over[k] {
				inOver = max(inOver, d)
			}
		}
		if inOver < leastOver || inOver == leastOver && inAll < least {
			nearest, leastOver, least = m, inOver, inAll
		}
	}
	return nearest
}

// For is the part of a result that one load is checked against: the step nearest to it, and one that covers
// it. Covers and Nearest of that load stay the same. nil for a nil result.
func (r *Result) For(l Load) *Result {
	if r == nil {
		return nil
	}
	part, nearest, covering := *r, r.Nearest(l), r.covering(l)
	part.Steps = []Measured{}
	for i := range r.Steps {
		if m := &r.Steps[i]; m == nearest || i == covering {
			part.Steps = append(part.Steps, *m)
		}
	}
	return &part
}

// distances are the absolute logarithms of the ratios; values below 1 count as 1.
func (l Load) distances(o Load) [3]float64 {
	ratio := func(a, b float64) float64 { return math.Abs(math.Log(max(a, 1) / max(b, 1))) }
	return [3]float64{ratio(float64(l.Streams), float64(o.Streams)), ratio(l.EventsPerS, o.EventsPerS),
		ratio(l.RequestsPerS, o.RequestsPerS)}
}
