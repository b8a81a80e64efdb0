package check

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// told is what a server, its GPUs and this machine say of a row that nothing is wrong with.
func (e *evidence) told() {
	e.Server.Metrics = &telemetry.ServerUsage{Engine: "vllm", Samples: 10, Running: &telemetry.Gauge{Mean: 1, Max: 1}, Waiting: &telemetry.Gauge{}, GenerationTokens: new(200.0)}
	e.Server.LogLines = new(3)
	e.GPU = &telemetry.GPUUsage{
		Samples: 10, Devices: []telemetry.GPUDevice{{GPU: "0", Known: true, Throttled: map[string]float64{"sw_power_cap": 0.9, "hw_thermal": 0.01}}},
		Before: []telemetry.GPUProcess{{GPU: "a", PID: 7, Name: "vllm"}}, After: []telemetry.GPUProcess{{GPU: "a", PID: 7, Name: "vllm"}},
	}
	e.Host = telemetry.Host{Before: new(0.5), After: new(1.5)}
}

// Each check has what fails it, what just passes, and what makes it impossible.
func TestFindingsOfTheServer(t *testing.T) {
	const passed, failed, impossible = "passed", "failed", "not possible"
	running := func(running, waiting float64) func(*evidence) {
		return func(e *evidence) { e.Server.Metrics.Running.Mean, e.Server.Metrics.Waiting.Mean = running, waiting }
	}
	for _, c := range []struct {
		code, what string
		change     func(*evidence)
		want, text string
	}{
		{"server_restarted", "counters fell", func(e *evidence) { e.Server.Metrics.Resets = 2 }, failed, "(2 counter resets)"},
		{"server_restarted", "no metrics", func(e *evidence) { e.Server.Metrics = nil }, impossible, ""},
		{"server_restarted", "no counter", func(e *evidence) { e.Server.Metrics.GenerationTokens = nil }, impossible, ""},
		{"shared_server", "one more, in flight", running(2, 0), passed, ""},
		{"shared_server", "another's, whose tokens are not told", func(e *evidence) {
			running(2, 1)(e)
			e.Server.Metrics.GenerationTokens = nil
		}, failed, "the server had 3 requests in flight (mean), 1 of them from this client"},
		{"shared_server", "bursts that fell on the readings: the tokens are ours", func(e *evidence) {
			running(9, 9)(e)
			e.Server.Metrics.GenerationTokens = new(1.0)
		}, passed, ""},
		{"shared_server", "another's, with its tokens", func(e *evidence) {
			running(9, 9)(e)
			e.Server.Metrics.GenerationTokens = new(1e9)
		}, failed, "the server had 18 requests in flight"},
		{"shared_server", "few readings", func(e *evidence) { running(9, 9)(e); e.Server.Metrics.Samples = 4 }, impossible, ""},
		{"shared_server", "not told", func(e *evidence) { e.Server.Metrics.Running = nil }, impossible, ""},
		{"shared_server", "the queue is not told", func(e *evidence) { e.Server.Metrics.Waiting = nil }, passed, ""},
		{"shared_server", "more than half of the requests are another's", func(e *evidence) {
			running(9, 9)(e)
			e.Server.Metrics.GenerationTokens = nil
		}, failed, "the server had 18 requests in flight (mean), 1 of them from this client"},
		{"server_logs", "a line for two requests", func(e *evidence) { e.Server.LogLines = new(50) }, passed, ""},
		{"server_logs", "one for each", func(e *evidence) { e.Server.LogLines = new(101) }, failed, "wrote 101 log lines for 101 requests"},
		{"server_logs", "vLLM", func(e *evidence) { e.Server.LogLines, e.Server.Metrics.Engine = new(101), "vllm" }, failed, "--disable-uvicorn-access-log"},
		{"server_logs", "SGLang", func(e *evidence) { e.Server.LogLines, e.Server.Metrics.Engine = new(101), "sglang" }, failed, "--log-level-http warning"},
		{"server_logs", "llama.cpp", func(e *evidence) { e.Server.LogLines, e.Server.Metrics.Engine = new(101), "llamacpp" }, failed, "--log-disable"},
		{"server_logs", "its log is not ours", func(e *evidence) { e.Server.LogLines = nil }, impossible, ""},
		{"gpu_throttled", "heat", func(e *evidence) { e.GPU.Devices[0].Throttled["hw_thermal"] = 0.011 }, failed, "GPU 0 by hw_thermal in 1.1 % of readings"},
		{"gpu_throttled", "not told", func(e *evidence) { e.GPU.Devices[0].Known = false }, impossible, ""},
		{"gpu_throttled", "no source", func(e *evidence) { e.GPU = nil }, impossible, ""},
		{"gpu_processes", "came", func(e *evidence) { e.GPU.Before = []telemetry.GPUProcess{} }, failed, "vllm (7) started"},
		{"gpu_processes", "went", func(e *evidence) { e.GPU.After = []telemetry.GPUProcess{} }, failed, "vllm (7) ended"},
		{"gpu_processes", "not told at the end", func(e *evidence) { e.GPU.After = nil }, impossible, ""},
		{"gpu_processes", "nobody, twice", func(e *evidence) { e.GPU.Before, e.GPU.After = []telemetry.GPUProcess{}, []telemetry.GPUProcess{} }, passed, ""},
		{"host_load", "half a core beside the client's", func(e *evidence) { e.Host.After = new(1.5) }, passed, ""},
		{"host_load", "more", func(e *evidence) { e.Host.After = new(1.51) }, failed, "changed from 0.5 to 1.51; this client used 0.5 cores"},
		{"host_load", "less than before", func(e *evidence) { e.Host.Before = new(4.0) }, failed, "changed from 4 to 1.5"},
		{"host_load", "more, with a core for each process at the ends", func(e *evidence) { e.Host.After, e.Host.Cores = new(3.9), 4 }, failed, "changed from 0.5 to 3.9"},
		{"host_load", "the simulated server in this process", func(e *evidence) { e.Simulated, e.Host.After = true, new(9.0) }, impossible, ""},
		{"host_load", "the server is here too, and waited", func(e *evidence) {
			e.Host.Server, e.Client.CPUWait, e.Client.ServerRunDelay = true, waitsFor(0.051), new(0.1)
		},
			failed, "waited for CPU in up to 5.1 % of the time (run delay of its threads)"},
		{"host_load", "the server is here too, and waited little", func(e *evidence) {
			e.Host, e.Client.CPUWait, e.Client.ServerRunDelay = crowd(30, 31), waitsFor(0.05), new(0.1)
		}, passed, ""},
		{"host_load", "its own work may be what waited", func(e *evidence) { e.Host, e.Client.CPUWait = crowd(8, 9), waitsFor(0.9) }, impossible, ""},
		{"host_load", "more work than its own", func(e *evidence) { e.Host, e.Client.CPUWait = crowd(8.1, 9), waitsFor(0.9) }, failed, "8.1 before and 9 after the row on 4 cores: the local server waited"},
		{"host_load", "the server is here too", func(e *evidence) { e.Host.Server = true }, impossible, ""},
		{"host_load", "the server is here too, and twice the work that there are cores", func(e *evidence) { e.Host = crowd(8, 9) }, impossible, ""},
		{"host_load", "the server is here too, and more", func(e *evidence) { e.Host = crowd(8.1, 9) }, failed, "8.1 before and 9 after the row on 4 cores"},
		{"host_load", "the server is here too, and more at one end", func(e *evidence) { e.Host = crowd(1, 9) }, impossible, ""},
		{"host_load", "not told", func(e *evidence) { e.Host.After = nil }, impossible, ""},
		{"host_load", "a short row", func(e *evidence) { e.Window.EndUs = 9_000_000 }, impossible, ""},
	} {
		e := flawless()
		e.Window.EndUs = 10_000_000
		if c.code != "host_load" {
			e.Window.EndUs = 1_000_000
		}
		c.change(e)
		code := ""
		only(c.code, func(of string) { e.checked(); code = of })
		v := e.Checks
		for name, codes := range map[string][]string{passed: v.Passed, failed: v.Failed, impossible: v.NotPossible} {
			if has := slices.Contains(codes, code); has != (name == c.want) {
				t.Errorf("%s, %s: want %s; %s: %t", c.code, c.what, c.want, name, has)
			}
		}
		i := slices.IndexFunc(e.Findings, func(d record.Finding) bool { return d.Code == code })
		unbounded := func(x record.Effect) bool { return x.Bound == nil }
		if c.code == "host_load" && i >= 0 && (slices.ContainsFunc(e.Findings[i].Effects, unbounded) || (len(e.Findings[i].Effects) == 0) != (e.Findings[i].Severity == record.Note)) {
			t.Errorf("%s: %+v", c.what, e.Findings[i])
		}
		if i >= 0 && (!strings.Contains(e.Findings[i].Text+" "+e.Findings[i].Hint, c.text) || e.Findings[i].Hint == "") {
			t.Errorf("%s, %s: %+v, want %s", c.code, c.what, e.Findings[i], c.text)
		}
	}
}

// waitsFor is a wait for CPU in the same share of all the time.
func waitsFor(share float64) *telemetry.CPUWait {
	return &telemetry.CPUWait{Mean: share, By: "run_delay", Parts: []telemetry.CPUWaitPart{{ToUs: 1_000_000_000, Share: share}}}
}

// crowd is a machine of four cores with the server on it, and its load before and after a row.
func crowd(before, after float64) telemetry.Host {
	return telemetry.Host{Before: &before, After: &after, Cores: 4, Server: true}
}
