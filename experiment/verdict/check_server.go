package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// MaxThrottledShare is the largest share of readings in which heat or power supply may throttle a GPU.
const MaxThrottledShare = 0.01

// Limits of the server and its GPUs.
const (
	minReadings = 5   // of a metrics page; fewer are too few for a window
	otherClient = 0.1 // largest share of the server's requests that did not come from this client
	logLines    = 0.5 // largest number of log lines per request
)

func checkRestarted(e *Measured) checkResult {
	m := e.Server.Metrics
	if m == nil || m.GenerationTokens == nil && m.PromptTokens == nil {
		return noData
	}
	if m.Resets > 0 {
		return caution("find the reason in the server's log, then run again",
			"the server restarted during the window (%s)", unit.Plural(m.Resets, "counter reset")).
			touching(slowed(nil))
	}
	return passed()
}

// checkShared: readings are a second apart and can coincide with this client's bursts, so that many requests prove
// nothing if the tokens are this client's. Requests that it gave up can still run (checkIdle).
func checkShared(e *Measured) checkResult {
	m := e.Server.Metrics
	if found := e.otherPage(); found.severity != "" {
		return found
	}
	left := e.Server.Abandoned > 0 && !e.Server.Settle.Idle() || e.Summary.Requests.Left > 0 // see checkLeavers
	if m == nil || m.Running == nil || m.Samples < minReadings || e.Summary.FailedShare() > tolerated || left {
		return noData
	}
	inside, ours, largest := m.Running.Mean, e.Summary.Concurrency.Mean, float64(e.Summary.Concurrency.Max)
	if m.Waiting != nil {
		inside += m.Waiting.Mean
	}
	t := e.Summary.Throughput
	most, tokens := largest, shareOfWork(m.GenerationTokens, t.OutputTokensPerS*e.Summary.DurationS)
	if tokens != nil {
		if *tokens <= 1+otherClient {
			return passed()
		}
		most = (1+otherClient)*ours + 1
	}
	if inside <= most {
		return passed()
	}
	const hint = "find the other client, or start a server for this run alone ([server])"
	text := fmt.Sprintf("the server had %s requests in flight (mean), %s of them from this client: another client uses it",
		unit.Brief(inside, 3), unit.Brief(ours, 3))
	if inside > 2*ours && (inside > 2*largest || tokens != nil && *tokens > 2) {
		return invalid(hint, "%s", text)
	}
	// A server that shares its time, or works in order, is slowed by what it does for others: by their requests or,
	// if these are longer, by their tokens.
	prompts := shareOfWork(m.PromptTokens, t.PromptTokensPerS*e.Summary.DurationS)
	if tokens == nil || prompts == nil {
		return caution(hint, "%s", text).touching(slowed(nil))
	}
	factor := max(inside/ours, *tokens, *prompts)
	return caution(hint, "%s; latencies up to %s times too high", text, unit.Brief(factor, 3)).touching(slowed(&factor))
}

// shareOfWork is what the server counted, in multiples of this client's; nil: not counted.
func shareOfWork(counted *float64, ours float64) *float64 {
	if counted == nil || ours <= 0 {
		return nil
	}
	return new(*counted / ours)
}

const ownTokens = 0.9

// otherPage finds that the metrics page is another server's, or that of one of several servers.
func (e *Measured) otherPage() checkResult {
	m := e.Server.Metrics
	if m == nil || m.Whole == nil || m.Whole.GenerationTokens == nil {
		return noData
	}
	own := 0
	for r := range record.Completed(e.Records) {
		if !r.Estimated {
			own += r.OutputTokens
		}
	}
	if counted := *m.Whole.GenerationTokens; counted < ownTokens*float64(own) {
		return caution("set [telemetry] server to the page of this endpoint, or list the pages of all servers behind it",
			"the metrics page counted %s of %d output tokens: it belongs to another server, or to one of several",
			unit.Brief(counted, 6), own)
	}
	return noData
}

func checkLogs(e *Measured) checkResult {
	if e.Server.LogLines == nil || e.Summary.Requests.Sent == 0 {
		return noData
	}
	n := e.Summary.Requests.Sent + e.Summary.Requests.Warmup
	if lines := *e.Server.LogLines; lines > minReadings && float64(lines) > logLines*float64(n) {
		// The flags are those of vLLM 0.32, of SGLang's server_args.py and of llama.cpp's common/arg.cpp.
		return note("disable its request log (vLLM: --disable-uvicorn-access-log, SGLang: --log-level-http warning, "+
			"llama.cpp: --log-disable), or compare only with runs that log as much",
			"the server wrote %d log lines for %d requests", lines, n)
	}
	return passed()
}

func slowed(factor *float64) []effect {
	if factor == nil {
		return append(unbounded(record.Inflated, firstToken, lastToken, betweenIt),
			unbounded(record.Lowered, throughputs)...)
	}
	return append(byFactor(record.Inflated, *factor, firstToken, lastToken, betweenIt),
		byFactor(record.Lowered, *factor, throughputs)...)
}

// ThrottleReasons are the throttle reasons that are findings. A power cap is a setting, and none of them.
var ThrottleReasons = []string{"hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"}

func checkThrottled(e *Measured) checkResult {
	if e.GPU == nil {
		return noData
	}
	known := false
	var held []string
	factor := new(1.0)
	for _, d := range e.GPU.Devices {
		known = known || d.Known
		for _, reason := range slices.Sorted(maps.Keys(d.Throttled)) {
			if share := d.Throttled[reason]; share > MaxThrottledShare && slices.Contains(ThrottleReasons, reason) {
				held = append(held, fmt.Sprintf("GPU %s by %s in %s %% of readings", d.GPU, reason,
					unit.Brief(100*share, 3)))
				factor = slower(factor, &d, share)
			}
		}
	}
	switch {
	case !known:
		return noData
	case len(held) > 0:
		return caution("check cooling and power supply (nvidia-smi -q -d PERFORMANCE,TEMPERATURE; amd-smi metric --throttle), then run again",
			"clocks were throttled: %s", strings.Join(held, ", ")).touching(slowed(factor))
	}
	return passed()
}

func slower(factor *float64, d *telemetry.GPUDevice, throttled float64) *float64 {
	if factor == nil || throttled >= 1 || d.SMClock == nil || d.SMClock.Min <= 0 {
		return nil
	}
	x := max(*factor, d.SMClock.Max/d.SMClock.Min)
	if m := d.MemoryClock; m != nil && m.Min > 0 {
		x = max(x, m.Max/m.Min)
	}
	return &x
}

func checkGPUProcesses(e *Measured) checkResult {
	if e.GPU == nil || e.GPU.Before == nil || e.GPU.After == nil {
		return noData
	}
	came, gone := e.GPU.Changed()
	var parts []string
	if len(came) > 0 {
		parts = append(parts, strings.Join(came, ", ")+" started")
	}
	if len(gone) > 0 {
		parts = append(parts, strings.Join(gone, ", ")+" ended")
	}
	if len(parts) > 0 {
		return caution("keep other processes off the GPUs (nvidia-smi or amd-smi process lists them), then run again",
			"processes on the GPUs changed during the row: %s", strings.Join(parts, "; ")).touching(slowed(nil))
	}
	return passed()
}
