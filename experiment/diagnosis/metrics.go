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

// sight is a point as the rules see it. Figures are medians over its repeats, and NaN where nobody told them: no comparison with
// such a one holds, so that a rule never rests on what is not there. Times in ms.
type pointMetrics struct {
	series, point int // indexes
	s             *series.Series
	p             *series.SeriesPoint
	spec          *experiment.Spec
	name          string

	ttft, ttftP99, tpot, step, e2e float64 // medians, but for the p99; step is that of the gaps between tokens
	capWait                        float64 // p99
	input, output                  float64 // mean tokens of a request
	spread                         float64 // p99 of the prompts over their median
	requestsS, tokensS             float64

	floor, high, loaded float64 // of tpot: the least, the band's end, and that beside the prompts of others
	first, firstHigh    float64 // of ttft: expected, and the band's end
	computing           float64 // of ttft's expected time what a prompt adds to a step: its operations, and reading its cached prefix
	batch, mbu          float64
	computes            bool // by the arithmetic, decode computes longer than it reads

	waiting, waitingMax, running float64 // requests in the server
	kv, kvMax                    float64 // share of the KV cache
	preempted                    float64 // preemptions for each completed request
	hitRate                      float64 // of the prefix cache, by the server
	possible, cached             float64 // share of the prompt tokens

	engine, dram    float64 // share of the time in which the GPU, its memory, did something
	thermal, capped float64 // share of the readings in which heat or supply, or the power cap, held a clock down
	heat, watts     float64

	lag, cpu, steal float64     // of the client: p99, share of its cores, and share of their time that others had
	queue           stats.Trend // of the requests in flight
	slowing         stats.Trend // of tpot
}

// sightsOf looks at all points, in order.
func pointMetricsOf(series []series.Series) []pointMetrics {
	var all []pointMetrics
	for i := range series {
		s := &series[i]
		for j := range s.Points {
			v := pointMetrics{series: i, point: j, s: s, p: &s.Points[j], spec: &s.Points[j].Rows[0].Spec, name: s.PointName(&s.Points[j])}
			v.readLatencies()
			v.readBound()
			v.readServer()
			v.readGPU()
			v.readClient()
			all = append(all, v)
		}
	}
	return all
}

// typical is the median of a figure over the repeats that have it; NaN: none has.
func (v *pointMetrics) typical(of func(*record.Row) *float64) float64 {
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

func known(x float64) bool { return !math.IsNaN(x) }

// percentile is one of a summary; nil: there is no summary.
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

func (v *pointMetrics) readLatencies() {
	p50 := func(of func(*record.Row) *stats.Summary) float64 {
		return v.typical(func(r *record.Row) *float64 { return percentile(of(r), "p50") })
	}
	v.ttft = p50(func(r *record.Row) *stats.Summary { return r.Summary.TTFT })
	v.tpot = p50(func(r *record.Row) *stats.Summary { return r.Summary.TPOT })
	v.e2e = p50(func(r *record.Row) *stats.Summary { return r.Summary.E2E })
	v.ttftP99 = v.typical(func(r *record.Row) *float64 { return percentile(r.Summary.TTFT, "p99") })
	v.capWait = v.typical(func(r *record.Row) *float64 { return percentile(r.Summary.CapWait, "p99") })
	v.step = v.typical(func(r *record.Row) *float64 {
		if ms, ok := series.StepMs(r); ok {
			return &ms
		}
		return nil
	})
	v.requestsS, v.tokensS = v.p.RequestsPerS.Median, v.p.OutputTokensPerS.Median
	each := func(tokens func(*record.Row) int) float64 {
		return v.typical(func(r *record.Row) *float64 {
			if n := r.Summary.Requests.Completed; n > 0 {
				return new(float64(tokens(r)) / float64(n))
			}
			return nil
		})
	}
	v.input, v.output = each(func(r *record.Row) int { return r.Summary.Tokens.Prompt }), each(func(r *record.Row) int { return r.Summary.Tokens.Output })
	v.spread = v.typical(func(r *record.Row) *float64 {
		if l := r.Lengths.PromptTokens; l != nil && l.P50 > 0 {
			return new(l.P99 / l.P50)
		}
		return nil
	})
}

func (v *pointMetrics) readBound() {
	of := func(get func(*record.Roofline) *float64) float64 {
		return v.typical(func(r *record.Row) *float64 {
			if r.Roofline == nil {
				return nil
			}
			return get(r.Roofline)
		})
	}
	positive := func(ms float64) *float64 { // 0 is no bound
		if ms <= 0 {
			return nil
		}
		return &ms
	}
	v.floor, v.high = of(func(b *record.Roofline) *float64 { return positive(b.TPOT.FloorMs) }), of(func(b *record.Roofline) *float64 { return positive(b.TPOT.HighMs) })
	v.loaded = of(func(b *record.Roofline) *float64 {
		if b.Loaded == nil {
			return nil
		}
		return positive(b.Loaded.HighMs)
	})
	if !known(v.loaded) || v.loaded < v.high {
		v.loaded = v.high
	}
	v.first, v.firstHigh = of(func(b *record.Roofline) *float64 { return positive(b.TTFT.ExpectedMs) }), of(func(b *record.Roofline) *float64 { return positive(b.TTFT.HighMs) })
	v.computing = of(func(b *record.Roofline) *float64 { return positive(b.PromptMs()) })
	v.batch, v.mbu = of(func(b *record.Roofline) *float64 { return &b.Batch }), of(func(b *record.Roofline) *float64 { return b.MBU })
	if b := v.p.Rows[0].Roofline; b != nil {
		for _, t := range b.TPOT.Terms {
			v.computes = v.computes || t.Name == "compute" && !t.Hidden
		}
	}
}

func (v *pointMetrics) readServer() {
	of := func(get func(*telemetry.ServerUsage) *float64) float64 {
		return v.typical(func(r *record.Row) *float64 {
			if r.Server.Metrics == nil {
				return nil
			}
			return get(r.Server.Metrics)
		})
	}
	v.waiting, v.waitingMax = of(func(u *telemetry.ServerUsage) *float64 { return mean(u.Waiting) }), of(func(u *telemetry.ServerUsage) *float64 { return most(u.Waiting) })
	v.running = of(func(u *telemetry.ServerUsage) *float64 { return mean(u.Running) })
	v.kv, v.kvMax = of(func(u *telemetry.ServerUsage) *float64 { return mean(u.KVUsage) }), of(func(u *telemetry.ServerUsage) *float64 { return most(u.KVUsage) })
	v.hitRate = of(func(u *telemetry.ServerUsage) *float64 { return u.PrefixHitRate })
	v.preempted = v.typical(func(r *record.Row) *float64 {
		if m := r.Server.Metrics; m != nil && m.Preemptions != nil && r.Summary.Requests.Completed > 0 {
			return new(*m.Preemptions / float64(r.Summary.Requests.Completed))
		}
		return nil
	})
	reused := func(get func(*record.Reuse) *float64) float64 {
		return v.typical(func(r *record.Row) *float64 {
			if r.Reuse == nil {
				return nil
			}
			return get(r.Reuse)
		})
	}
	v.possible, v.cached = reused(func(u *record.Reuse) *float64 { return &u.PossibleRate }), reused(func(u *record.Reuse) *float64 { return &u.CachedRate })
}

func mean(g *telemetry.Gauge) *float64 {
	if g == nil {
		return nil
	}
	return &g.Mean
}

func most(g *telemetry.Gauge) *float64 {
	if g == nil {
		return nil
	}
	return &g.Max
}

// readGPU takes the busiest of the devices for activity, since those that serve something else are told of too, and the
// worst for what holds clocks down.
func (v *pointMetrics) readGPU() {
	of := func(get func(*telemetry.GPUDevice) *float64) float64 {
		return v.typical(func(r *record.Row) *float64 {
			if r.GPU == nil {
				return nil
			}
			var highest *float64
			for i := range r.GPU.Devices {
				if x := get(&r.GPU.Devices[i]); x != nil && (highest == nil || *x > *highest) {
					highest = x
				}
			}
			return highest
		})
	}
	v.engine = of(func(d *telemetry.GPUDevice) *float64 {
		if d.EngineActive != nil {
			return &d.EngineActive.Mean
		}
		return mean(d.Busy)
	})
	v.dram = of(func(d *telemetry.GPUDevice) *float64 { return mean(d.DRAMActive) })
	v.heat, v.watts = of(func(d *telemetry.GPUDevice) *float64 { return most(d.Temperature) }), of(func(d *telemetry.GPUDevice) *float64 { return mean(d.PowerW) })
	held := func(reasons ...string) float64 {
		return of(func(d *telemetry.GPUDevice) *float64 {
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
	v.thermal, v.capped = held(verdict.Slowing...), held("sw_power_cap")
}

func (v *pointMetrics) readClient() {
	v.lag = v.typical(func(r *record.Row) *float64 { return percentile(r.Summary.Lag, "p99") })
	v.cpu = v.typical(func(r *record.Row) *float64 {
		if u := r.Client; u != nil && u.CPUMean != nil && u.MaxProcs > 0 {
			return new(*u.CPUMean / float64(u.MaxProcs))
		}
		return nil
	})
	v.steal = v.typical(func(r *record.Row) *float64 {
		if r.Client == nil {
			return nil
		}
		return r.Client.Steal
	})
	for _, r := range v.p.Rows {
		if r.Steady == nil {
			continue
		}
		v.queue, v.slowing = clearer(v.queue, r.Steady.Trends["in_flight"]), clearer(v.slowing, r.Steady.Trends["tpot"])
	}
}

// clearer is the one of two trends that moves; else the first. A zero Trend has not moved.
func clearer(a, b stats.Trend) stats.Trend {
	if !verdict.Moves(a) && verdict.Moves(b) {
		return b
	}
	return a
}

// doubted says that a check of this code failed in a repeat.
func (v *pointMetrics) hasFinding(codes ...string) bool {
	return slices.ContainsFunc(v.p.Rows, func(r *record.Row) bool {
		return slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(r.Checks.Failed, code) })
	})
}
