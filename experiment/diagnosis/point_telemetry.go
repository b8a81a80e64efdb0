package diagnosis

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// minReadings of the server's metrics: a mean of fewer is chance.
const minReadings = 3

func (v *pointMetrics) readServer() {
	get := in(v, func(r *record.Row) *telemetry.ServerUsage { return r.Server.Metrics })
	v.readings = get(func(u *telemetry.ServerUsage) *float64 { return new(float64(u.Samples)) })
	v.waiting = get(func(u *telemetry.ServerUsage) *float64 { return meanOf(u.Waiting) })
	v.waitingMax = get(func(u *telemetry.ServerUsage) *float64 { return maxOf(u.Waiting) })
	v.running = get(func(u *telemetry.ServerUsage) *float64 { return meanOf(u.Running) })
	v.kv = get(func(u *telemetry.ServerUsage) *float64 { return meanOf(u.KVUsage) })
	v.kvMax = get(func(u *telemetry.ServerUsage) *float64 { return maxOf(u.KVUsage) })
	v.hitRate = get(func(u *telemetry.ServerUsage) *float64 { return u.PrefixHitRate })
	v.preemptions = get(func(u *telemetry.ServerUsage) *float64 { return u.Preemptions })
	v.preempted = v.perCompleted(func(r *record.Row) *float64 {
		return cmp.Or(r.Server.Metrics, &telemetry.ServerUsage{}).Preemptions
	})
	reuse := in(v, func(r *record.Row) *record.Reuse { return r.Reuse })
	v.possibleHits = reuse(func(u *record.Reuse) *float64 { return &u.PossibleRate })
	v.cached = reuse(func(u *record.Reuse) *float64 { return &u.CachedRate })
	v.hitsInCapacity = reuse(func(u *record.Reuse) *float64 {
		if u.InCapacity == nil || u.PromptTokens == 0 {
			return nil
		}
		return new(float64(*u.InCapacity) / float64(u.PromptTokens))
	})
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

// readGPU takes the highest value of all GPUs, since some may serve something else.
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
	v.throttled, v.capped = throttled(check.ThrottleReasons...), throttled("sw_power_cap")
}

func (v *pointMetrics) readClient() {
	v.cpu = v.median(mostOfClients(func(u *telemetry.Usage) *float64 {
		if u.CPUMean == nil || u.MaxProcs <= 0 {
			return nil
		}
		return new(*u.CPUMean / float64(u.MaxProcs))
	}))
	v.steal = v.median(mostOfClients(func(u *telemetry.Usage) *float64 { return u.Steal }))
	for _, r := range v.p.Rows {
		if r.Steady == nil {
			continue
		}
		v.inFlight = moving(v.inFlight, r.Steady.Trends["in_flight"])
		v.tpotTrend = moving(v.tpotTrend, r.Steady.Trends["tpot"])
	}
}

func mostOfClients(of func(*telemetry.Usage) *float64) func(*record.Row) *float64 {
	return func(r *record.Row) (most *float64) {
		for _, u := range r.Clients() {
			if x := of(u); x != nil && (most == nil || *x > *most) {
				most = x
			}
		}
		return most
	}
}

func moving(a, b stats.Trend) stats.Trend {
	if !check.SignificantTrend(a) && check.SignificantTrend(b) {
		return b
	}
	return a
}

func ofTokenCounts(f record.Finding) bool { return f.Code == "token_counts" }

// leaveOut drops the figures that the evidence does not carry. Medians stand if a stall touches few requests.
func (v *pointMetrics) leaveOut() {
	nan := math.NaN()
	if v.readings < minReadings {
		v.waiting, v.waitingMax, v.running, v.kv, v.kvMax = nan, nan, nan, nan, nan
	}
	if slices.ContainsFunc(findings(v.p),
		func(f record.Finding) bool { return ofTokenCounts(f) && f.Severity == record.Invalid }) {
		v.tpot, v.tpotLow, v.tpotTop, v.mbu, v.outputS, v.output, v.cached = nan, nan, nan, nan, nan, nan, nan
	}
	if v.stalling == nil {
		return
	}
	v.ttftTail, v.ttftTailLow, v.capWait, v.parts = nan, nan, nan, nil
	v.waiting, v.waitingMax, v.running, v.kv, v.kvMax = nan, nan, nan, nan, nan
	v.requestsS, v.outputS = nan, nan
	v.inFlight, v.tpotTrend = stats.Trend{}, stats.Trend{}
}
