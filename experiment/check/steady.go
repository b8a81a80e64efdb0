package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// MinTrend is the smallest change of a figure through the window that matters, as a share of its median.
const MinTrend = 0.2

const (
	// clearTrend is the largest p-value of a trend. Every row has several, so it is small.
	clearTrend = 0.001
	// classTrend is the p-value below which a class may queue as well, whose row's queue grows.
	classTrend = 0.1
	// Requests that MSER-5 would cut matter if they move the mean by this share and differ by so many standard
	// errors.
	shiftedBy  = 0.03
	clearShift = 4
	// flightParts is the number of parts of the window with a mean number of requests in flight each.
	flightParts = 20
)

func (e *evidence) steadiness() *record.Steadiness {
	if e.Spec.Rate.IsInf() || e.Spec.IsColdStart() || e.Summary.Requests.Completed == 0 || !e.Spec.Arrival.IsSteady() {
		return nil
	}
	s := &record.Steadiness{Metric: "e2e", Trends: map[string]stats.Trend{}}
	if e.Spec.Streams() {
		s.Metric = "ttft"
	}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		values, _ := e.series(metric)
		if t, ok := stats.BlockTrend(values); ok {
			s.Trends[metric] = t
		}
		if metric != s.Metric {
			continue
		}
		if cut, ok := stats.MSER5(values); ok {
			s.Cut = &cut
		}
	}
	if load := e.inFlight(e.records); len(load) >= flightParts/2 {
		s.Trends["in_flight"] = stats.TrendOf(load)
	}
	return s
}

func (e *evidence) series(metric string) (values []float64, of []*record.Record) {
	for _, r := range e.ordered {
		if ms, ok := r.Latency(metric, e.Spec.Streams()); ok {
			values, of = append(values, ms), append(of, r)
		}
	}
	return values, of
}

// steadyClasses of a mix keep their number of requests in flight: the server has enough for them, while the queue of
// others grows.
func (e *evidence) steadyClasses() (out []string) {
	for _, c := range e.Spec.Mix {
		load := e.inFlight(slices.DeleteFunc(slices.Clone(e.records),
			func(r *record.Record) bool { return r.Class != c.Name }))
		if len(load) < flightParts/2 {
			continue
		}
		if t := stats.TrendOf(load); t.P > classTrend || t.Change <= 0 {
			out = append(out, c.Name)
		}
	}
	return out
}

func (e *evidence) inFlight(records []*record.Record) (out []float64) {
	length := e.Window.EndUs - e.Window.StartUs
	if length < flightParts {
		return nil
	}
	for i := range int64(flightParts) {
		part := record.Window{StartUs: e.Window.StartUs + i*length/flightParts, EndUs: e.Window.StartUs +
			(i+1)*length/flightParts}
		if !slices.ContainsFunc(e.disturbed.spans, func(s span) bool { return s.overlaps(part.StartUs, part.EndUs) }) {
			out = append(out, record.ConcurrencyOf(records, part).Mean)
		}
	}
	return out
}

func SignificantTrend(t stats.Trend) bool { return t.P < clearTrend && math.Abs(t.Change) > MinTrend }

func checkSteady(e *evidence) result {
	s := e.Steady
	if s == nil || s.Cut == nil && len(s.Trends) == 0 {
		return noData
	}
	if t := s.Trends["in_flight"]; SignificantTrend(t) && t.Change > 0 && e.Spec.Open() {
		steady := e.steadyClasses()
		effects := each(unbounded(record.Lowered, firstToken, lastToken), func(x *Effect) { x.Spares = steady })
		return caution("lower the rate: the server does not sustain it, and latency grows with the length of the row",
			"the queue grows: requests in flight rose by %.0f %% through the window", 100*t.Change).touching(effects)
	}
	if f := e.rampUp(); f.severity != "" {
		return f
	}
	return drift(s)
}

func drift(s *record.Steadiness) result {
	family := map[string][]string{"ttft": firstToken, "tpot": betweenIt, "e2e": lastToken}
	var parts []string
	var effects []Effect
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		t := s.Trends[metric]
		if !SignificantTrend(t) {
			continue
		}
		way := "rose"
		if t.Change < 0 {
			way = "fell"
		}
		parts = append(parts, fmt.Sprintf("%s %s by %.0f %%", metric, way, 100*math.Abs(t.Change)))
		effects = append(effects, byFactor(record.Unknown, 1+math.Abs(t.Change), family[metric])...)
	}
	if len(parts) == 0 {
		return passed()
	}
	return caution("make warmup and duration longer; find what changes on the server (clocks, other load, cache)",
		"%s through the window", strings.Join(parts, ", ")).touching(effects)
}

func (e *evidence) rampUp() result {
	if e.Steady.Cut == nil || *e.Steady.Cut == 0 {
		return passed()
	}
	values, requests := e.series(e.Steady.Metric)
	cut := *e.Steady.Cut
	first, rest := values[:cut], values[cut:]
	was, is := stat.Mean(first, nil), stat.Mean(rest, nil)
	apart := math.Abs(was - is)
	worth := stats.DependenceOf(rest).Time * (1/float64(len(first)) + 1/float64(len(rest)))
	if apart*float64(cut)/float64(len(values)) <= shiftedBy*is ||
		apart <= clearShift*math.Sqrt(stat.PopVariance(rest, nil)*worth) {
		return passed()
	}
	// The bound of each of the first requests: a server that is warm answers none faster than the fastest of the
	// others.
	way, furthest := record.Inflated, slices.Min(rest)
	if was < is {
		way, furthest = record.Lowered, slices.Max(rest)
	}
	begun, metric := requests[cut].Arrival.Us(), e.Steady.Metric
	moved := func(r *record.Record) float64 {
		ms, ok := r.Latency(metric, e.Spec.Streams())
		if !ok || r.Arrival.Us() >= begun || (ms > furthest) != (way == record.Inflated) {
			return 0
		}
		return math.Abs(ms - furthest)
	}
	return caution("make warmup longer",
		"the warm-up was too short: the first %d of %d requests have a mean %s of %s ms, the others %s ms (MSER-5)",
		cut, len(values), e.Steady.Metric, unit.Brief(was, 3), unit.Brief(is, 3)).
		touching(exactly(way, most(slices.Values(requests[:cut]), moved), moved, firstToken, lastToken))
}

const (
	// minDip is a twentieth of the requests in the smaller of two distant groups.
	minDip = 0.025
	// blurWidth is the relative distance of equal latencies: each number of an engine's steps is a mode of its own.
	blurWidth = 0.1
)

func checkHeterogeneous(e *evidence) result {
	if len(e.Spec.Mix) > 0 {
		return pooledClasses(e.Spec.Mix)
	}
	all, _ := e.series("e2e")
	logs := make([]float64, 0, e.Summary.Requests.Completed)
	for _, ms := range all {
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
	return note("declare classes ([[row.mix]]) for separate figures; "+
		"or find what affects only some requests (a cache, a retry, a second server)",
		"e2e has two modes without declared classes: %d requests around %s ms and %d around %s ms (dip %.3f)",
		at, unit.Brief(math.Exp(stats.Quantile(logs[:at], 0.5)), 3), len(logs)-at,
		unit.Brief(math.Exp(stats.Quantile(logs[at:], 0.5)), 3), dip)
}

func pooledClasses(mix []workload.Class) result {
	if len(mix) < 2 {
		return passed()
	}
	var names []string
	for _, c := range mix {
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

func checkRoofline(e *evidence) result {
	if e.Roofline == nil || e.Summary.TPOT == nil {
		return noData
	}
	if floor := e.Roofline.TPOT.FloorMs; e.Summary.TPOT.P50 < floor {
		return invalid("check model, hardware, gpus and precision in [target]; "+
			"caches, and speculative decoding that the server does not report, also beat the floor",
			"tpot p50 %s ms is below the roofline floor of %s ms", unit.Brief(e.Summary.TPOT.P50, 3),
			unit.Brief(floor, 3))
	}
	return passed()
}
