package diagnosis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/fixture"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// flat is a sample that is p50 for nearly all, and p99 for few.
func flat(p50, p99 float64) *stats.Summary {
	return &stats.Summary{N: 1000, Mean: p50, P50: p50, P95: p50, P99: p99}
}

func level(x float64) *telemetry.Gauge { return &telemetry.Gauge{Mean: x, Max: x, Last: x} }

// healthy is a row in which nothing is wrong: decode within its band, nobody waits, everything is told.
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

// beside is a pair of rows: the second is the one to look at.
func pair(first, second func(r *record.Row)) []record.Row { return append(as(first), as(second)...) }

func same(*record.Row) {}

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

// Each rule has a row that it holds for, and one near it that it must not hold for.
func TestRules(t *testing.T) {
	slowDecode := func(r *record.Row) { r.Summary.TPOT, r.Summary.ITL = flat(30, 31), flat(30, 31) }
	at := func(slots int, floor, ms float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.Spec.Point, r.Spec.Concurrency = []experiment.Axis{{Key: "concurrency", Value: unit.Count(slots)}}, slots
			r.Roofline.Batch, r.Roofline.TPOT.FloorMs = float64(slots), floor
			r.Summary.TPOT, r.Summary.ITL = flat(ms, ms), flat(ms, ms)
			r.GPU = nil
		}
	}
	for _, c := range []struct {
		name    string
		rows    []record.Row
		want    Regime
		symptom string
		near    []record.Row
		then    Regime
	}{
		{"client", as(func(r *record.Row) { r.Checks.Failed = []string{"client_cpu"} }), ClientBound, "client",
			as(func(r *record.Row) { r.Checks.Failed = []string{"warmup"} }), MemoryBound},
		{"heat", as(func(r *record.Row) { r.GPU.Devices[0].Throttled = map[string]float64{"sw_thermal": 0.05} }), PowerLimited, "held down",
			as(func(r *record.Row) { r.GPU.Devices[0].Throttled = map[string]float64{"sw_thermal": 0.005} }), MemoryBound},
		{"power cap", as(func(r *record.Row) {
			slowDecode(r)
			r.GPU.Devices[0].Throttled = map[string]float64{"sw_power_cap": 0.9}
		}), PowerLimited, "power cap",
			as(func(r *record.Row) { r.GPU.Devices[0].Throttled = map[string]float64{"sw_power_cap": 0.9} }), MemoryBound}, // as many run all the time
		{"drift", as(func(r *record.Row) { trend(r, "tpot", 0.4); r.GPU = nil }), UnknownRegime, "slow down through the window",
			as(func(r *record.Row) { trend(r, "tpot", 0.1); r.GPU = nil }), MemoryBound},
		{"preemptions", as(func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(30.), level(0.99) }), KVPressure, "lose their place",
			as(func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(3.), level(0.99) }), MemoryBound},
		{"full cache", as(func(r *record.Row) { r.Server.Metrics.Waiting, r.Server.Metrics.KVUsage = level(4), level(0.95) }), KVPressure, "wait, and the KV cache is full",
			as(func(r *record.Row) { r.Server.Metrics.KVUsage = level(0.95) }), MemoryBound}, // full of what is cached and nobody waits for
		{"eviction", as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.3} }), CacheMiss, "evicted",
			as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0.7} }), MemoryBound},
		{"nothing to find", as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.8, CachedRate: 0} }), CacheMiss, "again each time",
			as(func(r *record.Row) { r.Reuse = &record.Reuse{PossibleRate: 0.04, CachedRate: 0} }), MemoryBound},
		{"warm as cold", pair(cold, warmed), UnknownRegime, "hardly faster",
			pair(cold, func(r *record.Row) { warmed(r); r.Summary.TTFT = flat(15, 20) }), MemoryBound},
		{"warm as cold, and no hits", pair(cold, func(r *record.Row) { warmed(r); r.Server.Metrics.PrefixHitRate = new(0.01) }), CacheMiss, "hardly faster",
			pair(cold, func(r *record.Row) { warmed(r); r.Server.Metrics.PrefixHitRate = new(0.7) }), UnknownRegime}, // hits that save nothing are no miss
		{"tail", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(40, 400), level(0.5) }), Queueing, "bad at p99",
			as(func(r *record.Row) { // prompts that differ as much
				r.Summary.TTFT, r.Server.Metrics.Waiting, r.Lengths.PromptTokens = flat(40, 400), level(0.5), flat(500, 2500)
			}), MemoryBound},
		{"tail, metrics unread", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics = flat(40, 400), nil }), UnknownRegime, "bad at p99",
			as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics = flat(40, 100), nil }), MemoryBound},
		{"late at the median", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(900, 1000), level(4) }), Queueing, "long after",
			as(func(r *record.Row) { r.Summary.TTFT = flat(300, 350) }), MemoryBound}, // the prompts of users in step
		{"late, and nobody waits", as(func(r *record.Row) { r.Summary.TTFT = flat(900, 1000) }), UnknownRegime, "long after",
			as(func(r *record.Row) { r.Summary.TTFT = flat(90, 120) }), MemoryBound},
		{"growing queue", as(func(r *record.Row) { r.Spec.Rate, r.Server.Metrics.Waiting = 5, level(9); trend(r, "in_flight", 0.8) }), Queueing, "queue grows",
			as(func(r *record.Row) { r.Spec.Rate = 5; trend(r, "in_flight", 0.1) }), MemoryBound},
		{"the row's own cap", as(func(r *record.Row) { r.Spec.Rate, r.Summary.CapWait, r.Summary.TTFT = 5, flat(50, 800), flat(90, 900) }), Queueing, "own cap",
			as(func(r *record.Row) { r.Spec.Rate, r.Summary.CapWait = 5, flat(0, 5) }), MemoryBound},
		{"idle GPU", as(func(r *record.Row) { slowDecode(r); r.GPU.Devices[0].EngineActive = level(0.3) }), HostBound, "GPU waits",
			as(func(r *record.Row) { r.GPU.Devices[0].EngineActive = level(0.3) }), MemoryBound}, // an idle GPU that is fast enough
		{"idle memory", as(func(r *record.Row) { slowDecode(r); r.GPU.Devices[0].DRAMActive = level(0.2) }), Inefficient, "memory idles",
			as(func(r *record.Row) { slowDecode(r); r.GPU.Devices[0].DRAMActive = level(0.8) }), UnknownRegime}, // it carries something else
		{"constant steps", pair(at(1, 5, 29), at(8, 10, 31)), HostBound, "does not depend on what it reads", pair(at(1, 5, 7), at(8, 10, 11)), MemoryBound},
		{"steep steps", pair(at(1, 5, 26), at(8, 10, 50)), Inefficient, "a multiple of the memory's time", pair(at(1, 5, 26), at(8, 6, 30)), UnknownRegime}, // floors too near
		{"slow, GPUs unwatched", as(func(r *record.Row) { slowDecode(r); r.GPU = nil }), UnknownRegime, "slower than the hardware explains",
			as(func(r *record.Row) { r.GPU = nil }), MemoryBound},
		{"too fast", as(func(r *record.Row) { r.Summary.TPOT = flat(4, 5) }), UnknownRegime, "faster than the memory",
			as(func(r *record.Row) { r.Summary.TPOT = flat(5.1, 6) }), MemoryBound},
		{"longer prompts", pair(same, func(r *record.Row) {
			r.Spec.Name, r.Summary.Tokens.Prompt, r.Summary.TTFT = "long", 1_200_000, flat(150, 200)
		}), PrefillCost, "grows with the input",
			pair(same, func(r *record.Row) { r.Spec.Name, r.Summary.Tokens.Prompt = "long", 1_200_000 }), MemoryBound},
		{"prompts all the time", as(func(r *record.Row) {
			r.Summary.Throughput.RequestsPerS, r.Summary.TTFT, r.Server.Metrics.Waiting = 20, flat(900, 1000), level(4)
		}), PrefillCost, "most of the server's time",
			as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(900, 1000), level(4) }), Queueing},
		{"short answers", as(func(r *record.Row) { r.Summary.E2E = flat(120, 150) }), PrefillCost, "large part of the answer's time",
			as(func(r *record.Row) { r.Summary.E2E = flat(150, 160) }), MemoryBound},
		{"beside prompts", as(func(r *record.Row) { r.Summary.TPOT = flat(13, 14) }), PrefillCost, "prompts of others",
			as(func(r *record.Row) { r.Summary.TPOT = flat(10.9, 14) }), MemoryBound},
		{"more load", pair(same, func(r *record.Row) {
			r.Spec.Concurrency, r.Spec.Point, r.Summary.Throughput.OutputTokensPerS, r.Summary.TPOT = 16, fixture.Concurrency("16"), 1600, flat(10, 11)
		}), Batching, "slower tokens",
			pair(same, func(r *record.Row) {
				r.Spec.Concurrency, r.Spec.Point, r.Summary.Throughput.OutputTokensPerS = 16, fixture.Concurrency("16"), 1900
			}), MemoryBound},
		{"computing", as(func(r *record.Row) { r.Roofline.TPOT.Terms = []roofline.Term{{Name: "compute"}} }), Batching, "computes longer than it reads",
			as(func(r *record.Row) { r.Roofline.TPOT.Terms = []roofline.Term{{Name: "compute", Hidden: true}} }), MemoryBound},
		{"no bound", as(func(r *record.Row) { r.Roofline, r.NoRoofline = nil, "hardware is not stated" }), UnknownRegime, "nothing stands out", as(same), MemoryBound},
		{"all failed", as(func(r *record.Row) { r.Summary = record.Summary{Requests: record.Requests{Planned: 9, Failed: 9}} }), UnknownRegime, "no request completed", as(same), MemoryBound},
		{"not streamed", as(func(r *record.Row) { r.Summary.TTFT, r.Summary.TPOT, r.Summary.ITL = nil, nil, nil }), UnknownRegime, "nothing stands out", as(same), MemoryBound},
	} {
		if d := lastOf(c.rows); d.Regime != c.want || !strings.Contains(d.Symptom, c.symptom) {
			t.Errorf("%s: %s, want %s with %q: %+v", c.name, d.Regime, c.want, c.symptom, d)
		}
		if d := lastOf(c.near); d.Regime != c.then {
			t.Errorf("near %s: %s, want %s: %+v", c.name, d.Regime, c.then, d)
		}
	}
}

// lastOf is what is to be acted on at the last point of the last series.
func lastOf(rows []record.Row) *Diagnosis {
	series := series.SeriesOf(rows)
	last := len(series) - 1
	return firstAt(Diagnose(series), last, len(series[last].Points)-1)
}

// Without any telemetry there is no regime that rests on it, and unknown says what is missing.
func TestUnknownSaysWhatIsMissing(t *testing.T) {
	for _, rows := range [][]record.Row{
		as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics = flat(40, 400), nil }), as(func(r *record.Row) { r.Roofline, r.NoRoofline = nil, "not stated" }),
		as(func(r *record.Row) { r.Summary.TPOT, r.GPU = flat(30, 31), nil }), pair(cold, warmed), as(func(r *record.Row) { r.Summary.TTFT = flat(900, 1000) }),
	} {
		for _, d := range Diagnose(series.SeriesOf(rows)) {
			if (d.Regime == UnknownRegime) != (len(d.Missing) > 0) || d.Symptom == "" || d.Response == "" || d.Confirm == "" {
				t.Errorf("%+v", d)
			}
			if d.Regime != UnknownRegime && len(d.Evidence) == 0 {
				t.Errorf("no evidence: %+v", d)
			}
		}
	}
}

// Answers that came all at once have a TPOT and a TTFT of 0: no point is slower than that by a factor, and the result must stay JSON.
func TestDiagnosisBesideNothing(t *testing.T) {
	at := func(slots int, ttft, tpot, output float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.Spec.Point, r.Spec.Concurrency = []experiment.Axis{{Key: "concurrency", Value: unit.Count(slots)}}, slots
			r.Summary.TTFT, r.Summary.TPOT = flat(ttft, ttft), flat(tpot, tpot)
			r.Summary.Throughput.OutputTokensPerS = output
			r.Roofline, r.NoRoofline = nil, "not stated"
		}
	}
	for _, rows := range [][]record.Row{pair(at(1, 40, 0, 100), at(8, 40, 9, 1000)), pair(at(1, 0, 9, 100), at(8, 40, 9, 1000)), as(at(1, 0, 0, 0))} {
		found := Diagnose(series.SeriesOf(rows))
		if _, err := json.Marshal(found); err != nil {
			t.Error(err)
		}
		for _, d := range found {
			if d.Regime == Batching {
				t.Errorf("slower than nothing: %+v", d)
			}
		}
	}
}

// What bench reads of hardware is NVIDIA's: for anything else nobody is sent to look for an exporter, and of a CPU two batches tell
// nothing, since it reads and computes in turn.
func TestUnknownOfOtherHardware(t *testing.T) {
	slow := func(vendor string, slots int, floor, ms float64) func(r *record.Row) {
		return func(r *record.Row) {
			r.GPU, r.Roofline.Vendor, r.Roofline.TPOT.FloorMs, r.Spec.Concurrency = nil, vendor, floor, slots
			r.Summary.TPOT, r.Summary.ITL = flat(ms, ms), flat(ms, ms)
			r.Spec.Point = []experiment.Axis{{Key: "concurrency", Value: unit.Count(slots)}}
		}
	}
	for _, c := range []struct {
		vendor, missing string
		speaks          bool   // of the exporter
		pair            Regime // of two batches
	}{{"", missingGPU, true, HostBound}, {"nvidia", missingGPU, true, HostBound}, {"amd", missingForeign, false, HostBound}, {"cpu", missingCPU, false, UnknownRegime}} {
		rows := as(slow(c.vendor, 8, 10, 31))
		series := series.SeriesOf(rows)
		found := Diagnose(series)
		d := found[0]
		next := nothingKnown(&rows[0], strings.Join(d.Missing, "; "))
		if d.Regime != UnknownRegime || d.Missing[0] != c.missing || strings.Contains(fmt.Sprint(d, next), "DCGM") != c.speaks {
			t.Errorf("%q: %+v, next %+v", c.vendor, d, next)
		}
		if d := lastOf(pair(slow(c.vendor, 1, 5, 29), slow(c.vendor, 8, 10, 31))); d.Regime != c.pair {
			t.Errorf("%q, two batches: %+v", c.vendor, d)
		}
	}
}

// A figure of repeats is their median, and one of them that tells is enough.
func TestDiagnosisOfRepeats(t *testing.T) {
	rows := append(as(same), append(as(same), as(same)...)...)
	for i := range rows {
		rows[i].Spec.Repeat = i + 1
		rows[i].Server.Metrics.Preemptions, rows[i].Server.Metrics.KVUsage = new(float64(30*i)), level(0.99)
	}
	rows[0].Server.Metrics = nil
	d := lastOf(rows)
	at := slices.IndexFunc(d.Evidence, func(e Evidence) bool { return strings.HasPrefix(e.Figure, "preemptions") })
	if d.Regime != KVPressure || at < 0 || math.Abs(d.Evidence[at].Value-0.15) > 1e-9 {
		t.Errorf("%+v", d)
	}
	if text := d.Evidence[at].String(); text != "preemptions for each completed request 0.150 (≥ 0.0200)" {
		t.Error(text)
	}
}

// A point that has others of its row beside it is not told to measure a second concurrency.
func TestUnknownBesideNearBatches(t *testing.T) {
	slow := func(slots int) func(r *record.Row) {
		return func(r *record.Row) {
			r.GPU, r.Summary.TPOT, r.Spec.Concurrency = nil, flat(30, 31), slots
			r.Spec.Point = []experiment.Axis{{Key: "concurrency", Value: fmt.Sprint(slots)}}
		}
	}
	for want, rows := range map[string][]record.Row{"or a second concurrency": as(slow(1)), "or batches or contexts further apart": pair(slow(1), slow(2))} {
		if d := lastOf(rows); d.Regime != UnknownRegime || !strings.HasPrefix(d.Missing[1], want) {
			t.Errorf("%+v, want %s", d, want)
		}
	}
}
