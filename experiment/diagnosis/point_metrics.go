package diagnosis

import (
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
)

// pointMetrics are the figures of a point that the rules use: medians over its repeats, NaN if not collected.
// A comparison with NaN is false, so that no rule rests on a missing figure. Times are in ms, shares within 0
// to 1.
type pointMetrics struct {
	series, point int // indexes
	s             *series.Series
	p             *series.Point
	spec          *experiment.Spec
	name          string // of the point, for display

	ttft, tpot, e2e    float64 // p50
	tail               string  // the highest of p99, p95, p90 that the number of requests carries; else p50
	ttftTail           float64 // TTFT at tail
	step               float64 // decode step, p50 of ITL
	capWait            float64 // at tail
	input, output      float64 // mean tokens per request
	promptSpread       float64 // prompt tokens p99 ÷ p50
	requestsS, outputS float64 // requests/s, output tok/s

	tpotFloor, tpotHigh    float64 // roofline of TPOT: floor, end of the typical range
	loadedHigh             float64 // end of the typical range of TPOT beside prefill
	ttftExpected, ttftHigh float64 // roofline of TTFT: expected, end of the typical range
	promptMs               float64 // expected time that a prompt adds to a step: its operations, and reading its cached prefix
	batch, mbu             float64
	computeBound           bool // by the roofline, decode computes longer than it reads

	waiting, waitingMax, running float64 // requests in the server
	kv, kvMax                    float64 // share of the KV cache in use
	preempted                    float64 // preemptions per completed request
	hitRate                      float64 // prefix-cache hit rate that the server reports
	possibleHits, cached         float64 // share of the prompt tokens

	gpuActive, memoryActive float64 // share of the time
	throttled, capped       float64 // share of the readings with clocks throttled by heat or power supply, by the power cap
	heat, watts             float64

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
			v := pointMetrics{series: i, point: j, s: s, p: p, spec: &p.Rows[0].Spec, name: s.PointName(p)}
			v.readLatencies()
			v.readRoofline()
			v.readServer()
			v.readGPU()
			v.readClient()
			all = append(all, v)
		}
	}
	return all
}

// median is the median of a figure over the repeats that have it; NaN: none has.
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

// in returns median for the figures of a part of a row, which a row may lack.
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

// percentile is nil without a summary.
func percentile(s *stats.Summary, name string) *float64 {
	if s == nil {
		return nil
	}
	x, ok := s.Get(name)
	if !ok || math.IsNaN(x) {
		return nil
	}
	return &x
}

// tailOf is the highest of p99, p95 and p90 of TTFT that is bounded by the number of requests; else p50.
func tailOf(p *series.Point) string {
	for _, name := range []string{"p99", "p95", "p90"} {
		if x, ok := p.TTFT.Get(name); ok && x.Grade != stats.NoBound {
			return name
		}
	}
	return "p50"
}

func (v *pointMetrics) readLatencies() {
	get := func(name string, of func(*record.Summary) *stats.Summary) float64 {
		return v.median(func(r *record.Row) *float64 { return percentile(of(&r.Summary), name) })
	}
	v.ttft = get("p50", func(s *record.Summary) *stats.Summary { return s.TTFT })
	v.tail = tailOf(v.p)
	v.ttftTail = get(v.tail, func(s *record.Summary) *stats.Summary { return s.TTFT })
	v.tpot = get("p50", func(s *record.Summary) *stats.Summary { return s.TPOT })
	v.e2e = get("p50", func(s *record.Summary) *stats.Summary { return s.E2E })
	v.capWait = get(v.tail, func(s *record.Summary) *stats.Summary { return s.CapWait })
	v.lag = get("p99", func(s *record.Summary) *stats.Summary { return s.Lag })
	v.step = v.median(func(r *record.Row) *float64 {
		if ms, ok := series.StepMs(r); ok {
			return &ms
		}
		return nil
	})
	v.requestsS, v.outputS = v.p.RequestsPerS.Median, v.p.OutputTokensPerS.Median
	v.input = v.perCompleted(func(r *record.Row) *float64 { return new(float64(r.Summary.Tokens.Prompt)) })
	v.output = v.perCompleted(func(r *record.Row) *float64 { return new(float64(r.Summary.Tokens.Output)) })
	v.promptSpread = v.median(func(r *record.Row) *float64 {
		if l := r.Lengths.PromptTokens; l != nil && l.P50 > 0 {
			return new(l.P99 / l.P50)
		}
		return nil
	})
}

// perCompleted is the median of a count per completed request.
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

func (v *pointMetrics) readServer() {
	get := in(v, func(r *record.Row) *telemetry.ServerUsage { return r.Server.Metrics })
	v.waiting = get(func(u *telemetry.ServerUsage) *float64 { return meanOf(u.Waiting) })
	v.waitingMax = get(func(u *telemetry.ServerUsage) *float64 { return maxOf(u.Waiting) })
	v.running = get(func(u *telemetry.ServerUsage) *float64 { return meanOf(u.Running) })
	v.kv = get(func(u *telemetry.ServerUsage) *float64 { return meanOf(u.KVUsage) })
	v.kvMax = get(func(u *telemetry.ServerUsage) *float64 { return maxOf(u.KVUsage) })
	v.hitRate = get(func(u *telemetry.ServerUsage) *float64 { return u.PrefixHitRate })
	v.preempted = v.perCompleted(func(r *record.Row) *float64 {
		if r.Server.Metrics == nil {
			return nil
		}
		return r.Server.Metrics.Preemptions
	})
	reuse := in(v, func(r *record.Row) *record.Reuse { return r.Reuse })
	v.possibleHits = reuse(func(u *record.Reuse) *float64 { return &u.PossibleRate })
	v.cached = reuse(func(u *record.Reuse) *float64 { return &u.CachedRate })
}

func meanOf(g *telemetry.Gauge) *float64 {
	if g == nil {
		return nil
	}
	return &g.Mean
}

func maxOf(g *telemetry.Gauge) *float64 {
	if g == nil {
		return nil
	}
	return &g.Max
}

// readGPU takes the highest value of all GPUs: the busiest one, since some may serve something else, and the
// most throttled one.
func (v *pointMetrics) readGPU() {
	usage := in(v, func(r *record.Row) *telemetry.GPUUsage { return r.GPU })
	get := func(of func(*telemetry.GPUDevice) *float64) float64 {
		return usage(func(u *telemetry.GPUUsage) *float64 {
			var highest *float64
			for i := range u.Devices {
				if x := of(&u.Devices[i]); x != nil && (highest == nil || *x > *highest) {
					highest = x
				}
			}
			return highest
		})
	}
	v.gpuActive = get(func(d *telemetry.GPUDevice) *float64 {
		if d.EngineActive != nil {
			return &d.EngineActive.Mean
		}
		return meanOf(d.Busy)
	})
	v.memoryActive = get(func(d *telemetry.GPUDevice) *float64 { return meanOf(d.DRAMActive) })
	v.heat = get(func(d *telemetry.GPUDevice) *float64 { return maxOf(d.Temperature) })
	v.watts = get(func(d *telemetry.GPUDevice) *float64 { return meanOf(d.PowerW) })
	throttled := func(reasons ...string) float64 {
		return get(func(d *telemetry.GPUDevice) *float64 {
			if !d.Known {
				return nil
			}
			var share float64
			for _, reason := range reasons {
				share = max(share, d.Throttled[reason])
			}
			return &share
		})
	}
	v.throttled, v.capped = throttled(verdict.ThrottleReasons...), throttled("sw_power_cap")
}

func (v *pointMetrics) readClient() {
	get := in(v, func(r *record.Row) *telemetry.Usage { return r.Client })
	v.cpu = get(func(u *telemetry.Usage) *float64 {
		if u.CPUMean == nil || u.MaxProcs <= 0 {
			return nil
		}
		return new(*u.CPUMean / float64(u.MaxProcs))
	})
	v.steal = get(func(u *telemetry.Usage) *float64 { return u.Steal })
	for _, r := range v.p.Rows {
		if r.Steady == nil {
			continue
		}
		v.inFlight = moving(v.inFlight, r.Steady.Trends["in_flight"])
		v.tpotTrend = moving(v.tpotTrend, r.Steady.Trends["tpot"])
	}
}

// moving is the first of two trends that moves; else a. A zero Trend does not move.
func moving(a, b stats.Trend) stats.Trend {
	if !verdict.SignificantTrend(a) && verdict.SignificantTrend(b) {
		return b
	}
	return a
}

// findings of one of these codes in a repeat.
func (v *pointMetrics) findings(codes ...string) []record.Finding {
	return slices.DeleteFunc(findings(v.p), func(f record.Finding) bool { return !slices.Contains(codes, f.Code) })
}
