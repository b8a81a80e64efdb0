package diagnosis

import (
	"math"
	"slices"

	"bench/experiment/check"
	"bench/experiment/record"
)

// rules in their order. After a final one the other figures of the point mean nothing. The thresholds were chosen on one
// half of simulated servers with known causes; benchmarks/diagnosis.md has how often the rules are right on the other.
var rules = []struct {
	check func(v *pointMetrics, all []pointMetrics) *Diagnosis
	final func(v *pointMetrics) bool
}{
	{checkFailing, func(v *pointMetrics) bool { return failedShare(v.failing) >= manyFailed }},
	{checkStalled, func(v *pointMetrics) bool { return stalledShare(v.stalling) >= mostlyTouched }},
	{checkClient, always},
	{checkIdleStart, always},
	{checkClocks, always},
	{checkDrift, never},
	{checkKVCache, always},
	{checkPrefixCache, never},
	{checkCap, never},
	{checkFirstToken, never},
	{checkQueueing, never},
	{checkSlowDecode, never},
	{checkPrefill, never},
	{checkBatching, never},
	{checkDecodeBesidePrefill, never},
	{checkBandwidth, never},
}

func always(*pointMetrics) bool { return true }

func never(*pointMetrics) bool { return false }

func (v *pointMetrics) diagnose(all []pointMetrics) []Diagnosis {
	var found []Diagnosis
	add := func(d *Diagnosis) {
		d.Series, d.Point, d.Name = v.series, v.point, v.name
		if d.Missing == nil {
			d.Missing = []string{}
		}
		found = append(found, *d)
	}
	for _, rule := range rules {
		d := rule.check(v, all)
		if d == nil {
			continue
		}
		if d.Bottleneck != unknownBottleneck || len(found) == 0 || found[0].Bottleneck != serverStalled {
			add(d) // beside a stall, it is what is known
		}
		if rule.final(v) {
			return found
		}
	}
	if len(found) == 0 {
		add(v.noRuleApplies())
	}
	return found
}

func (v *pointMetrics) noRuleApplies() *Diagnosis {
	d := &Diagnosis{
		Observation: "no bottleneck found", Bottleneck: unknownBottleneck,
		Evidence: collected(fact("TTFT p50", v.ttft, "ms"), fact("TPOT p50", v.tpot, "ms")),
		Confirm:  "repeat the row with the missing data",
		Response: "specify model and hardware in [target], and run bench sweep again",
	}
	moved, by := movedBy(v.p.Rows, clientMachine)
	switch r := v.p.Rows[0]; {
	case r.AllFailed():
		d.Observation = "no request completed"
		d.Missing = []string{"an answer: check the row's findings and the server's log"}
		d.Response = "check the server's log, and fix the errors first"
	case !known(v.tpot) && slices.ContainsFunc(findings(v.p), ofTokenCounts):
		d.Missing = []string{"token counts: the server's usage is impossible"}
		d.Response = "correct the server's usage, and run the row again"
	case !known(v.tpot):
		d.Missing = []string{"token times: the row is not streamed, or its answers have one token"}
		d.Response = "measure a row with stream = true"
	case r.Roofline == nil && len(moved) > 0:
		d.Observation, d.Bottleneck = by.Text, clientLimited // a busy machine, lost segments, new connections
		d.Evidence = append(d.Evidence, moved...)
		d.Confirm = "repeat the row without that"
		d.Response = by.Hint
	case r.Roofline == nil && v.nothingWrong():
		d.Observation, d.Bottleneck = "no bottleneck visible at this load: no request waits", noBottleneck
		d.Evidence = append(d.Evidence, collected(fact("requests waiting, mean", v.waiting, ""))...)
		d.Confirm = "repeat the row at a higher load: a bottleneck shows where a figure bends"
		d.Response = "specify model and hardware in [target] to compare decode with its roofline"
	case r.Roofline == nil:
		d.Missing = []string{"the roofline of decode: " + r.NoRoofline}
	case !known(v.tpotLow):
		d.Missing = []string{"more requests: their number gives TPOT p50 no bounds"}
		d.Response = "make the row longer, and run it again"
	case v.tpot > v.tpotHigh:
		missing, collect := devices(r)
		d.Missing, d.Response = []string{missing}, collect+", and run the row again"
	default:
		d.Missing = []string{"the typical range of this hardware"}
		d.Response = "run bench sweep again with this version"
	}
	return d
}

// nothingWrong: no request waits, by the server's metrics, or as there is one at a time; and no check found anything
// that could hide a bottleneck, but for a busy machine: what it moved by much is a case of its own.
func (v *pointMetrics) nothingWrong() bool {
	alone := v.spec.Concurrency == 1 && v.spec.Closed()
	return known(v.tpotLow) && (v.waiting < waitingSome || alone && !known(v.waiting)) &&
		!check.SignificantTrend(v.inFlight) &&
		!slices.ContainsFunc(findings(v.p), func(f record.Finding) bool {
			return f.Severity != record.Note && (f.Code != clientMachine || f.Severity != record.Caution)
		})
}

func fact(figure string, x float64, unit string) Evidence {
	return Evidence{Figure: figure, Value: x, Unit: unit}
}

func atLeast(figure string, x float64, unit string, threshold float64) Evidence {
	return Evidence{figure, x, unit, "≥", threshold}
}

func below(figure string, x float64, unit string, threshold float64) Evidence {
	return Evidence{figure, x, unit, "<", threshold}
}

// collected drops the evidence that is missing (NaN) or was divided by zero: JSON has no such numbers.
func collected(all ...Evidence) []Evidence {
	out := []Evidence{}
	for _, e := range all {
		if known(e.Value) && !math.IsInf(e.Value, 0) {
			out = append(out, e)
		}
	}
	return out
}

// moreServerMetrics is what of the server's metrics is missing, and how to get it.
func (v *pointMetrics) moreServerMetrics() (missing, response string) {
	if v.readings > 0 && v.readings < minReadings {
		return "more readings of the server's metrics: a longer row, or a server that answers /metrics faster",
			"make the row longer, and run it again"
	}
	return "server metrics: requests running and waiting, KV cache usage, preemptions ([telemetry] server)",
		"collect the server's metrics ([telemetry] server), and run the row again"
}

// devices is what of the GPUs' or CPUs' metrics is missing, and how to get it.
func devices(r *record.Row) (missing, collect string) {
	collect = "watch the hardware with its vendor's tools"
	if r.HasGPUMetrics() {
		collect = "collect GPU metrics ([telemetry] gpu)"
	}
	switch {
	case r.Vendor() == record.AMD:
		missing = "GPU metrics: activity, clocks, throttle reasons ([telemetry] gpu: AMD's Device Metrics Exporter)"
	case r.HasGPUMetrics():
		missing = "GPU metrics: activity, memory activity, clocks, throttle reasons ([telemetry] gpu: a DCGM exporter)"
	case r.Vendor() == "cpu":
		missing = "server CPU metrics: busy cores, memory bandwidth, clocks (perf, pcm-memory; bench does not collect them)"
	default:
		missing = "device metrics: activity, memory activity, clocks " +
			"(the vendor's own tool; bench collects NVIDIA and AMD GPUs only)"
	}
	return missing, collect
}
