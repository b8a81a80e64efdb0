package verdict

import (
	"math"
	"slices"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

const (
	// apartDip is the least dip that matters: of two groups far apart, a twentieth of the requests in the smaller one.
	apartDip = 0.025
	// together is how far apart, as a share, latencies may be and still count as one: an engine works in steps, and a
	// latency of a hundred steps has a hundred modes for whoever looks closely enough.
	together = 0.1
)

// checkHeterogeneous asks whether the row is one workload: the mean and the median of two are of neither.
func checkHeterogeneous(e *Measured) checkResult {
	if len(e.Spec.Mix) > 0 {
		return passed() // its classes are reported apart
	}
	logs := make([]float64, 0, e.Summary.Requests.Completed)
	for _, ms := range e.series("e2e") {
		if ms > 0 {
			logs = append(logs, math.Log(ms))
		}
	}
	blurred := blur(logs, together)
	slices.Sort(blurred)
	dip := stats.Dip(blurred)
	unimodal, ok := stats.Unimodal(dip, len(blurred))
	switch {
	case !ok:
		return noData
	case unimodal || dip < apartDip:
		return passed()
	}
	slices.Sort(logs)
	at := stats.Split(logs)
	return failed("declare the kinds of requests as classes ([[row.mix]]), so that each is reported apart; or look for what some of them meet (a cache, a retry, a second server)",
		"e2e falls into two groups, %d requests around %s ms and %d around %s ms, and no classes are declared (dip %.3f)",
		at, unit.Brief(math.Exp(stats.Quantile(logs[:at], 0.5)), 3), len(logs)-at, unit.Brief(math.Exp(stats.Quantile(logs[at:], 0.5)), 3), dip)
}

// blur spreads the values evenly over a width, in an order that repeats nowhere (multiples of the golden ratio).
func blur(values []float64, width float64) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		_, part := math.Modf(float64(i) * math.Phi)
		out[i] = x + (part-0.5)*width
	}
	return out
}
