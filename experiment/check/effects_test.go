package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// effectsOf are the effects of a code: "ttft inflated 9 ms".
func (e *evidence) effectsOf(code string) []string {
	var out []string
	for _, f := range e.Findings {
		if f.Code != code {
			continue
		}
		for _, x := range f.Effects {
			text := fmt.Sprintf("%s %s ", x.Metric, x.Direction)
			if x.Bound == nil {
				text += "without bound"
			} else {
				text += fmt.Sprintf("%.4g %s", *x.Bound, x.Unit)
			}
			out = append(out, text)
		}
	}
	return out
}

// all is the same effect on several metrics.
func all(effect string, metrics ...string) []string {
	var out []string
	for _, m := range metrics {
		out = append(out, m+" "+effect)
	}
	return out
}

// The flawless row's requests have two tokens, the first after 5 ms and the last 4.999 ms later.
func TestEffects(t *testing.T) {
	firsts := []string{"ttft", "ttft_from_send", "ttfe"}
	lasts := []string{"e2e", "e2e_from_send"}
	waits := append(slices.Clone(firsts), lasts...)
	between := metric.Spanning(metric.BetweenTokens)
	every := slices.Concat(waits, between)
	closed := func(e *evidence) { e.Spec.Rate, e.Spec.Concurrency = 0, 2 }
	late := func(e *evidence) {
		for i, r := range e.inWindow() {
			r.Ready = r.Ready.Add(-2000 - int64(10*i))
			r.Arrival = r.Ready
		}
	}
	for _, c := range []struct {
		code, what string
		change     func(*evidence)
		want       []string
	}{
		{"client_bound", "open loop", late, all("inflated 2.99 ms", "ttft", "e2e")},
		{"client_bound", "closed loop, thinned", func(e *evidence) { late(e); closed(e) }, append(all("inflated 2.99 ms", "ttft", "e2e"), "concurrency lowered 2 x")},
		{"client_cpu", "saturated", func(e *evidence) { e.Client.CPUMean = new(2.0) }, all("inflated without bound", append(between, lasts...)...)},
		{"client_cpu", "saturated, with the server", func(e *evidence) { e.Client.CPUMean = new(2.0); e.Host.Server = true },
			all("inflated without bound", slices.Concat(between, lasts, firsts)...)},
		{"client_cpu", "stolen", func(e *evidence) { e.Client.Steal, e.Client.StealMaxMs = new(0.1), new(40.0) },
			slices.Concat(all("inflated 40 ms", waits...), []string{"itl unknown 40 ms", "tpot inflated 40 ms", "tpot lowered 5 ms"})},
		{"client_cpu", "stolen from a local server", func(e *evidence) { e.Client.Steal, e.Client.StealMaxMs, e.Host.Server = new(0.2), new(40.0), true },
			slices.Concat(all("inflated 40 ms", waits...), []string{"itl unknown 40 ms", "tpot inflated 40 ms", "tpot lowered 5 ms"}, all("inflated 1.25 x", every...))},
		{"client_cpu", "late reads", func(e *evidence) {
			e.Clock, e.Client.SchedP99, e.Client.SchedMax = record.Clock{UserStamps: 9}, new(2.0), new(3.0)
		},
			slices.Concat(all("inflated 3 ms", waits...), []string{"itl unknown 3 ms", "tpot inflated 3 ms", "tpot lowered 3 ms"})},
		{"client_cpu", "stolen altogether", func(e *evidence) { e.Client.Steal, e.Client.StealMaxMs, e.Host.Server = new(1.0), new(0.0), true },
			slices.Concat(all("inflated 0 ms", waits...), []string{"itl unknown 0 ms", "tpot inflated 0 ms", "tpot lowered 0 ms"}, all("inflated without bound", every...))},
		{"network", "lost segments of requests", func(e *evidence) { e.Connections.Sockets.Retransmits = 7 }, all("inflated 7 requests", waits...)},
		{"network", "lost segments of answers", func(e *evidence) { e.Connections.Sockets.OutOfOrder = 7 },
			append(all("inflated 7 requests", waits...), all("unknown 7 requests", between...)...)},
		{"connections", "set up", func(e *evidence) {
			for i, r := range e.inWindow()[:9] {
				r.ConnectUs = new(int64(4000 + i))
			}
		}, all("inflated 4.008 ms", "ttft", "e2e")},
		{"arrivals", "rounded", func(e *evidence) {
			e.Spec.Arrival.Process, e.Spec.Trace = "trace", &workload.Trace{Head: workload.Head{StepS: 3, SameTime: 0.9}}
		},
			all("inflated without bound", waits...)},
		{"rate_not_achieved", "behind", func(e *evidence) {
			for _, r := range e.inWindow()[50:] {
				r.Last = r.Last.Add(1_000_000)
			}
		}, all("lowered without bound", waits...)},
		{"concurrency", "too few", closed, []string{"concurrency lowered 2 x"}},
		{"concurrency", "too many is another load", func(e *evidence) { e.inWindow()[0].End = e.inWindow()[0].End.Add(10_000) }, nil},
		{"prompt_length", "longer", func(e *evidence) {
			for _, r := range e.inWindow() {
				r.PromptRequested, r.PromptTokens = 1000, new(1050)
			}
		}, all("inflated 1.103 x", every...)},
		{"output_length", "shorter", func(e *evidence) {
			for _, r := range e.inWindow() {
				r.OutputRequested, r.OutputTokens = 1000, 950
			}
		}, all("lowered 1.108 x", every...)},
		{"token_counts", "estimated", func(e *evidence) {
			for _, r := range e.inWindow() {
				r.Estimated, r.OutputTokens, r.OutputRequested = true, 5, 9
			}
		}, []string{"tpot inflated 2 x", "output_tokens_per_s lowered 1.8 x"}},
		{"stamps", "some by the reader's clock", func(e *evidence) { e.Clock.UserStamps, e.Clock.ReadLagMaxMs = 3, 4 },
			append(all("inflated 4 ms", waits...), "itl unknown 4 ms", "tpot inflated 4 ms", "tpot lowered 4 ms")},
		{"buffered", "some answers", func(e *evidence) {
			for _, r := range e.inWindow()[:2] {
				r.Gaps, r.Last = record.Pack(0, 0, 0), r.First
			}
			for _, r := range e.inWindow()[2:] {
				r.Gaps = record.Pack(1000, 1000, 2999)
			}
		}, []string{"tpot lowered 5 ms", "itl unknown 2 requests"}},
		{"buffered", "some answers, the others in part", func(e *evidence) {
			for i, r := range e.inWindow() {
				r.Gaps, r.OutputTokens = record.Pack(0, 0, 4000, 0, 0), 6
				if r.Last = record.At(r.First.Us() + 4000); i < 2 {
					r.Gaps, r.Last = record.Pack(0, 0, 0, 0, 0), r.First
				}
			}
		}, []string{"tpot lowered 1 ms", "tpot inflated without bound", "itl unknown without bound"}},
		{"buffered", "events in pairs and more", func(e *evidence) {
			for _, r := range e.inWindow() {
				r.Gaps, r.Last = record.Pack(0, 0, 4000, 0, 0), record.At(r.First.Us()+4000)
			}
		}, []string{"itl unknown without bound"}},
		{"prefix_cache", "not reported", func(e *evidence) {
			e.Spec.Prefix = &workload.Prefix{Tokens: 100, Groups: 2, State: workload.Warm}
			for _, r := range e.inWindow() {
				r.CachedTokens = nil
			}
		}, all("inflated without bound", waits...)},
		{"server_restarted", "restart", func(e *evidence) { e.Server.Metrics.Resets = 1 },
			append(all("inflated without bound", every...), all("lowered without bound", throughputs...)...)},
		{"shared_server", "a ninth is ours", func(e *evidence) {
			e.Server.Metrics.Running.Mean, e.Server.Metrics.GenerationTokens = 9*e.Summary.Concurrency.Mean, new(1e9)
		}, nil},
		{"gpu_throttled", "known clocks", func(e *evidence) {
			e.GPU.Devices[0].Throttled["hw_thermal"], e.GPU.Devices[0].SMClock = 0.5, &telemetry.Gauge{Max: 1980, Min: 1320}
		}, append(all("inflated 1.5 x", every...), all("lowered 1.5 x", throughputs...)...)},
		{"gpu_throttled", "in every reading", func(e *evidence) {
			e.GPU.Devices[0].Throttled["hw_thermal"], e.GPU.Devices[0].SMClock = 1, &telemetry.Gauge{Max: 1980, Min: 1320}
		}, append(all("inflated without bound", every...), all("lowered without bound", throughputs...)...)},
		{"gpu_processes", "came", func(e *evidence) { e.GPU.Before = []telemetry.GPUProcess{} },
			append(all("inflated without bound", every...), all("lowered without bound", throughputs...)...)},
		{"host_load", "crowded", func(e *evidence) { e.Window.EndUs = 10_000_000; e.Host = crowd(9, 12) }, nil},
		{"host_load", "crowded, with its pressure", func(e *evidence) {
			e.Window.EndUs, e.Host, e.Client.CPUWait = 10_000_000, crowd(9, 12), waitsFor(0.6)
		}, append(all("inflated 2.5 x", every...), all("lowered 2.5 x", throughputs...)...)},
	} {
		e := flawless()
		for _, r := range e.records { // a first event with the first token
			r.FirstEvent = r.First
		}
		e.Summary = record.Summarize(e.records, e.Window, record.Mode{Streams: true}, nil, 0)
		c.change(e)
		var got []string
		only(c.code, func(code string) { got = e.checked().effectsOf(code) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.code, c.what, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// An effect on what the row has not measured is left out.
func TestEffectsOnMeasuredMetrics(t *testing.T) {
	e := flawless()
	e.Spec.Stream = new(false)
	for _, r := range e.inWindow() {
		r.Ready = r.Ready.Add(-3000)
		r.Arrival = r.Ready
	}
	if got := e.checked().effectsOf("client_bound"); !slices.Equal(got, []string{"e2e inflated 3 ms"}) {
		t.Errorf("%q", got)
	}
}

func TestEffectsOfAnUnsteadyRow(t *testing.T) {
	for _, c := range []struct {
		name    string
		latency func(at float64) float64
		want    string // a part of the effects
	}{
		{"the queue grows", func(at float64) float64 { return 50 + 20_000*at }, "ttft lowered without bound"},
		{"a slow beginning", func(at float64) float64 {
			if at < 0.05 {
				return 800
			}
			return 50
		}, "ttft inflated 750 ms"},
	} {
		e := steadyRow(2000, c.latency).checked()
		if got := e.effectsOf("unsteady"); !slices.Contains(got, c.want) {
			t.Errorf("%s: %q, want %s (%s)", c.name, got, c.want, e.findingOf("unsteady"))
		}
	}
	closed := steadyRow(2000, func(at float64) float64 { return 50 * (1 - 0.5*at) })
	closed.Spec.Rate, closed.Spec.Concurrency = 0, 4
	drifting := &record.Steadiness{Trends: map[string]stats.Trend{"ttft": {P: 0, Change: -0.5}, "tpot": {P: 0, Change: 0.25}, "e2e": {P: 0.5, Change: 9}}}
	f := drift(drifting)
	if f.problem != "ttft fell by 50 %, tpot rose by 25 % through the window" || len(f.effects) != len(metric.Spanning(metric.ToFirstToken))+len(metric.Spanning(metric.BetweenTokens)) || *f.effects[0].Bound != 1.5 || *f.effects[3].Bound != 1.25 {
		t.Errorf("%+v", f)
	}
}

func TestSupportedPercentile(t *testing.T) {
	for n, want := range map[int]string{1: "p50", 35: "p50", 36: "p90", 71: "p90", 72: "p95", 367: "p95", 368: "p99", 5000: "p99"} {
		if got := supported(n); got != want {
			t.Errorf("%d requests: %s, want %s", n, got, want)
		}
	}
}
