package diagnosis

import (
	"slices"

	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/unit"
)

const mostlyThrottled = 0.2

// checkClocks: the power cap counts only if decode is slow, since many GPUs run at it by design.
func checkClocks(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Observation: "GPU clocks were throttled during the row", Bottleneck: ThermalOrPower,
		Confirm:  "lock the clocks below the limit (nvidia-smi -lgc) and repeat: TPOT no longer drifts",
		Response: "check cooling, power supply and power limit (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER)",
	}
	shown := collected(fact("GPU temperature, max", v.heat, "°C"), fact("GPU power", v.watts, "W"),
		fact("TPOT p50", v.tpot, "ms"))
	least := mostlyThrottled
	if v.drifts() {
		least = check.MaxThrottledShare
	}
	switch {
	case v.throttled > least:
		d.Evidence = append(collected(atLeast("readings throttled by heat or power supply", v.throttled, "share",
			least)), shown...)
	case v.capped >= mostlyThrottled && v.slow():
		d.Evidence = append(collected(atLeast("readings at the power cap", v.capped, "share", mostlyThrottled),
			v.tpotAboveRange()), shown...)
		d.Observation = "decode is slow, and the GPU is at its power cap"
	default:
		return nil
	}
	return d
}

func (v *pointMetrics) drifts() bool {
	return check.SignificantTrend(v.tpotTrend) && v.tpotTrend.Change > 0 && !check.SignificantTrend(v.inFlight)
}

func checkDrift(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !v.drifts() {
		return nil
	}
	d := &Diagnosis{
		Observation: "TPOT rises during the window at constant load", Bottleneck: UnknownBottleneck,
		Evidence: collected(atLeast("rise of TPOT during the window", v.tpotTrend.Change, "share", check.MinTrend),
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

func checkIdleStart(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	at := slices.IndexFunc(v.p.Rows, func(r *record.Row) bool { return !r.Server.Settle.Idle() })
	if at < 0 {
		return nil
	}
	s := v.p.Rows[at].Server.Settle
	d := &Diagnosis{
		Bottleneck: UnknownBottleneck,
		Observation: "the server still had " + unit.Brief(s.Running+s.Waiting, 3) +
			" other requests when the row began",
		Evidence: collected(fact("requests running at the start", s.Running, ""),
			fact("requests waiting at the start", s.Waiting, ""),
			fact("wait for an idle server", s.WaitedS, "s")),
		Missing:  []string{"a row that begins with an idle server"},
		Confirm:  "run the row alone: bench sweep MATRIX --only ROW",
		Response: "make settle longer, or find the other client; then run the row again",
	}
	return d
}
