package selftest

import (
	"fmt"
	"math"
)

// Calibration says up to which load this machine's figures can be believed.
type Calibration struct {
	Load                        // the most of each that a believed step had, below the first that is not
	FirstInaccurate     string  `json:"first_inaccurate,omitempty"`      // the first step of streams that is not; empty: all are
	FirstInaccurateRate string  `json:"first_inaccurate_rate,omitempty"` // and of rates
	OnTimePerS          float64 `json:"on_time_requests_per_s"`          // sending, arrivals apart: the most of the steps below the first whose lag is too long
	OnTimeTogether      int     `json:"on_time_together"`                // sending all at once
	LatePerS            string  `json:"late,omitempty"`                  // that first step
	LateTogether        string  `json:"late_together,omitempty"`
}

// LimitUs is the p99 that is believed, of an error and of a lag, µs.
const LimitUs = 1000

// tolerated is the share of requests that may be missing from a step.
const tolerated = 0.01

// believe judges the step's own figures.
func (m *Measured) Assess() {
	lost := m.Failed + m.Missing
	switch of := float64(m.Requests + lost); {
	case m.Requests == 0 && m.Failed > 0:
		m.Problem = fmt.Sprintf("all %d requests failed: %s", m.Failed, m.FirstFailure)
		m.Why = m.Problem
	case m.Requests == 0:
		m.Problem = "no request could be held against the server's times"
		m.Why = m.Problem
	case float64(m.Failed) > tolerated*of:
		m.Why = fmt.Sprintf("%d of %.0f requests failed: %s", m.Failed, of, m.FirstFailure)
	case float64(m.Missing) > tolerated*of:
		m.Why = fmt.Sprintf("the server's times lack %d of %.0f requests", m.Missing, of)
	case m.First.P99Us >= LimitUs:
		m.Why = "first token p99 " + micros(m.First.P99Us) + " µs"
	case m.Gap != nil && m.Gap.P99Us >= LimitUs:
		m.Why = "gap p99 " + micros(m.Gap.P99Us) + " µs"
	default:
		m.Accurate = true
	}
	m.OnTime = m.Lag != nil && m.Lag.P99Us < LimitUs
}

// worst is the larger of the two errors' p99.
func (m *Measured) worst() float64 {
	worst := 0.0
	for _, e := range []*Error{m.First, m.Gap} {
		if e != nil {
			worst = max(worst, e.P99Us)
		}
	}
	return worst
}

// firstUnbelieved is the smallest step of that family that is not believed: of the rates, or of the streams.
func FirstInaccurate(steps []Measured, rates bool) *Measured {
	return first(steps, func(m *Measured) bool { return (m.Kind == Rate) == rates && !m.Accurate })
}

// first is the smallest step of those that are meant; nil: there is none.
func first(steps []Measured, meant func(*Measured) bool) *Measured {
	var found *Measured
	for i := range steps {
		if m := &steps[i]; meant(m) && (found == nil || m.Size < found.Size) {
			found = m
		}
	}
	return found
}

// judge draws the verdict.
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
	v.sending(steps)
	return v
}

// sending draws the verdict on the schedule: of arrivals that are apart by requests per second, and of those that come together.
func (v *Calibration) sending(steps []Measured) {
	var late *Measured
	for i := range steps {
		m := &steps[i]
		if m.Kind != Burst && !m.OnTime && m.Problem == "" && (late == nil || m.Load.RequestsPerS < late.Load.RequestsPerS) {
			late = m
		}
	}
	together := first(steps, func(m *Measured) bool { return m.Kind == Burst && !m.OnTime && m.Problem == "" })
	if late != nil {
		v.LatePerS = late.Name()
	}
	if together != nil {
		v.LateTogether = together.Name()
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

// better is the try that counts, of two.
func Better(a, b Measured) Measured {
	if b.Problem == "" && (b.Accurate || a.Problem != "" || b.worst() < a.worst()) {
		a = b
	}
	a.Tries = 2
	return a
}

// Believes says whether a load is one that this machine's figures can be believed under: a believed step had at least as much of
// everything; or, since events and requests cost the client what they cost whether they come together or not, its shares of the
// most of both do not exceed the whole.
func (r *Result) Covers(l Load) bool {
	v := r.Calibration
	for i := range r.Steps {
		if m := &r.Steps[i]; m.below(v) && l.within(m.Load) {
			return true
		}
	}
	return l.within(v.Load) && l.EventsPerS/v.EventsPerS+l.RequestsPerS/v.RequestsPerS <= 1
}

// below says that the step is one on which the verdict rests.
func (m *Measured) below(v Calibration) bool { return m.Accurate && m.Load.within(v.Load) }

func (l Load) within(most Load) bool {
	return l.Streams <= most.Streams && l.EventsPerS <= most.EventsPerS && l.RequestsPerS <= most.RequestsPerS
}

// Nearest is the step whose load is most like l, in what l has more of than is believed; of equals, the one that is most like it
// in everything. Nil: nothing was measured.
func (r *Result) Nearest(l Load) *Measured {
	over := [3]bool{l.Streams > r.Calibration.Streams, l.EventsPerS > r.Calibration.EventsPerS, l.RequestsPerS > r.Calibration.RequestsPerS}
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

// distances are the logarithms of the ratios; what is below 1 counts as 1.
func (l Load) distances(o Load) [3]float64 {
	ratio := func(a, b float64) float64 { return math.Abs(math.Log(max(a, 1) / max(b, 1))) }
	return [3]float64{ratio(float64(l.Streams), float64(o.Streams)), ratio(l.EventsPerS, o.EventsPerS), ratio(l.RequestsPerS, o.RequestsPerS)}
}
