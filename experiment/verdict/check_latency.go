package verdict

import (
	"math"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

const (
	// minDip is a twentieth of the requests in the smaller of two distant groups.
	minDip = 0.025
	// blurWidth is the relative distance of equal latencies: each number of an engine's steps is a mode of its own.
	blurWidth = 0.1
)

func checkHeterogeneous(e *Measured) checkResult {
	if len(e.Spec.Mix) > 0 {
		return e.pooledClasses()
	}
	logs := make([]float64, 0, e.Summary.Requests.Completed)
	for _, ms := range e.series("e2e") {
		if ms > 0 {
			logs = append(logs, math.Log(ms))
		}
	}
	blurred := blur(logs, blurWidth)
	slices.Sort(blurred)
	dip := stats.Dip(blurred)
	unimodal, ok := stats.Unimodal(dip, len(blurred))
	switch {
	case !ok:
		return noData
	case unimodal || dip < minDip:
		return passed()
	}
	slices.Sort(logs)
	at := stats.Split(logs)
	return note("declare classes ([[row.mix]]) for separate figures; or find what affects only some requests (a cache, a retry, a second server)",
		"e2e has two modes without declared classes: %d requests around %s ms and %d around %s ms (dip %.3f)",
		at, unit.Brief(math.Exp(stats.Quantile(logs[:at], 0.5)), 3), len(logs)-at,
		unit.Brief(math.Exp(stats.Quantile(logs[at:], 0.5)), 3), dip)
}

func (e *Measured) pooledClasses() checkResult {
	if len(e.Spec.Mix) < 2 {
		return passed()
	}
	var names []string
	for _, c := range e.Spec.Mix {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return note("read each class separately, and limit each in [row.mix.slo]",
		"percentiles of the row pool %d classes (%s): they describe no class, and depend on the weights",
		len(names), strings.Join(names, ", "))
}

// blur spreads the values evenly over a width, by multiples of the golden ratio.
func blur(values []float64, width float64) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		_, part := math.Modf(float64(i) * math.Phi)
		out[i] = x + (part-0.5)*width
	}
	return out
}

func checkRoofline(e *Measured) checkResult {
	if e.Roofline == nil || e.Summary.TPOT == nil {
		return noData
	}
	if floor := e.Roofline.TPOT.FloorMs; e.Summary.TPOT.P50 < floor {
		return invalid("check model, hardware, gpus and precision in [target]; caches, and speculative decoding that the server does not report, also beat the floor",
			"tpot p50 %s ms is below the roofline floor of %s ms", unit.Brief(e.Summary.TPOT.P50, 3),
			unit.Brief(floor, 3))
	}
	return passed()
}
