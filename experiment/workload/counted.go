package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// phase is a warm-up or a window with a fixed number of arrivals: a window of 60 s at 4/s has 240 requests, and
// not 240 ± 15. The arrivals keep their law under that condition.
//
// Without the condition a window's load has a relative standard error of 1/√n, which would be added to every
// figure of a series or a search. Given their number, Poisson arrivals are uniform order statistics (Cox and
// Lewis 1966, The Statistical Analysis of Series of Events, section 2.1). Gamma gaps are, as shares of their
// sum, a Dirichlet sample, and thus come one by one as Beta shares of what is left (Devroye 1986, Non-Uniform
// Random Variate Generation, section XI.4): the memory does not grow with the row.
type phase struct {
	from, to time.Duration
	n        int
	// begins: the first arrival is at from and the one behind the phase at to, as where a number of requests
	// ends the window. Else the phase is a circle, in which from is any moment.
	begins bool
}

// phasesOf are the warm-up and the window of a load; none where something else than the schedule ends them, or
// where the rate changes: ramps, steps, sinusoids and bursts keep their chance.
func phasesOf(w *Workload, l Load) (out []phase) {
	gaps := w.Arrival.Process == "" || w.Arrival.Process == poisson || w.Arrival.Process == gamma
	inTurns := l.Requests+l.Warmup.Requests > 0 && w.HasConversations()
	if !gaps || !w.Timed() || inTurns || l.Warmup.Time > 0 && l.Warmup.Requests > 0 {
		return nil
	}
	const longest = 1 << 61 // of a warm-up and a window, whose sum must not overflow
	rate := float64(w.Rate)
	lasting := func(n int) time.Duration { return time.Duration(min(math.Round(float64(n)/rate*1e9), longest)) }
	number := func(d time.Duration) int { return int(math.Round(rate * d.Seconds())) }
	start, duration := min(time.Duration(l.Warmup.Time), longest), min(time.Duration(l.Duration), longest)
	switch {
	case l.Warmup.Requests > 0:
		start = lasting(l.Warmup.Requests)
		out = append(out, phase{0, start, l.Warmup.Requests, true})
	case start > 0:
		out = append(out, phase{0, start, number(start), false})
	}
	if counted := lasting(l.Requests); l.Requests > 0 && (duration == 0 || counted <= duration) {
		return append(out, phase{start, start + counted, l.Requests, true})
	}
	return append(out, phase{start, start + duration, max(1, number(duration)), l.Warmup.Requests > 0})
}

func (w *Workload) HasConversations() bool {
	return w.ReplaysSessions() || slices.ContainsFunc(w.Classes(), func(c Class) bool { return c.Conversations() })
}

func (w *Workload) IsConversation() bool {
	only := w.only()
	return only.Conversations()
}

// FixedArrivals is the number of arrivals that the plan of a load has in the window, and the window's length;
// 0 = left to chance, or to the server.
func (w *Workload) FixedArrivals(l Load) (n int, in time.Duration) {
	phases := phasesOf(w, l)
	if len(phases) == 0 {
		return 0, 0
	}
	window := phases[len(phases)-1]
	return window.n, window.to - window.from
}

// For fixes the number of arrivals in the warm-up and in the window of a load. It returns the plan, which must be new.
func (p *Plan) For(l Load) *Plan {
	if p.replay != nil {
		p.replay.sampled = l.Concurrency
	}
	if p.phases = phasesOf(&p.w, l); len(p.phases) > 0 {
		p.next = p.enter(moment{}, 0)
	}
	return p
}

type inPhase struct {
	number int     // of the phase
	left   int     // arrivals of the phase that follow
	gaps   int     // gaps that rest is divided into
	at     float64 // time since the phase's start, ns
	rest   float64 // ns
}

func (p *schedule) enter(m moment, b int) moment {
	for b < len(p.phases) && p.phases[b].n == 0 {
		b++
	}
	if b == len(p.phases) {
		return p.leave(m)
	}
	k := p.phases[b]
	length := float64(k.to - k.from)
	m.in = inPhase{number: b, left: k.n - 1, gaps: k.n, rest: length}
	if !k.begins {
		// The gap that contains a given moment is longer than the others: its share has one more in its shape.
		r, shape := p.own.rand(streamArrival, uint64(m.arrival)), p.shape()
		around := length * beta(r, shape+1, shape*float64(k.n-1))
		m.in.at = around * r.Float64()
		m.in.gaps, m.in.rest = k.n-1, length-around
	}
	return p.place(m)
}

// leave is the first arrival behind the last phase, where the process goes on without a condition.
func (p *schedule) leave(m moment) moment {
	k := p.phases[len(p.phases)-1]
	m.in = inPhase{number: len(p.phases)}
	m.unit = p.process.cumulative(p.process.rate, k.to.Seconds())
	if m.at = k.to; !k.begins {
		m.unit += p.gap(m.arrival)
		m.at = max(m.at, p.time(m.unit))
	}
	return m
}

// place gives the arrival its time. Rounding must not take it out of its phase, nor before another one.
func (p *schedule) place(m moment) moment {
	k := p.phases[m.in.number]
	at := k.from + time.Duration(math.Round(m.in.at))
	m.at = max(m.at, min(at, k.to-1))
	return m
}

// shape is that of the gamma distribution of the gaps: 1 for Poisson arrivals.
func (p *schedule) shape() float64 {
	if p.process.law() == gamma {
		return p.process.burstiness
	}
	return 1
}

// beta is a sample of the beta distribution; 1 for b = 0.
func beta(r *rand.Rand, a, b float64) float64 {
	if b == 0 {
		return 1
	}
	if a == 1 {
		return -math.Expm1(-float64(r.ExpFloat64()) / b)
	}
	x, y := distuv.Gamma{Alpha: a, Beta: 1, Src: r}.Rand(), distuv.Gamma{Alpha: b, Beta: 1, Src: r}.Rand()
	if x+y == 0 { // both are too small for a float64: then one of them is nearly all
		if r.Float64()*(a+b) < a {
			return 1
		}
		return 0
	}
	return x / (x + y)
}

type moment struct {
	arrival int
	unit    float64       // its time in unit time, in which the process has one arrival a second
	at      time.Duration // intended arrival
	in      inPhase
}

// schedule are the intended arrivals of a plan.
type schedule struct {
	process process
	own     seeds
	phases  []phase // parts with a fixed number of arrivals, by time; see For
	next    moment
}

// Arrivals yields the remaining intended arrivals, endlessly unless the plan has a trace. The plan keeps its position.
func (p *Plan) Arrivals(yield func(time.Duration) bool) {
	if p.w.Arrival.Process == traced {
		p.replay.arrivals(yield)
		return
	}
	for m := p.next; yield(m.at); {
		m = p.after(m)
	}
}

func (p *schedule) after(m moment) moment {
	m.arrival++
	if !p.process.timed() {
		return m
	}
	if m.in.number < len(p.phases) {
		if m.in.left == 0 {
			return p.enter(m, m.in.number+1)
		}
		shape := p.shape()
		gap := m.in.rest * beta(p.own.rand(streamArrival, uint64(m.arrival)), shape, shape*float64(m.in.gaps-1))
		m.in.at, m.in.rest = m.in.at+gap, m.in.rest-gap
		m.in.gaps, m.in.left = m.in.gaps-1, m.in.left-1
		return p.place(m)
	}
	if batch := p.process.batch(); m.arrival%batch == 0 {
		m.unit += float64(batch) * p.gap(m.arrival/batch)
	}
	m.at = max(m.at, p.time(m.unit)) // rounding must not swap two arrivals
	return m
}

func (p *schedule) time(unit float64) time.Duration {
	s := p.process.inverse(p.process.rate, unit)
	return time.Duration(math.Min(math.Round(s*float64(time.Second)), 1<<62))
}

// gap is the unit time between arrivals (or batches) i−1 and i: a sample with mean 1. The conversions to
// float64 keep the compiler from fusing operations, which would give other digits on other machines.
func (p *schedule) gap(i int) float64 {
	switch b := p.process.burstiness; p.process.gaps() {
	case constant:
		return 1
	case gamma:
		if b > 0 {
			return float64(distuv.Gamma{Alpha: b, Beta: b, Src: p.own.rand(streamArrival, uint64(i))}.Rand())
		}
	}
	return float64(p.own.rand(streamArrival, uint64(i)).ExpFloat64())
}
