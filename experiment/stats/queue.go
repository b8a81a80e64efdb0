package stats

import "math"

// queue is what probes show about how long the server's queue takes to become steady.
type queue struct {
	capacity  float64 // requests per second that the server completes at most; 0 = no probe shows it
	kept      float64 // highest load of a probe whose server kept up
	variation float64 // squared coefficient of variation of the requests' time in the server
}

func queueOf(probes []Probe) (q queue) {
	for _, p := range probes {
		q.capacity = max(q.capacity, p.Completed)
		if p.Completed == 0 && p.Sustained == 0 && p.Verdict != Fail && !p.Filling {
			q.kept = max(q.kept, p.Load)
			q.variation = max(q.variation, p.Variation*p.Variation)
		}
	}
	const collapse = 0.9
	if q.capacity < collapse*q.kept { // an overloaded server completes less
		q.capacity = 0
	}
	return q
}

// relaxation is the time in which a queue forgets that it was empty, in seconds: (c_a² + c_s²)/(μ·(1−ρ)²) in heavy
// traffic, with c_a = 1 for Poisson arrivals (Whitt, "Planning queueing simulations", Management Science 35(11), 1989).
func (q queue) relaxation(load float64) float64 {
	if q.capacity == 0 {
		return 0
	}
	idle := 1 - load/q.capacity
	if idle <= 0 {
		return math.Inf(1)
	}
	return (1 + q.variation) / (q.capacity * idle * idle)
}

// relaxations is the number of relaxation times in the shortest window that shows how long the queue gets.
const relaxations = 4

// filling reports whether a probe is too short: it began with an empty queue.
func (q queue) filling(p *Probe) bool {
	return p.Window > 0 && p.Window < relaxations*q.relaxation(p.Load)
}
