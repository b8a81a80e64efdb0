package verdict

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

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
func checkHost(e *Measured) checkResult {
	switch {
	case e.Client == nil || e.Window.Seconds() < minWindow:
		return noData
	case e.localServer():
		return e.checkLocalServer()
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

func (e *Measured) checkLocalServer() checkResult {
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
	most := 0.0
	for _, r := range e.Records {
		if r.Phase == record.PhaseWindow {
			most = max(most, e.waitedFor(r))
		}
	}
	effects := slices.Concat(byShare(record.Inflated, most, e.waitedFor, firstToken, lastToken, betweenIt),
		byFactor(record.Lowered, 1/(1-min(w.Mean, mostWaited)), throughputs))
	for i := range effects {
		effects[i].host = true
	}
	return caution(quietHost, "%sthe local server waited for CPU in up to %s %% of the time (%s)",
		load, unit.Brief(100*w.Mean, 3), waitedBy(w)).touching(effects)
}

func waitedBy(w *telemetry.CPUWait) string {
	return map[string]string{"run_delay": "run delay of its threads", "cpu_pressure": "/proc/pressure/cpu",
		"server_cpu_pressure": "cpu.pressure of its cgroup", "other_cores": "CPU time of other processes"}[w.By]
}

// waitedFor is the largest share of a request's time in which the server can have waited for CPU: from as long before
// its arrival as it took, since it can have waited behind others.
func (e *Measured) waitedFor(r *record.Record) float64 {
	from, to := r.Arrival.Us(), max(r.End.Us(), r.Arrival.Us())
	w := e.Client.CPUWait
	return min(mostWaited, max(w.Between(from, to), w.Between(2*from-to, to)))
}

// withoutHost is the row with the values that it had on this machine: without the effects of other work on it.
func (e *Measured) withoutHost() (row *Measured, busy bool) {
	row = &Measured{Row: e.Row}
	for _, x := range e.effects {
		if !x.host {
			row.effects = append(row.effects, x)
		}
	}
	return row, len(row.effects) < len(e.effects)
}
