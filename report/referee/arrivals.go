package referee

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment/stats"
)

// deviations that the spread and the independence of random gaps may be off. With 20 to 200 requests a right tool's
// spread is called wrong in 0.05 to 0.09 %, its independence in 0.01 % at most (200,000 simulations of each).
const deviations = 4

// once is how often a right rate of random arrivals is called wrong: in 16,000 figures, as a normal one is beyond
// deviations.
const once = 1.0 / 16_000

// arrivals judge when an open loop sent. A closed loop has no arrivals of its own.
func (j *judge) arrivals() {
	n := len(j.truth)
	if j.load.Rate == 0 || n < 10 {
		return
	}
	gaps := make([]float64, n-1)
	for i := range gaps {
		gaps[i] = ms(j.truth[i+1].at - j.truth[i].at)
	}
	mean, sd := stat.MeanStdDev(gaps, nil)
	rate, cv := Line{Question: "arrival rate", Unit: "1/s"}, Line{Question: "spread of gaps (CV)"}
	if j.load.Arrival == "constant" {
		rate.Tolerance, cv.Tolerance = 0.02*j.load.Rate, 0.1
		j.add(rate, j.load.Rate, 1000/mean, 0)
		j.add(cv, 0, sd/mean, j.host.p99/mean)
		late := Line{Question: "sent late p99", Unit: "ms", Tolerance: max(leastMs, share*mean)}
		j.add(late, 0, j.late(), j.host.p99)
		return
	}
	chance := deviations / math.Sqrt(float64(n))
	rate.Tolerance, cv.Tolerance = rateTolerance(j.load.Rate, 1000/mean, n-1), chance
	j.add(rate, j.load.Rate, 1000/mean, 0)
	j.add(cv, 1, sd/mean, 0)
	again := stat.Correlation(gaps[1:], gaps[:n-2], nil)
	if math.IsNaN(again) {
		again = 0 // equal gaps
	}
	j.add(Line{Question: "gaps independent (lag 1)", Tolerance: chance,
		Why: "a gap follows from the one before: generators of one seed?"}, 0, again, 0)
}

// rateTolerance is on the side of a measured rate, of some random gaps: their sum has a Gamma distribution.
func rateTolerance(asked, got float64, gaps int) float64 {
	tail := once / 2 // of short sums
	if got < asked {
		tail = 1 - once/2
	}
	sum := distuv.Gamma{Alpha: float64(gaps), Beta: asked}.Quantile(tail)
	return math.Abs(float64(gaps)/sum - asked)
}

// late is the p99 of the delays against the schedule of a constant rate that the most punctual request fits.
func (j *judge) late() float64 {
	late := make([]float64, len(j.truth))
	for i := range late {
		late[i] = ms(j.truth[i].at) - 1000*float64(i)/j.load.Rate
	}
	slices.Sort(late)
	return stats.Quantile(late, 0.99) - late[0]
}

// stall judges whether an open loop goes on sending while the server stands still, and the tail that its users see.
func (j *judge) stall() {
	if len(j.frozen) == 0 {
		return
	}
	from, to, tolerance := j.frozen[0].From, j.frozen[0].To, share
	order := func(r request, at time.Duration) int { return int(r.at - at) }
	before, _ := slices.BinarySearchFunc(j.truth, from, order)
	in, _ := slices.BinarySearchFunc(j.truth[before:], to, order)
	if j.load.Rate > 0 {
		expected := min(j.load.Rate*(to-from).Seconds(), float64(len(j.truth)-before))
		random := deviations * math.Sqrt(expected)
		if j.load.Arrival == "constant" {
			random = looseShare * expected
		}
		l := Line{Question: "sent during the stall", Unit: "requests", Tolerance: max(2, random),
			Why: "a closed loop, or workers that wait"}
		if expected-l.Tolerance < 2*concurrency { // which workers that wait can send
			l.Verdict, l.Why, l.Expected = NotShown, "too few requests", &expected
			j.lines = append(j.lines, l)
		} else {
			l = j.add(l, expected, float64(in), 0)
		}
		if l.Verdict == Wrong && float64(in) < expected { // by the schedule, as its users would have seen it
			for k := range j.truth[before:] {
				r := &j.truth[before+k]
				r.at = min(r.at, from+time.Duration(float64(k)/j.load.Rate*float64(time.Second)))
			}
			tolerance = 0.2 // of random arrivals
		}
	}
	j.latency("TTFT", ttftOf, j.tool.TTFT, tolerance, "mean", "p99")
}
