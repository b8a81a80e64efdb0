package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bench/experiment/unit"
)

// Limits of what may be seen of the server, its GPUs and this machine.
const (
	fewestReadings = 5    // of a page: fewer say little of a window
	strangers      = 0.1  // share of the requests in the server that may be nobody's of ours
	Slowed         = 0.01 // share of the readings in which a GPU may be held down by heat or by its supply
	chatty         = 0.5  // lines of a server's log for each request
	otherWork      = 0.25 // share of this machine's cores by which its load may change, its own left out
	crowded        = 2.0  // processes for each core that wait or run, at both ends: a server here gets half of what it could use, or less
	leastWindow    = 10.0 // seconds; the load average follows slowly
)

// checkRestarted asks whether the server began anew: its caches are then cold, whatever the row means.
func checkRestarted(e *Measured) checkResult {
	m := e.Server.Metrics
	if m == nil || m.GenerationTokens == nil && m.PromptTokens == nil {
		return noData
	}
	if m.Resets > 0 {
		return failed("look at the server's log for its end, then run again", "the server's counters fell back %d times in the window: it began anew", m.Resets)
	}
	return passed()
}

// checkShared compares what the server had and wrote with what this client had of it. Readings are a second apart: bursts of our
// own can fall on them, so that too many requests are no proof where the tokens written are ours; and where they are not
// counted, only more requests than we ever had at once are. One that the client gave up may run on in the server.
func checkShared(e *Measured) checkResult {
	m := e.Server.Metrics
	if m == nil || m.Running == nil || m.Samples < fewestReadings || e.Summary.ErrorRate > tolerated {
		return noData
	}
	inside, ours := m.Running.Mean, e.Summary.Concurrency.Mean
	if m.Waiting != nil {
		inside += m.Waiting.Mean
	}
	most := (1+strangers)*ours + 1
	if m.GenerationTokens != nil {
		if written := e.Summary.Throughput.OutputTokensPerS * e.Summary.DurationS; *m.GenerationTokens <= (1+strangers)*written {
			return passed()
		}
	} else {
		most = float64(e.Summary.Concurrency.Max)
	}
	if inside > most {
		return failed("find who else uses the server, or start one for this run alone ([server])",
			"the server had %s requests on average, %s of them from here: somebody else uses it", unit.Brief(inside, 3), unit.Brief(ours, 3))
	}
	return passed()
}

// checkLogs asks whether the server logs every request, which takes its time.
func checkLogs(e *Measured) checkResult {
	if e.Server.LogLines == nil || e.Summary.Requests.Sent == 0 {
		return noData
	}
	n := e.Summary.Requests.Sent + e.Summary.Requests.Warmup
	if lines := *e.Server.LogLines; lines > fewestReadings && float64(lines) > chatty*float64(n) {
		return failed("turn its request log off (vLLM: --disable-log-requests and --uvicorn-log-level warning; SGLang: --log-level warning), or compare only with runs that log as much",
			"the server wrote %d lines to its log for %d requests", lines, n)
	}
	return passed()
}

// slowing are the reasons that slow a GPU against everybody's will. A power cap is a setting like any other.
var Slowing = []string{"hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"}

func checkThrottled(e *Measured) checkResult {
	if e.GPU == nil {
		return noData
	}
	known := false
	var held []string
	for _, d := range e.GPU.Devices {
		known = known || d.Known
		for _, reason := range slices.Sorted(maps.Keys(d.Throttled)) {
			if share := d.Throttled[reason]; share > Slowed && slices.Contains(Slowing, reason) {
				held = append(held, fmt.Sprintf("GPU %s by %s in %s %% of the readings", d.GPU, reason, unit.Brief(100*share, 3)))
			}
		}
	}
	switch {
	case !known:
		return noData
	case len(held) > 0:
		return failed("look at its cooling and power supply (nvidia-smi -q -d PERFORMANCE,TEMPERATURE), then run again", "clocks were held down: %s", strings.Join(held, ", "))
	}
	return passed()
}

func checkGPUProcesses(e *Measured) checkResult {
	if e.GPU == nil || e.GPU.Before == nil || e.GPU.After == nil {
		return noData
	}
	came, gone := e.GPU.Changed()
	var parts []string
	if len(came) > 0 {
		parts = append(parts, strings.Join(came, ", ")+" came")
	}
	if len(gone) > 0 {
		parts = append(parts, strings.Join(gone, ", ")+" went")
	}
	if len(parts) > 0 {
		return failed("keep others off the GPUs (nvidia-smi shows them), then run again", "the processes on the GPUs changed in the course of the row: %s", strings.Join(parts, "; "))
	}
	return passed()
}

// checkHost asks whether other work came to this machine or went. Where the server runs here too, its work can't be told from
// that of others; but where there is twice the work that the cores can do, the server waited for them, whosever it is.
func checkHost(e *Measured) checkResult {
	h, c := e.Host, e.Client
	switch {
	case h.Before == nil || h.After == nil || c == nil || c.CPUMean == nil || e.Window.Seconds() < leastWindow:
		return noData
	case h.Server && h.Cores > 0 && min(*h.Before, *h.After) > crowded*float64(h.Cores):
		return failed("find what else runs on this machine (top), or give the server no more threads than it has cores; then run again",
			"the load of this machine was %.3g before the row and %.3g after it, for %d cores: the server, which runs here too, waited for them", *h.Before, *h.After, h.Cores)
	case h.Server:
		return noData
	}
	if change := math.Abs(*h.After - *h.Before); change-*c.CPUMean > otherWork*float64(c.MaxProcs) {
		return failed("find what else runs on this machine (top), then run again",
			"the load of this machine went from %s to %s, of which %s are this client's", unit.Brief(*h.Before, 3), unit.Brief(*h.After, 3), unit.Brief(*c.CPUMean, 3))
	}
	return passed()
}
