package diagnosis

import (
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/verdict"
)

// atPowerCap is the share of readings at the power cap that counts, if decode is slow.
const atPowerCap = 0.2

const (
	// longLag is the client lag p99, as a share of ttft p99 (e2e without streaming), and largeSteal the share of
	// CPU steal, below which a caution about the client explains no latency: verdict.MinTrend for either.
	longLag    = verdict.MinTrend
	largeSteal = verdict.MinTrend
	busyClient = 0.9 // share of the client's cores in use, as in client_cpu
)

// checkClient: a caution about the client counts if it is large, thins the load, or leaves a verdict open.
func checkClient(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	cautions := v.findings("client_bound", "client_cpu")
	latency := v.ttftTail
	if !known(latency) {
		latency = v.e2e
	}
	matters := v.lag > longLag*latency || v.steal > largeSteal || v.cpu > busyClient ||
		slices.ContainsFunc(cautions, func(f record.Finding) bool {
			return f.Touches(record.MetricConcurrency) || slices.ContainsFunc(v.p.Rows, func(r *record.Row) bool {
				return slices.ContainsFunc(r.SLO, func(x record.Verdict) bool { return strings.Contains(x.Why, f.Code+":") })
			})
		})
	if len(cautions) == 0 || !matters {
		return nil
	}
	return &Diagnosis{
		Observation: "the client sent requests late, or was short of CPU", Bottleneck: ClientLimited,
		Evidence: collected(fact("client lag p99", v.lag, "ms"),
			fact("client CPU usage", v.cpu, "share"), fact("CPU steal", v.steal, "share")),
		Confirm:  "repeat the row from a larger client machine; or find this one's limit with bench selftest --save",
		Response: "measure again from a larger or idle machine, or at a lower load; draw no other conclusion from this point",
	}
}

// checkClocks: throttling by heat or power supply always counts; the power cap counts only if decode is slow,
// since many GPUs run at it by design.
func checkClocks(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Observation: "GPU clocks were throttled during the row", Bottleneck: ThermalOrPower,
		Confirm:  "lock the clocks below the limit (nvidia-smi -lgc) and repeat: TPOT no longer drifts",
		Response: "check cooling, power supply and power limit (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER)",
	}
	shown := collected(fact("GPU temperature, max", v.heat, "°C"), fact("GPU power", v.watts, "W"), fact("TPOT p50", v.tpot, "ms"))
	switch {
	case v.throttled > verdict.MaxThrottledShare:
		d.Evidence = append(collected(atLeast("readings throttled by heat or power supply", v.throttled, "share", verdict.MaxThrottledShare)), shown...)
	case v.capped >= atPowerCap && v.slow():
		d.Evidence = append(collected(atLeast("readings at the power cap", v.capped, "share", atPowerCap), v.tpotAboveRange()), shown...)
		d.Observation = "decode is slow, and the GPU is at its power cap"
	default:
		return nil
	}
	return d
}

// checkDrift: TPOT that rises at a constant load has a cause that the server's metrics do not show.
func checkDrift(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !verdict.SignificantTrend(v.tpotTrend) || v.tpotTrend.Change < 0 || verdict.SignificantTrend(v.inFlight) {
		return nil
	}
	d := &Diagnosis{
		Observation: "TPOT rises during the window at constant load", Bottleneck: UnknownBottleneck,
		Evidence: collected(atLeast("rise of TPOT during the window", v.tpotTrend.Change, "share", verdict.MinTrend),
			fact("TPOT p50", v.tpot, "ms")),
		Missing:  []string{v.missingDevices()},
		Confirm:  "repeat the row for twice as long, and record clocks, temperature and throttle reasons",
		Response: v.collectDevices() + ", and check what else ran on the server at that time",
	}
	if known(v.throttled) {
		d.Missing = []string{"what changed on the server: clocks were not throttled; check its log and other processes"}
	}
	return d
}
