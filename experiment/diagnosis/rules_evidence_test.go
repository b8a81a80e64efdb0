package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

func diagnosesOf(rows []record.Row) []Diagnosis { return Diagnose(series.FromRows(rows)) }

// Inputs that make the sentence of a rule false: none may be named.
func TestWhatTheEvidenceDoesNotCarry(t *testing.T) {
	noBounds := func(s *stats.Summary) *stats.Summary { s.N, s.CI95 = 5, nil; return s }
	for _, c := range []struct {
		name string
		rows []record.Row
		not  Bottleneck
	}{
		{"p99 of few requests", as(func(r *record.Row) {
			s := flat(40, 400)
			s.N, s.CI95["p99"] = 30, stats.Interval{Lo: 45, Hi: 400}
			s.CI95["p90"], s.P90 = stats.Interval{Lo: 41, Hi: 400}, 300
			r.Summary.TTFT, r.Server.Metrics.Waiting = s, level(0.5)
		}), queueing},
		{"late median without bounds", as(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = noBounds(flat(900, 1000)), level(4) }), queueing},
		{"requests that wait for the next step", as(func(r *record.Row) {
			r.Summary.TTFT, r.Server.Metrics.Waiting, r.Summary.Throughput.RequestsPerS = flat(40, 400), level(0.3), 50
			r.Roofline.TTFT.Terms = nil
		}), queueing},
		{"one reading", as(func(r *record.Row) {
			r.Server.Metrics.Samples, r.Server.Metrics.Waiting, r.Server.Metrics.KVUsage = 1, level(4), level(0.95)
		}), kvCachePressure},
		{"two preemptions", as(func(r *record.Row) {
			r.Summary.Requests.Completed, r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = 30, new(2.), level(0.99)
		}), kvCachePressure},
		{"prompts of 20 tokens", as(func(r *record.Row) {
			r.Summary.E2E, r.Summary.Tokens.Prompt = flat(120, 150), 300*20
			r.Roofline.TTFT.Terms = []roofline.Term{{Name: "weights", Ms: 29}, {Name: "compute", Ms: 1}}
		}), computeBoundPrefill},
		{"20 tokens and 60 tokens", pair(func(r *record.Row) { r.Summary.Tokens.Prompt = 300 * 20 },
			func(r *record.Row) {
				r.Spec.Name, r.Summary.Tokens.Prompt, r.Summary.TTFT = "long", 300*60, flat(80, 100)
			}), computeBoundPrefill},
		{"a step that overhead explains", as(func(r *record.Row) { r.Roofline.MBU = new(0.29); r.GPU = nil }), bandwidthBoundDecode},
		{"TPOT without bounds", as(func(r *record.Row) { r.Summary.TPOT = noBounds(flat(8, 9)) }), bandwidthBoundDecode},
		{"a typical range without prefill in it", as(func(r *record.Row) { r.Summary.TPOT, r.Summary.Throughput.RequestsPerS = flat(13, 14), 1 }), computeBoundPrefill},
		{"a CPU has no HBM", as(func(r *record.Row) { r.Roofline.Vendor = "cpu" }), bandwidthBoundDecode},
		{"usage that is impossible", as(func(r *record.Row) { r.Findings = []record.Finding{{Code: "token_counts", Severity: record.Invalid}} }), bandwidthBoundDecode},
	} {
		for _, d := range diagnosesOf(c.rows) {
			if d.Bottleneck == c.not {
				t.Errorf("%s: %+v", c.name, d)
			}
			if (d.Bottleneck == unknownBottleneck) != (len(d.Missing) > 0) {
				t.Errorf("%s: unknown without what is missing: %+v", c.name, d)
			}
		}
	}
	cpu := as(func(r *record.Row) { r.Roofline.Vendor = "cpu" })
	if d := lastOf(cpu); d.Bottleneck != memoryBoundDecode {
		t.Errorf("CPU: %+v", d)
	}
	// That nothing is wrong, only the typical range tells.
	blind := func(r *record.Row) { r.Roofline, r.NoRoofline = nil, "hardware is not stated" }
	more := func(r *record.Row) {
		blind(r)
		r.Spec.Concurrency, r.Spec.Point[0].Value, r.Summary.Throughput.OutputTokensPerS, r.Summary.TPOT = 16, "16", 1600, flat(10, 11)
	}
	if d := lastOf(pair(blind, more)); d.Bottleneck != batchingTradeoff || strings.Contains(d.Response, "nothing is wrong") {
		t.Errorf("no roofline: %+v", d)
	}
}

// The parts of TTFT decide what makes it late.
func TestPartsOfTTFT(t *testing.T) {
	late := func(network, frontend, queue, prefill *float64) []record.Row {
		return as(func(r *record.Row) {
			r.Summary.TTFT, r.Server.Metrics = flat(900, 1000), nil
			r.TTFTSplit = &record.TTFTSplit{Requests: 300, Source: "histograms", Total: 900, Network: network, Frontend: frontend, Queue: queue, Prefill: prefill}
			if network == nil {
				r.TTFTSplit.Frontend, r.TTFTSplit.Rest = nil, frontend
			}
		})
	}
	// llama.cpp reports its prefill only: the rest is the queue if its page shows one.
	rest := func(waiting float64) []record.Row {
		return as(func(r *record.Row) {
			r.Summary.TTFT = flat(900, 1000)
			r.TTFTSplit = &record.TTFTSplit{Requests: 300, Source: "requests", Total: 900, Rest: new(840.), Prefill: new(60.)}
			r.Server.Metrics = &telemetry.ServerUsage{Samples: 30, Running: &telemetry.Gauge{Mean: 2, Max: 2}, Waiting: &telemetry.Gauge{Mean: waiting, Max: waiting}}
		})
	}
	for _, c := range []struct {
		name string
		rows []record.Row
		want Bottleneck
	}{
		{"queue among others", rest(60), queueing},
		{"no queue among others", rest(0), unknownBottleneck},
		{"queue", late(new(20.), new(10.), new(840.), new(30.)), queueing},
		{"network", late(new(840.), new(10.), new(20.), new(30.)), networkOrGateway},
		{"front end", late(new(20.), new(840.), new(10.), new(30.)), hostOverhead},
		{"front end and network together", late(nil, new(840.), new(10.), new(30.)), unknownBottleneck},
		{"no part", late(new(300.), new(300.), new(200.), new(100.)), unknownBottleneck},
		{"prefill, more than it computes", late(new(20.), new(10.), new(30.), new(840.)), bandwidthBoundDecode},
		{"prefill", as(func(r *record.Row) {
			r.Summary.E2E, r.TTFTSplit = flat(120, 150), &record.TTFTSplit{Requests: 300, Total: 40, Network: new(1.), Frontend: new(2.), Queue: new(0.), Prefill: new(37.)}
		}), computeBoundPrefill},
		{"a tail that waits", as(func(r *record.Row) {
			r.Summary.TTFT = flat(40, 400)
			r.TTFTSplit = &record.TTFTSplit{Requests: 300, Total: 70, Network: new(5.), Frontend: new(5.), Queue: new(25.), Prefill: new(35.)}
		}), queueing},
	} {
		d := lastOf(c.rows)
		if d.Bottleneck != c.want {
			t.Errorf("%s: %+v", c.name, d)
		}
		if c.want == queueing && !slices.ContainsFunc(d.Evidence, func(e Evidence) bool { return strings.Contains(e.Figure, "queue, mean") }) {
			t.Errorf("%s: %v", c.name, d.Evidence)
		}
	}
}

// Requests waiting ÷ requests/s is the wait: of one load, without a roofline, and with or without the server's own
// times. The figures are those of llama.cpp --parallel 2 with 8 users, and of a row of it with a rate.
func TestLittlesLawShowsTheQueue(t *testing.T) {
	of := func(waiting, running float64, change func(r *record.Row)) []record.Row {
		return as(func(r *record.Row) {
			r.Roofline, r.NoRoofline, r.GPU = nil, "hardware is not specified", nil
			r.Summary.TTFT, r.Summary.TPOT, r.Summary.E2E = flat(3270, 3400), flat(12, 14), flat(3650, 3900)
			r.Summary.Throughput.RequestsPerS = 2.03
			r.Server.Metrics = &telemetry.ServerUsage{Engine: "llamacpp", Samples: 30, Running: level(running), Waiting: level(waiting)}
			change(r)
		})
	}
	split := func(r *record.Row) {
		r.TTFTSplit = &record.TTFTSplit{Requests: 300, Source: "requests", Total: 3270, Rest: new(2880.), Prefill: new(387.)}
	}
	rated := func(r *record.Row) { r.Spec.Concurrency, r.Spec.Rate, r.Spec.Point = 0, 2.5, nil }
	for name, rows := range map[string][]record.Row{"closed loop": of(5.4, 2, same), "with its prefill": of(5.4, 2, split), "rate": of(5.4, 2, rated)} {
		d := lastOf(rows)
		at := slices.IndexFunc(d.Evidence, func(e Evidence) bool { return strings.Contains(e.Figure, "Little") })
		if d.Bottleneck != queueing || at < 0 || d.Evidence[at].String() != "queue wait, mean (Little's law) 2.66 s (≥ 1.64 s)" {
			t.Errorf("%s: %+v", name, d)
		}
		if byRate := strings.HasPrefix(d.Response, "lower the rate"); byRate != (name == "rate") || !strings.Contains(d.Response, "--parallel") {
			t.Errorf("%s: %s", name, d.Response)
		}
	}
	for name, rows := range map[string][]record.Row{
		"half as long as it takes": of(2.7, 2, same), "users in step": of(5.4, 24, same), "few requests": of(5.4, 2, func(r *record.Row) { r.Summary.TTFT.N, r.Summary.TTFT.CI95 = 5, nil }),
	} {
		if d := lastOf(rows); d.Bottleneck == queueing {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Requests that wait in the client are no reason to change a server that idles.
func TestCapIsNotTheServers(t *testing.T) {
	d := lastOf(as(func(r *record.Row) {
		r.Spec.Rate, r.Summary.CapWait, r.Summary.TTFT = 5, flat(14000, 14600), flat(14200, 14900)
		r.TTFTSplit = &record.TTFTSplit{Requests: 300, Source: "requests", Total: 252, Rest: new(200.), Prefill: new(52.)}
	}))
	if d.Bottleneck != queueing || !strings.Contains(d.Observation, "own concurrency cap") || strings.Contains(d.Confirm+d.Response, "batch limit") {
		t.Errorf("%+v", d)
	}
}

// A decode step reads the weights anyway: prompts that take less time to compute are not the bottleneck,
// however many there are.
func TestShortPromptsInABusyBatch(t *testing.T) {
	for _, x := range [][3]int{{24, 64, 24}, {32, 32, 16}, {16, 64, 16}} {
		s := setting{name: fmt.Sprint(x), rows: []experiment.Spec{closed("s", x[0], x[1], x[2])}}
		for _, d := range Diagnose(s.simulated(t)) {
			if d.Bottleneck != bandwidthBoundDecode {
				t.Errorf("%v: %s, by %q: %v", x, d.Bottleneck, d.Observation, d.Evidence)
			}
		}
	}
}
