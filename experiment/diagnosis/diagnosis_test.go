package diagnosis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// flat is a sample that is p50 for nearly all, and p99 for few.
func flat(p50, p99 float64) *stats.Summary {
	at := func(x float64) stats.Interval { return stats.Interval{Lo: 0.99 * x, Hi: 1.01 * x} }
	return &stats.Summary{N: 1000, Mean: p50, P50: p50, P95: p50, P99: p99, CI95: map[string]stats.Interval{"p50": at(p50), "p95": at(p50), "p99": at(p99)}}
}

func level(x float64) *telemetry.Gauge { return &telemetry.Gauge{Mean: x, Max: x, Last: x} }

// healthy is a row in which nothing is wrong: decode within its typical range, no request waits, all
// telemetry is present.
func healthy() record.Row {
	r := record.Row{ID: "r", PromptForm: "token_ids", Spec: experiment.Spec{Name: "r", Point: fixture.Concurrency("8"), Repeat: 1, Load: workload.Load{Concurrency: 8},
		Workload: workload.Workload{Input: workload.Fixed(1000), Output: workload.Fixed(200)}}}
	r.Summary = record.Summary{TTFT: flat(40, 60), TPOT: flat(8, 9), ITL: flat(8, 9), E2E: flat(1640, 1900), TokensPerEvent: 1, DurationS: 60,
		Requests: record.Requests{Planned: 300, Completed: 300}, Tokens: record.Tokens{Prompt: 300_000, Output: 60_000}, Throughput: record.Throughput{RequestsPerS: 5, OutputTokensPerS: 1000}}
	r.Lengths.PromptTokens = flat(1000, 1000)
	r.Roofline = &record.Roofline{Model: "m", Batch: 8, TPOT: roofline.Bound{FloorMs: 5, LowMs: 6, ExpectedMs: 7, HighMs: 11}, TTFT: roofline.Bound{FloorMs: 20, LowMs: 25, ExpectedMs: 30, HighMs: 50},
		Loaded: &roofline.Bound{FloorMs: 5, HighMs: 14}, MBU: new(0.7)}
	r.Roofline.TTFT.Terms = []roofline.Term{{Name: "compute", Ms: 27}, {Name: "attention", Ms: 2}, {Name: "overhead", Ms: 1}}
	r.Server.Metrics = &telemetry.ServerUsage{Samples: 60, Running: level(8), Waiting: level(0), KVUsage: level(0.3), Preemptions: new(0.), PrefixHitRate: new(0.)}
	r.GPU = &telemetry.GPUUsage{Devices: []telemetry.GPUDevice{{GPU: "0", EngineActive: level(0.95), DRAMActive: level(0.7), Known: true}}}
	return r
}

// as changes a copy of a healthy row.
func as(change func(r *record.Row)) []record.Row {
	r := healthy()
	change(&r)
	return []record.Row{r}
}

// pair is two rows; tests look at the second.
func pair(first, second func(r *record.Row)) []record.Row { return append(as(first), as(second)...) }

func same(*record.Row) {}

// clientCaution is a caution about a client that was hardly busy.
func clientCaution(r *record.Row) {
	r.Client = &telemetry.Usage{MaxProcs: 2, CPUMean: new(0.5)}
	r.Findings = []record.Finding{{Code: "client_bound", Severity: record.Caution}}
}

// add is one more effect of the row's first finding.
func add(r *record.Row, metric string, ms float64) {
	x := record.Effect{Metric: metric, Direction: record.Inflated, Bound: &ms, Unit: record.UnitMs}
	r.Findings[0].Effects = append(r.Findings[0].Effects, x)
}

// moved is an effect of the row's first finding.
func moved(r *record.Row, metric string, ms float64) {
	r.Findings[0].Effects = []record.Effect{{Metric: metric, Direction: record.Inflated, Bound: &ms, Unit: record.UnitMs}}
}

func trend(r *record.Row, metric string, change float64) {
	r.Steady = &record.Steadiness{Trends: map[string]stats.Trend{metric: {Change: change, P: 1e-6}}}
}

func warmed(r *record.Row) {
	r.Spec.Prefix = &workload.Prefix{Tokens: 800, Groups: 4, State: "warm"}
	r.Spec.Point = append(r.Spec.Point, experiment.Axis{Key: "prefix.state", Value: "warm"})
	r.Server.Metrics.PrefixHitRate = nil
}

func cold(r *record.Row) {
	warmed(r)
	r.Spec.Prefix.State, r.Spec.Point[1].Value = "cold", "cold"
}

// Each rule has a row that it applies to, and a similar one that it must not apply to.
func TestRules(t *testing.T) {
	slowDecode := func(r *record.Row) { r.Summary.TPOT, r.Summary.ITL = flat(30, 31), flat(30, 31) }
	busy := func(severity record.Severity, factor float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.Roofline, r.NoRoofline = nil, "hardware is not stated"
			r.Findings = []record.Finding{{Code: clientMachine, Severity: severity, Text: "9 segments were retransmitted; also late", Effects: []record.Effect{
				{Metric: "ttft", Direction: record.Inflated, Bound: &factor, Unit: record.UnitFactor}}}}
		}
	}
	at := func(concurrency int, floor, ms float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.Spec.Point, r.Spec.Concurrency = []experiment.Axis{{Key: "concurrency", Value: unit.Count(concurrency)}}, concurrency
			r.Roofline.Batch, r.Roofline.TPOT.FloorMs = float64(concurrency), floor
			r.Summary.TPOT, r.Summary.ITL = flat(ms, ms), flat(ms, ms)
			r.GPU = nil
		}
	}
	for _, c := range []struct {
		name    string
		rows    []record.Row
		want    Bottleneck
		symptom string
		near    []record.Row
		then    Bottleneck
	}{
		{"client", as(func(r *record.Row) {
			clientCaution(r)
			r.Findings[0].Effects = []record.Effect{{Metric: "ttft", Direction: record.Inflated, Unit: record.UnitFactor}}
		}), clientLimited, "client",
			as(func(r *record.Row) { clientCaution(r); r.Client.CPUMean, r.Findings = new(1.9), nil }), bandwidthBoundDecode},
		{"stolen", as(func(r *record.Row) { clientCaution(r); moved(r, "e2e_from_send", 1); add(r, "ttft", 12.1) }), clientLimited, "client",
			as(func(r *record.Row) { clientCaution(r); moved(r, "e2e_from_send", 1); add(r, "ttft", 11.9) }), bandwidthBoundDecode}, // a fifth of p99, at most
		{"late client", as(func(r *record.Row) {
			r.Findings, r.Summary.Lag = []record.Finding{{Code: "client_bound", Severity: record.Caution}}, flat(3, 12.1)
		}), clientLimited, "client",
			as(func(r *record.Row) {
				r.Findings, r.Summary.Lag = []record.Finding{{Code: "client_bound", Severity: record.Caution}}, flat(3, 11.9)
			}), bandwidthBoundDecode},
		{"verdict open by the client", as(func(r *record.Row) {
			clientCaution(r)
			r.SLO = []record.Verdict{{Verdict: "UNDECIDED", Metric: "ttft_p95", OpenedBy: []string{"client_bound"}}}
			r.Findings[0].Effects = []record.Effect{{Metric: "ttft", Direction: record.Inflated, Unit: record.UnitMs}}
		}), clientLimited, "client",
			as(func(r *record.Row) {
				clientCaution(r)
				r.SLO = []record.Verdict{{Verdict: "UNDECIDED", OpenedBy: []string{"unsteady"}}}
			}), bandwidthBoundDecode},
		{"thinned", as(func(r *record.Row) {
			clientCaution(r)
			r.Findings[0].Effects = []record.Effect{{Metric: record.MetricConcurrency, Bound: new(1.3), Unit: record.UnitFactor}}
			r.Summary.Concurrency.Mean = 8 / 1.3
		}), clientLimited, "client",
			as(func(r *record.Row) {
				clientCaution(r)
				r.Findings[0].Effects = []record.Effect{{Metric: record.MetricConcurrency, Bound: new(1.1), Unit: record.UnitFactor}}
				r.Summary.Concurrency.Mean = 8 / 1.1
			}), bandwidthBoundDecode},
		{"heat", as(func(r *record.Row) { r.GPU.Devices[0].Throttled = map[string]float64{"sw_thermal": 0.25} }), thermalOrPower, "throttled",
			as(func(r *record.Row) { r.GPU.Devices[0].Throttled = map[string]float64{"sw_thermal": 0.05} }), bandwidthBoundDecode}, // moves no median
		{"heat, and drift", as(func(r *record.Row) {
			trend(r, "tpot", 0.4)
			r.GPU.Devices[0].Throttled = map[string]float64{"sw_thermal": 0.05}
		}), thermalOrPower, "throttled",
			as(func(r *record.Row) { trend(r, "tpot", 0.4) }), unknownBottleneck},
		{"power cap", as(func(r *record.Row) {
			slowDecode(r)
			r.GPU.Devices[0].Throttled = map[string]float64{"sw_power_cap": 0.9}
		}), thermalOrPower, "power cap",
			as(func(r *record.Row) { r.GPU.Devices[0].Throttled = map[string]float64{"sw_power_cap": 0.9} }), bandwidthBoundDecode}, // as many run all the time
		{"drift", as(func(r *record.Row) { trend(r, "tpot", 0.4); r.GPU = nil }), unknownBottleneck, "TPOT rises during the window",
			as(func(r *record.Row) { trend(r, "tpot", 0.1); r.GPU = nil }), bandwidthBoundDecode},
		{"preemptions", as(func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(30.), level(0.99) }), kvCachePressure, "preempted and computed again",
			as(func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(3.), level(0.99) }), bandwidthBoundDecode},
		{"full cache", as(func(r *record.Row) { r.Server.Metrics.Waiting, r.Server.Metrics.KVUsage = level(4), level(0.95) }), kvCachePressure, "wait, and the KV cache is full",
			as(func(r *record.Row) { r.Server.Metrics.KVUsage = level(0.95) }), bandwidthBoundDecode}, // full of what is cached and nobody waits for
		{"eviction, the prefixes do not fit", as(func(r *record.Row) {
			r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.3, PossibleTokens: 800, PromptTokens: 1000, InCapacity: new(300)}
		}), prefixCacheMisses, "evicted before reuse",
			as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.7} }), bandwidthBoundDecode},
		{"eviction, requests fill the cache", as(func(r *record.Row) {
			r.Reuse, r.Server.Metrics.KVUsage = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.3}, level(0.95)
		}), prefixCacheMisses, "evicted before reuse",
			as(func(r *record.Row) {
				r.Reuse, r.Server.Metrics.KVUsage = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.7}, level(0.95)
			}), bandwidthBoundDecode},
		{"no eviction: the prefixes fit", as(func(r *record.Row) {
			r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.3, PossibleTokens: 800, PromptTokens: 1000, InCapacity: new(800)}
		}), prefixCacheMisses, "evictions are not evident",
			as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.7} }), bandwidthBoundDecode},
		{"nothing to find", as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0} }), prefixCacheMisses, "again for each request",
			as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.04, CachedRate: 0} }), bandwidthBoundDecode},
		{"warm as cold", pair(cold, warmed), unknownBottleneck, "hardly faster",
			pair(cold, func(r *record.Row) { warmed(r); r.Summary.TTFT = flat(15, 20) }), bandwidthBoundDecode},
		{"warm as cold, and no hits", pair(cold, func(r *record.Row) { warmed(r); r.Server.Metrics.PrefixHitRate = new(0.01) }), prefixCacheMisses, "hardly faster",
			pair(cold, func(r *record.Row) { warmed(r); r.Server.Metrics.PrefixHitRate = new(0.7) }), unknownBottleneck}, // hits that save nothing are no miss
		{"tail", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(40, 400), level(0.5) }), queueing, "high at p99",
			as(func(r *record.Row) { // prompts that differ as much
				r.Summary.TTFT, r.Server.Metrics.Waiting, r.Lengths.PromptTokens = flat(40, 400), level(0.5), flat(500, 2500)
			}), bandwidthBoundDecode},
		{"tail, metrics unread", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics = flat(40, 400), nil }), unknownBottleneck, "high at p99",
			as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics = flat(40, 100), nil }), bandwidthBoundDecode},
		{"late at the median", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(900, 1000), level(4) }), queueing, "in the server's queue",
			as(func(r *record.Row) { r.Summary.TTFT = flat(300, 350) }), bandwidthBoundDecode}, // the prompts of users in step
		{"late, and nobody waits", as(func(r *record.Row) { r.Summary.TTFT = flat(900, 1000) }), unknownBottleneck, "far above the time to compute",
			as(func(r *record.Row) { r.Summary.TTFT = flat(90, 120) }), bandwidthBoundDecode},
		{"growing queue", as(func(r *record.Row) { r.Spec.Rate, r.Server.Metrics.Waiting = 5, level(9); trend(r, "in_flight", 0.8) }), queueing, "queue grows",
			as(func(r *record.Row) { r.Spec.Rate = 5; trend(r, "in_flight", 0.1) }), bandwidthBoundDecode},
		{"the row's own cap", as(func(r *record.Row) { r.Spec.Rate, r.Summary.CapWait, r.Summary.TTFT = 5, flat(50, 800), flat(90, 900) }), queueing, "own concurrency cap",
			as(func(r *record.Row) { r.Spec.Rate, r.Summary.CapWait = 5, flat(0, 5) }), bandwidthBoundDecode},
		{"idle GPU", as(func(r *record.Row) { slowDecode(r); r.GPU.Devices[0].EngineActive = level(0.3) }), hostOverhead, "GPU waits",
			as(func(r *record.Row) { r.GPU.Devices[0].EngineActive = level(0.3) }), bandwidthBoundDecode}, // an idle GPU that is fast enough
		{"idle memory", as(func(r *record.Row) { slowDecode(r); r.GPU.Devices[0].DRAMActive = level(0.2) }), inefficientDecode, "memory is mostly idle",
			as(func(r *record.Row) { slowDecode(r); r.GPU.Devices[0].DRAMActive = level(0.8) }), unknownBottleneck}, // it carries something else
		{"constant steps", pair(at(1, 5, 29), at(8, 10, 31)), hostOverhead, "does not depend on its memory traffic", pair(at(1, 5, 7), at(8, 10, 11)), bandwidthBoundDecode},
		{"steep steps", pair(at(1, 5, 26), at(8, 10, 50)), inefficientDecode, "a multiple of its HBM time", pair(at(1, 5, 26), at(8, 6, 30)), unknownBottleneck}, // floors too near
		{"slow, GPUs unwatched", as(func(r *record.Row) { slowDecode(r); r.GPU = nil }), unknownBottleneck, "slower than its typical range",
			as(func(r *record.Row) { r.GPU = nil }), bandwidthBoundDecode},
		{"too fast", as(func(r *record.Row) { r.Summary.TPOT = flat(4, 5) }), unknownBottleneck, "faster than the memory",
			as(func(r *record.Row) { r.Summary.TPOT = flat(5.1, 6) }), bandwidthBoundDecode},
		{"longer prompts", pair(same, func(r *record.Row) {
			r.Spec.Name, r.Summary.Tokens.Prompt, r.Summary.TTFT = "long", 1_200_000, flat(150, 200)
		}), computeBoundPrefill, "grows with the input",
			pair(same, func(r *record.Row) { r.Spec.Name, r.Summary.Tokens.Prompt = "long", 1_200_000 }), bandwidthBoundDecode},
		{"prompts all the time", as(func(r *record.Row) {
			r.Summary.Throughput.RequestsPerS, r.Summary.TTFT, r.Server.Metrics.Waiting = 20, flat(900, 1000), level(4)
		}), computeBoundPrefill, "most of the server's time",
			as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(900, 1000), level(4) }), queueing},
		{"short answers", as(func(r *record.Row) { r.Summary.E2E = flat(120, 150) }), computeBoundPrefill, "large share of e2e",
			as(func(r *record.Row) { r.Summary.E2E = flat(150, 160) }), bandwidthBoundDecode},
		{"beside prompts", as(func(r *record.Row) { r.Summary.TPOT = flat(13, 14) }), computeBoundPrefill, "prefill of other requests",
			as(func(r *record.Row) { r.Summary.TPOT = flat(10.9, 14) }), bandwidthBoundDecode},
		{"more load", pair(same, func(r *record.Row) {
			r.Spec.Concurrency, r.Spec.Point, r.Summary.Throughput.OutputTokensPerS, r.Summary.TPOT = 16, fixture.Concurrency("16"), 1600, flat(10, 11)
		}), batchingTradeoff, "raises both throughput and TPOT",
			pair(same, func(r *record.Row) {
				r.Spec.Concurrency, r.Spec.Point, r.Summary.Throughput.OutputTokensPerS = 16, fixture.Concurrency("16"), 1900
			}), bandwidthBoundDecode},
		{"computing", as(func(r *record.Row) { r.Roofline.TPOT.Terms = []roofline.Term{{Name: "compute"}} }), batchingTradeoff, "decode is compute-bound",
			as(func(r *record.Row) { r.Roofline.TPOT.Terms = []roofline.Term{{Name: "compute", Hidden: true}} }), bandwidthBoundDecode},
		{"no bound", as(func(r *record.Row) { r.Roofline, r.NoRoofline = nil, "hardware is not stated" }), noBottleneck, "no bottleneck visible at this load",
			as(func(r *record.Row) { // something could wait, and nothing reports it
				r.Roofline, r.NoRoofline, r.Server.Metrics = nil, "hardware is not stated", nil
			}), unknownBottleneck},
		{"one at a time", as(func(r *record.Row) {
			r.Roofline, r.NoRoofline, r.Server.Metrics, r.Spec.Concurrency = nil, "hardware is not stated", nil, 1
		}), noBottleneck, "no bottleneck visible",
			as(func(r *record.Row) {
				r.Roofline, r.NoRoofline, r.Spec.Concurrency = nil, "hardware is not stated", 1
				r.Findings = []record.Finding{{Code: "host_load", Severity: record.Caution}}
			}), unknownBottleneck},
		{"a busy machine", as(busy(record.Caution, 1.6)), clientLimited, "9 segments were retransmitted", as(busy(record.Caution, 1.05)), noBottleneck},
		{"mixed clocks", as(busy(record.Invalid, 1.05)), unknownBottleneck, "no bottleneck found", as(busy(record.Note, 1.6)), noBottleneck},
		{"all failed", as(func(r *record.Row) { r.Summary = record.Summary{Requests: record.Requests{Planned: 9, Failed: 9}} }), unknownBottleneck, "no request completed", as(same), bandwidthBoundDecode},
		{"not streamed", as(func(r *record.Row) { r.Summary.TTFT, r.Summary.TPOT, r.Summary.ITL = nil, nil, nil }), unknownBottleneck, "no bottleneck found", as(same), bandwidthBoundDecode},
	} {
		if d := lastOf(c.rows); d.Bottleneck != c.want || !strings.Contains(d.Observation, c.symptom) {
			t.Errorf("%s: %s, want %s with %q: %+v", c.name, d.Bottleneck, c.want, c.symptom, d)
		}
		if d := lastOf(c.near); d.Bottleneck != c.then {
			t.Errorf("near %s: %s, want %s: %+v", c.name, d.Bottleneck, c.then, d)
		}
	}
}

// lastOf is the first diagnosis of the last point of the last series.
func lastOf(rows []record.Row) *Diagnosis {
	series := series.FromRows(rows)
	last := len(series) - 1
	return firstAt(Diagnose(series), last, len(series[last].Points)-1)
}

// Without telemetry no bottleneck rests on it, and unknown names what is missing.
func TestUnknownSaysWhatIsMissing(t *testing.T) {
	for _, rows := range [][]record.Row{
		as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics = flat(40, 400), nil }), as(func(r *record.Row) { r.Roofline, r.NoRoofline, r.Server.Metrics = nil, "not stated", nil }),
		as(func(r *record.Row) { r.Summary.TPOT, r.GPU = flat(30, 31), nil }), pair(cold, warmed), as(func(r *record.Row) { r.Summary.TTFT = flat(900, 1000) }),
	} {
		for _, d := range Diagnose(series.FromRows(rows)) {
			if (d.Bottleneck == unknownBottleneck) != (len(d.Missing) > 0) || d.Observation == "" || d.Response == "" || d.Confirm == "" {
				t.Errorf("%+v", d)
			}
			if d.Bottleneck != unknownBottleneck && len(d.Evidence) == 0 {
				t.Errorf("no evidence: %+v", d)
			}
		}
	}
}

// Answers that arrive all at once have a TPOT and a TTFT of 0: no point is slower by a factor, and the result
// must stay JSON.
func TestDiagnosisBesideNothing(t *testing.T) {
	at := func(concurrency int, ttft, tpot, output float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.Spec.Point, r.Spec.Concurrency = []experiment.Axis{{Key: "concurrency", Value: unit.Count(concurrency)}}, concurrency
			r.Summary.TTFT, r.Summary.TPOT = flat(ttft, ttft), flat(tpot, tpot)
			r.Summary.Throughput.OutputTokensPerS = output
			r.Roofline, r.NoRoofline = nil, "not stated"
		}
	}
	for _, rows := range [][]record.Row{pair(at(1, 40, 0, 100), at(8, 40, 9, 1000)), pair(at(1, 0, 9, 100), at(8, 40, 9, 1000)), as(at(1, 0, 0, 0))} {
		found := Diagnose(series.FromRows(rows))
		if _, err := json.Marshal(found); err != nil {
			t.Error(err)
		}
		for _, d := range found {
			if d.Bottleneck == batchingTradeoff {
				t.Errorf("slower than nothing: %+v", d)
			}
		}
	}
}

// bench collects the metrics of NVIDIA GPUs only: for other hardware no exporter is proposed. On a CPU two
// batches prove nothing, since it reads and computes in turn.
func TestUnknownOfOtherHardware(t *testing.T) {
	slow := func(vendor string, concurrency int, floor, ms float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.GPU, r.Roofline.Vendor, r.Roofline.TPOT.FloorMs, r.Spec.Concurrency = nil, vendor, floor, concurrency
			r.Summary.TPOT, r.Summary.ITL = flat(ms, ms), flat(ms, ms)
			r.Spec.Point = []experiment.Axis{{Key: "concurrency", Value: unit.Count(concurrency)}}
		}
	}
	const gpu = "GPU metrics: activity, memory activity, clocks, throttle reasons ([telemetry] gpu: a DCGM exporter)"
	for _, c := range []struct {
		vendor, missing string
		exporter        bool       // is proposed
		pair            Bottleneck // diagnosis of two batches
	}{{"", gpu, true, hostOverhead}, {"nvidia", gpu, true, hostOverhead},
		{"amd", "GPU metrics: activity, clocks, throttle reasons ([telemetry] gpu: AMD's Device Metrics Exporter)", true, hostOverhead},
		{"intel", "device metrics: activity, memory activity, clocks (the vendor's own tool; bench collects NVIDIA and AMD GPUs only)",
			false, hostOverhead},
		{"cpu", "server CPU metrics: busy cores, memory bandwidth, clocks (perf, pcm-memory; bench does not collect them)",
			false, unknownBottleneck}} {
		rows := as(slow(c.vendor, 8, 10, 31))
		series := series.FromRows(rows)
		found := Diagnose(series)
		d := found[0]
		next := moreTelemetry(&rows[0], strings.Join(d.Missing, "; "))
		if d.Bottleneck != unknownBottleneck || d.Missing[0] != c.missing || strings.Contains(fmt.Sprint(d, next), "xporter") != c.exporter {
			t.Errorf("%q: %+v, next %+v", c.vendor, d, next)
		}
		if d := lastOf(pair(slow(c.vendor, 1, 5, 29), slow(c.vendor, 8, 10, 31))); d.Bottleneck != c.pair {
			t.Errorf("%q, two batches: %+v", c.vendor, d)
		}
	}
}

// A figure of repeats is the median of those that have it.
func TestDiagnosisOfRepeats(t *testing.T) {
	rows := append(as(same), append(as(same), as(same)...)...)
	for i := range rows {
		rows[i].Spec.Repeat = i + 1
		rows[i].Server.Metrics.Preemptions, rows[i].Server.Metrics.KVUsage = new(float64(30*i)), level(0.99)
	}
	rows[0].Server.Metrics = nil
	d := lastOf(rows)
	at := slices.IndexFunc(d.Evidence, func(e Evidence) bool { return strings.HasPrefix(e.Figure, "preemptions") })
	if d.Bottleneck != kvCachePressure || at < 0 || math.Abs(d.Evidence[at].Value-0.15) > 1e-9 {
		t.Errorf("%+v", d)
	}
	if text := d.Evidence[at].String(); text != "preemptions per completed request 0.150 (≥ 0.0200)" {
		t.Error(text)
	}
}

// A row with several points gets no advice to measure a second concurrency.
func TestUnknownBesideNearBatches(t *testing.T) {
	slow := func(concurrency int) func(r *record.Row) {
		return func(r *record.Row) {
			r.GPU, r.Summary.TPOT, r.Spec.Concurrency = nil, flat(30, 31), concurrency
			r.Spec.Point = []experiment.Axis{{Key: "concurrency", Value: fmt.Sprint(concurrency)}}
		}
	}
	for want, rows := range map[string][]record.Row{"or a second concurrency": as(slow(1)), "or batches or contexts further apart": pair(slow(1), slow(2))} {
		if d := lastOf(rows); d.Bottleneck != unknownBottleneck || !strings.HasPrefix(d.Missing[1], want) {
			t.Errorf("%+v, want %s", d, want)
		}
	}
}

// A percentile that the number of requests does not bound is no evidence: eight requests have no p99.
func TestTailNeedsRequests(t *testing.T) {
	few := make([]float64, 8)
	for i := range few {
		few[i] = 40
	}
	few[7] = 400
	diagnose := func(sample *stats.Summary) Diagnosis {
		rows := as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = sample, level(0.5) })
		return Diagnose(series.FromRows(rows))[0]
	}
	if d := diagnose(stats.Summarize(few)); strings.Contains(d.Observation, "high at") {
		t.Errorf("%+v", d)
	}
	if d := diagnose(stats.Summarize(slices.Repeat(few, 8))); strings.Contains(d.Observation, "high at") {
		t.Errorf("a p90 whose lower bound is not high: %+v", d)
	}
	if d := diagnose(stats.Summarize(slices.Repeat(few, 32))); !strings.Contains(d.Observation, "high at p95") {
		t.Errorf("%+v", d)
	}
}
