package diagnosis

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
)

// pointMetrics are the figures of a point that the rules use: medians over its repeats, in ms or as shares. One that
// was not collected is NaN, with which every comparison is false.
type pointMetrics struct {
	series, point int // indexes
	s             *series.Series
	p             *series.Point
	spec          *experiment.Spec
	name          string // of the point, for display

	ttft, tpot, e2e    float64 // p50
	ttftLow, ttftTop   float64 // ends of the 95 % interval of ttft; NaN: the requests are too few for one
	ttftMean           float64
	tpotLow, tpotTop   float64 // of tpot
	tail               string  // the highest of p99, p95, p90 that the number of requests carries; else p50
	ttftTail           float64 // TTFT at tail
	ttftTailLow        float64 // lower end of its interval
	step               float64 // decode step, p50 of ITL
	capWait            float64 // at tail
	input, output      float64 // mean tokens per request
	computed           float64 // input without cached tokens
	promptSpread       float64 // prompt tokens p99 ÷ p50
	requestsS, outputS float64 // requests/s, output tok/s

	tpotFloor, tpotHigh    float64 // roofline of TPOT: floor, end of the typical range
	loadedHigh             float64 // end of the typical range of TPOT beside prefill
	ttftExpected, ttftHigh float64 // roofline of TTFT: expected, end of the typical range
	// expected time that a prompt adds to a step: its operations, and reading its cached prefix
	promptMs     float64
	batch, mbu   float64
	computeBound bool // by the roofline, decode computes longer than it reads

	// the repeat with the most failures, with the most stalled requests; nil: none matters
	failing, stalling *record.Row
	parts             []record.Part // where the mean TTFT from send goes; nil: the server does not report its times

	readings                     float64 // of the server's metrics in the window
	waiting, waitingMax, running float64 // requests in the server
	kv, kvMax                    float64 // share of the KV cache in use
	preemptions, preempted       float64 // preemptions, and per completed request
	hitRate                      float64 // prefix-cache hit rate that the server reports
	possibleHits, cached         float64 // share of the prompt tokens
	hitsInCapacity               float64 // possible in a cache of the reported size, share of the prompt tokens

	gpuActive, memoryActive float64 // share of the time
	// share of the readings with clocks throttled by heat or power supply, by the power cap
	throttled, capped float64
	heat, watts       float64

	lag, cpu, steal float64     // client: lag p99, share of its cores in use, CPU steal
	inFlight        stats.Trend // of the requests in flight
	tpotTrend       stats.Trend
}

func pointMetricsOf(series []series.Series) []pointMetrics {
	var all []pointMetrics
	for i := range series {
		s := &series[i]
		for j := range s.Points {
			p := &s.Points[j]
			v := pointMetrics{failing: failingRow(p.Rows), stalling: stallingRow(p.Rows), series: i, point: j, s: s,
				p: p, spec: &p.Rows[0].Spec, name: s.PointName(p)}
			v.readLatencies()
			v.readRoofline()
			v.readServer()
			v.readGPU()
			v.readClient()
			v.readParts()
			v.leaveOut()
			all = append(all, v)
		}
	}
	return all
}

func (v *pointMetrics) median(of func(*record.Row) *float64) float64 {
	var values []float64
	for _, r := range v.p.Rows {
		if x := of(r); x != nil {
			values = append(values, *x)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return stats.Quantile(values, 0.5)
}

func in[T any](v *pointMetrics, part func(*record.Row) *T) func(of func(*T) *float64) float64 {
	return func(of func(*T) *float64) float64 {
		return v.median(func(r *record.Row) *float64 {
			if x := part(r); x != nil {
				return of(x)
			}
			return nil
		})
	}
}

func known(x float64) bool { return !math.IsNaN(x) }

func percentile(s *stats.Summary, name string) *float64 {
	x, ok := s.Get(name)
	if !ok || math.IsNaN(x) {
		return nil
	}
	return &x
}

// leastForMedian is the smallest number of requests whose median has an interval at 95 %.
const leastForMedian = 6

// lowEnd is the lower end of a percentile's interval, or where dependence leaves that open, what the requests of this
// row alone support: a diagnosis infers nothing about others.
func lowEnd(s *stats.Summary, name string) *float64 {
	if s == nil {
		return nil
	}
	if ci, ok := s.CI95[name]; ok && !math.IsInf(ci.Lo, 0) && !math.IsNaN(ci.Lo) {
		return &ci.Lo
	}
	switch {
	case s.N < leastForMedian:
		return nil
	case name == "p50":
		return new(max(s.Min, s.P50-medianError(s)))
	}
	below := map[string]string{"p99": "p95", "p95": "p90", "p90": "p50"}[name]
	return percentile(s, below)
}

func topOfMedian(s *stats.Summary) *float64 {
	if s == nil {
		return nil
	}
	if ci, ok := s.CI95["p50"]; ok && !math.IsInf(ci.Hi, 0) && !math.IsNaN(ci.Hi) {
		return &ci.Hi
	}
	if s.N < leastForMedian {
		return nil
	}
	return new(min(s.Max, s.P50+medianError(s)))
}

// medianError is by the large-sample standard error of normal values, 1.2533 σ/√n: too wide for a long tail.
func medianError(s *stats.Summary) float64 { return 1.96 * 1.2533 * s.Std / math.Sqrt(float64(s.N)) }

func supportedTail(r *record.Row) string {
	s := cmp.Or(r.Summary.TTFT, r.Summary.E2E)
	return highestTail(func(name string) bool { return s != nil && s.Grade(name) != stats.NoBound })
}

func tailOf(p *series.Point) string {
	return highestTail(func(name string) bool {
		x, ok := p.TTFT.Get(name)
		return ok && x.Grade != stats.NoBound
	})
}

func highestTail(carried func(name string) bool) string {
	tails := []string{"p99", "p95", "p90"}
	if i := slices.IndexFunc(tails, carried); i >= 0 {
		return tails[i]
	}
	return "p50"
}

func (v *pointMetrics) readLatencies() {
	get := func(metric, name string) float64 {
		return v.median(func(r *record.Row) *float64 { return percentile(r.Summary.Latency(metric), name) })
	}
	low := func(metric, name string) float64 {
		return v.median(func(r *record.Row) *float64 { return lowEnd(r.Summary.Latency(metric), name) })
	}
	top := func(metric string) float64 {
		return v.median(func(r *record.Row) *float64 { return topOfMedian(r.Summary.Latency(metric)) })
	}
	v.ttft, v.ttftLow, v.ttftTop = get("ttft", "p50"), low("ttft", "p50"), top("ttft")
	v.tpot, v.tpotLow, v.tpotTop = get("tpot", "p50"), low("tpot", "p50"), top("tpot")
	v.ttftMean, v.e2e, v.lag = get("ttft", "mean"), get("e2e", "p50"), get("lag", "p99")
	v.tail = tailOf(v.p)
	v.ttftTail, v.ttftTailLow, v.capWait = get("ttft", v.tail), low("ttft", v.tail), get("cap_wait", v.tail)
	v.step = v.median(func(r *record.Row) *float64 {
		if ms, ok := series.StepMs(r); ok {
			return &ms
		}
		return nil
	})
	v.requestsS, v.outputS = v.p.RequestsPerS.Median, v.p.OutputTokensPerS.Median
	v.input = v.perCompleted(func(r *record.Row) *float64 { return new(float64(r.Summary.Tokens.Prompt)) })
	v.computed = v.perCompleted(func(r *record.Row) *float64 {
		n := float64(r.Summary.Tokens.Prompt)
		if c := r.Summary.Tokens.Cached; c != nil {
			n -= float64(*c)
		}
		return &n
	})
	v.output = v.perCompleted(func(r *record.Row) *float64 { return new(float64(r.Summary.Tokens.Output)) })
	v.promptSpread = v.median(func(r *record.Row) *float64 {
		if l := r.Lengths.PromptTokens; l != nil && l.P50 > 0 {
			return new(l.P99 / l.P50)
		}
		return nil
	})
}

func (v *pointMetrics) perCompleted(count func(*record.Row) *float64) float64 {
	return v.median(func(r *record.Row) *float64 {
		if x, n := count(r), r.Summary.Requests.Completed; x != nil && n > 0 {
			return new(*x / float64(n))
		}
		return nil
	})
}

func (v *pointMetrics) readRoofline() {
	get := in(v, func(r *record.Row) *record.Roofline { return r.Roofline })
	positive := func(ms float64) *float64 { // 0: the roofline lacks it
		if ms <= 0 {
			return nil
		}
		return &ms
	}
	v.tpotFloor = get(func(b *record.Roofline) *float64 { return positive(b.TPOT.FloorMs) })
	v.tpotHigh = get(func(b *record.Roofline) *float64 { return positive(b.TPOT.HighMs) })
	v.loadedHigh = get(func(b *record.Roofline) *float64 {
		if b.Loaded == nil {
			return nil
		}
		return positive(b.Loaded.HighMs)
	})
	if !known(v.loadedHigh) || v.loadedHigh < v.tpotHigh {
		v.loadedHigh = v.tpotHigh
	}
	v.ttftExpected = get(func(b *record.Roofline) *float64 { return positive(b.TTFT.ExpectedMs) })
	v.ttftHigh = get(func(b *record.Roofline) *float64 { return positive(b.TTFT.HighMs) })
	v.promptMs = get(func(b *record.Roofline) *float64 { return positive(b.PromptMs()) })
	v.batch = get(func(b *record.Roofline) *float64 { return &b.Batch })
	v.mbu = get(func(b *record.Roofline) *float64 { return b.MBU })
	if b := v.p.Rows[0].Roofline; b != nil {
		for _, t := range b.TPOT.Terms {
			v.computeBound = v.computeBound || t.Name == "compute" && !t.Hidden
		}
	}
}
