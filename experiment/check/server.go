package check

import (
	"fmt"
	"maps"
	"math"
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

func checkRestarted(e *evidence) result {
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
func checkShared(e *evidence) result {
	m := e.Server.Metrics
	if found := otherPage(e); found.severity != "" {
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
func otherPage(e *evidence) result {
	m := e.Server.Metrics
	if m == nil || m.Whole == nil || m.Whole.GenerationTokens == nil {
		return noData
	}
	own := 0
	for r := range record.Completed(e.records) {
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

func checkLogs(e *evidence) result {
	lines, q := e.Server.LogLines, &e.Summary.Requests
	if lines == nil || q.Sent == 0 {
		return noData
	}
	n := q.Sent + q.Warmup
	if *lines > minReadings && float64(*lines) > logLines*float64(n) {
		// The flags are those of vLLM 0.32, of SGLang's server_args.py and of llama.cpp's common/arg.cpp.
		return note("disable its request log (vLLM: --disable-uvicorn-access-log, SGLang: --log-level-http warning, "+
			"llama.cpp: --log-disable), or compare only with runs that log as much",
			"the server wrote %d log lines for %d requests", *lines, n)
	}
	return passed()
}

func slowed(factor *float64) []Effect {
	if factor == nil {
		return append(unbounded(record.Inflated, firstToken, lastToken, betweenIt),
			unbounded(record.Lowered, throughputs)...)
	}
	return append(byFactor(record.Inflated, *factor, firstToken, lastToken, betweenIt),
		byFactor(record.Lowered, *factor, throughputs)...)
}

// ThrottleReasons are the throttle reasons that are findings. A power cap is a setting, and none of them.
var ThrottleReasons = []string{"hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"}

func checkThrottled(e *evidence) result {
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
		return caution("check cooling and power supply "+
			"(nvidia-smi -q -d PERFORMANCE,TEMPERATURE; amd-smi metric --throttle), then run again",
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

func checkGPUProcesses(e *evidence) result {
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

// Limits of this machine.
const (
	otherWork = 0.25 // largest change of the load average without this client's, per core
	crowded   = 2.0  // largest load average per core with a local server whose processes are not visible
	waited    = 0.05 // largest share of the window in which a local server can have waited for CPU
	// mostWaited bounds that share: a server that waited always would have answered nothing.
	mostWaited = 0.99
	minWindow  = 10.0 // seconds; the load average lags, and ticks are coarse
)

const quietHost = "find other work on this machine (top), or give the server at most as many threads as cores; then run again"

// checkHost finds other work on this machine. What a local server did while it waited for CPU in a share f of the time
// took at least 1 − f of it on an idle machine. The load average alone bounds nothing.
func checkHost(e *evidence) result {
	switch {
	case e.Client == nil || e.Window.Seconds() < minWindow:
		return noData
	case localServer(e.Row):
		return checkLocalServer(e)
	}
	h, c := e.Host, e.Client
	if h.Before == nil || h.After == nil || c.CPUMean == nil {
		return noData
	}
	if change := math.Abs(*h.After - *h.Before); change-*c.CPUMean > otherWork*float64(c.MaxProcs) {
		return note("find other work on this machine (top); client lag and CPU steal are checked by themselves (client_bound)",
			"load average changed from %s to %s; this client used %s cores", unit.Brief(*h.Before, 3),
			unit.Brief(*h.After, 3), unit.Brief(*c.CPUMean, 3))
	}
	return passed()
}

func checkLocalServer(e *evidence) result {
	h, w := e.Host, e.Client.CPUWait
	load := ""
	if e.Client.ServerRunDelay == nil { // its own work cannot be told from others'
		if h.Before == nil || h.After == nil || h.Cores == 0 || min(*h.Before, *h.After) <= crowded*float64(h.Cores) {
			return noData
		}
		load = fmt.Sprintf("load average %.3g before and %.3g after the row on %d cores: ", *h.Before, *h.After,
			h.Cores)
	}
	switch {
	case w == nil && load == "":
		return noData
	case w == nil:
		return note(quietHost, "%sthe effect on the local server was not measured (no /proc/pressure/cpu)", load)
	case w.Mean <= waited:
		return passed()
	}
	share := func(r *record.Record) float64 { return waitedFor(w, r) }
	longest := 0.0
	for _, r := range e.records {
		if r.Phase == record.PhaseWindow {
			longest = max(longest, share(r))
		}
	}
	// a share of each request's own values can be the effect's
	effects := each(byFactor(record.Inflated, 1/(1-longest), firstToken, lastToken, betweenIt),
		func(x *Effect) { x.Share = share })
	effects = append(effects, byFactor(record.Lowered, 1/(1-min(w.Mean, mostWaited)), throughputs)...)
	by := map[string]string{"run_delay": "run delay of its threads", "cpu_pressure": "/proc/pressure/cpu",
		"server_cpu_pressure": "cpu.pressure of its cgroup", "other_cores": "CPU time of other processes"}[w.By]
	return caution(quietHost, "%sthe local server waited for CPU in up to %s %% of the time (%s)",
		load, unit.Brief(100*w.Mean, 3), by).touching(each(effects, func(x *Effect) { x.Host = true }))
}

// waitedFor is the largest share of a request's time in which the server can have waited for CPU: from as long before
// its arrival as it took, since it can have waited behind others.
func waitedFor(w *telemetry.CPUWait, r *record.Record) float64 {
	from, to := r.Arrival.Us(), max(r.End.Us(), r.Arrival.Us())
	return min(mostWaited, max(w.Between(from, to), w.Between(2*from-to, to)))
}

// checkIdle finds requests that the row did not send: given up by earlier rows, or another client's. A row gives up
// as many as its concurrency; a server that does not report its requests needs more for a note.
func checkIdle(e *evidence) result {
	s, abandoned := e.Server.Settle, e.Server.Abandoned
	switch {
	case s == nil && abandoned <= e.Summary.Concurrency.Max:
		return noData
	case s == nil:
		return note("collect the server's metrics ([telemetry] server), so that the row waits until the server is idle",
			"the row before gave up %s, and the server does not report whether it still computes them",
			unit.Plural(abandoned, "request"))
	case s.Idle():
		return passed()
	case abandoned > 0 && s.Running+s.Waiting <= float64(abandoned):
		return caution(`write a longer settle (settle = "5m"), or lower the load of the row before`,
			"the row began behind requests that earlier rows gave up: %s", inServer(s)).touching(slowed(nil))
	}
	others := "another client's requests"
	if abandoned > 0 {
		others += fmt.Sprintf(" and at most %d that earlier rows gave up", abandoned)
	}
	return caution("find the other client, or start a server for this run alone ([server]); "+
		"after an interrupted run, wait until its requests have ended",
		"the row began behind %s: %s", others, inServer(s)).touching(slowed(nil))
}

func inServer(s *record.Settle) string {
	return unit.Brief(s.Running, 3) + " running and " + unit.Brief(s.Waiting, 3) + " waiting after " +
		unit.Brief(s.WaitedS, 3) + " s"
}

// EnergyOver is the energy of the row's GPUs over the output tokens of all its requests, or of a class; nil without
// tokens. why: power was read, but it is not that of the row's GPUs. gpus are the target's; 0 = not specified.
func EnergyOver(r *record.Row, s *record.Summary, gpus int) (x *record.Energy, why string) {
	if r.GPU == nil {
		return nil, ""
	}
	joules, read, why := r.GPU.Energy(gpus)
	seconds := r.Window.Seconds()
	tokens := s.Throughput.OutputTokensPerS * seconds
	if joules == 0 || tokens <= 0 {
		return nil, why
	}
	return &record.Energy{GPUs: read, Joules: joules, PowerW: joules / seconds, PerToken: joules / tokens,
		TokensPerJoule: tokens / joules}, ""
}

// checkPower: fewer GPUs than the row's are a mistake, others beside them are not.
func checkPower(e *evidence) result {
	x, why := EnergyOver(e.Row, &e.Summary, e.gpus)
	switch {
	case x != nil:
		return passed()
	case why == "" || e.gpus == 0:
		return unasked
	}
	severity := record.Note
	if _, read, _ := e.GPU.Energy(e.gpus); read < e.gpus {
		severity = record.Caution
	}
	return found(severity, "set [telemetry] gpu to the exporter of the server's machine, or correct gpus in [target]",
		"no energy per token: %s", why)
}
