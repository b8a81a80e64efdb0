package workload

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// moment is an arrival of a plan, and when it comes. Arrivals are a running sum: each is found from
// the one before.
type moment struct {
	arrival int
	unit    float64       // when it would come in a process of one arrival a second
	at      time.Duration // intended arrival
}

// timed says that the arrivals have times: not in a closed loop, and not when all come at once.
func (p *Plan) timed() bool { return p.w.Rate > 0 && !p.w.Rate.IsInf() }

// Arrivals gives the intended arrivals from the next one on, without end but for a trace's; the plan
// stays where it is.
func (p *Plan) Arrivals(yield func(time.Duration) bool) {
	if p.w.Arrival.Process == traced {
		p.traceArrivals(yield)
		return
	}
	for m := p.next; yield(m.at); {
		m = p.after(m)
	}
}

// after is the arrival behind m.
func (p *Plan) after(m moment) moment {
	m.arrival++
	if !p.timed() {
		return m
	}
	if batch := p.w.Arrival.batch(); m.arrival%batch == 0 {
		m.unit += float64(batch) * p.gap(m.arrival/batch)
	}
	m.at = max(m.at, p.time(m.unit)) // rounding must not turn two arrivals round
	return m
}

// time is when an arrival comes that a process of one arrival a second has at unit.
func (p *Plan) time(unit float64) time.Duration {
	s := p.w.Arrival.inverse(float64(p.w.Rate), unit)
	return time.Duration(math.Min(math.Round(s*float64(time.Second)), 1<<62))
}

// gap is the time between arrival i−1 and arrival i (of the bursts, where arrivals come in such) of a
// process of one a second: a sample of exactly mean 1. It is rounded to a float64 of its own, so that
// no machine adds it with more digits than another.
func (p *Plan) gap(i int) float64 {
	switch b := p.w.Burstiness; p.w.Arrival.gaps() {
	case constant:
		return 1
	case gamma:
		if b > 0 {
			return float64(distuv.Gamma{Alpha: b, Beta: b, Src: p.rand(streamArrival, uint64(i))}.Rand())
		}
	}
	return float64(p.rand(streamArrival, uint64(i)).ExpFloat64())
}
