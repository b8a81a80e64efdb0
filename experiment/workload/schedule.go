package workload

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

type moment struct {
	arrival int
	unit    float64       // its time in unit time, in which the process has one arrival a second
	at      time.Duration // intended arrival
	in      inPhase
}

// timed reports whether arrivals have times: not in a closed loop, nor if all requests are sent at once.
func (p *Plan) timed() bool { return p.w.Timed() }

// Arrivals yields the remaining intended arrivals, endlessly unless the plan has a trace. The plan keeps its
// position.
func (p *Plan) Arrivals(yield func(time.Duration) bool) {
	if p.w.Arrival.Process == traced {
		p.traceArrivals(yield)
		return
	}
	for m := p.next; yield(m.at); {
		m = p.after(m)
	}
}

func (p *Plan) after(m moment) moment {
	m.arrival++
	if !p.timed() {
		return m
	}
	if m.in.number < len(p.phases) {
		return p.afterInPhase(m)
	}
	if batch := p.w.Arrival.batch(); m.arrival%batch == 0 {
		m.unit += float64(batch) * p.gap(m.arrival/batch)
	}
	m.at = max(m.at, p.time(m.unit)) // rounding must not swap two arrivals
	return m
}

func (p *Plan) time(unit float64) time.Duration {
	s := p.w.Arrival.inverse(float64(p.w.Rate), unit)
	return time.Duration(math.Min(math.Round(s*float64(time.Second)), 1<<62))
}

// gap is the unit time between arrivals (or batches) i−1 and i: a sample with mean 1. The conversions to
// float64 keep the compiler from fusing operations, which would give other digits on other machines.
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
