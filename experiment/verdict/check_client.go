package verdict

import (
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Limits of the client machine. The kernel timestamps arrivals, so a busy client does not move them, and its
// effect on the sending is the lag of client_bound: run_delay, a busy core, GC pauses and, with kernel
// timestamps, scheduler latency are no findings.
const (
	// minSamples is one second of samples: a core's share is a count of 10 ms ticks.
	minSamples = 4
	// saturated is the share of its cores above which the client may be the bottleneck: the wait for a core
	// grows as 1/(1 − share). The workers of a closed loop then take their next request late, which no record
	// shows, and late reads throttle the server by the TCP window.
	saturated = 0.9
	// stolen is the limit of CPU steal. No timestamp is taken meanwhile, not even the kernel's: at 5 % one
	// arrival in twenty is late, and p95 is wrong.
	stolen = 0.05
	// lateWakeup, ms: without kernel timestamps a token's time is when a goroutine reads it. 1 ms at p99 is
	// the largest accepted error.
	lateWakeup = 1
	// lossy is the largest share of lost segments. A loss delays its stream by a round trip, the last one by
	// 200 ms. A tenth of the share that would move p99.
	lossy = 0.001
	// minLosses is the smallest number of losses that is not chance.
	minLosses = 5
)

// checkClient tests whether the client's cores were saturated, stolen, or late to read.
func checkClient(e *Measured) checkResult {
	u := e.Client
	if u == nil || u.Samples < minSamples || u.CPUMean == nil {
		return noData
	}
	switch user := e.Clock.KernelStamps == 0 && e.Clock.UserStamps > 0; {
	case *u.CPUMean > saturated*float64(u.MaxProcs):
		hint := "use a client machine with more cores, or lower the load"
		if e.Simulated && !e.Host.Server { // the simulated server runs in this process
			hint = "the simulated server runs in this process: start it with bench mock, and sweep with --endpoint"
		}
		return failed(hint, "the client used %s of its %d cores: it may have limited the load", unit.Brief(*u.CPUMean, 3), u.MaxProcs)
	case u.Steal != nil && *u.Steal > stolen:
		return failed("measure from a machine with dedicated cores", "CPU steal %s %%: timestamps of that time are late", unit.Brief(100**u.Steal, 3))
	case user && u.SchedP99 != nil && *u.SchedP99 > lateWakeup:
		return failed("measure from Linux with kernel timestamps, or lower the load",
			"no kernel timestamps: token times are late by the scheduler latency, p99 %s ms", unit.Brief(*u.SchedP99, 3))
	}
	return passed()
}

// checkNetwork tests the machine's TCP counters. They cover all connections, and both ends of a local one.
func checkNetwork(e *Measured) checkResult {
	u := e.Client
	if u == nil || u.Samples < minSamples || u.Retransmits == nil || u.SegmentsOut == nil || *u.SegmentsOut == 0 {
		return noData
	}
	const hint = "find the connection with ss -tin (retrans, reord_seen); measure on a quiet network, or on the server's host"
	again := *u.Retransmits
	if u.Needless != nil { // tail loss probes to a slow peer: two busy ends on one machine send many
		again -= *u.Needless
	}
	if losing(again, *u.SegmentsOut) {
		return failed(hint, "%d of %d TCP segments were retransmitted in the window (all connections of this machine): their streams stalled",
			again, *u.SegmentsOut)
	}
	if u.OutOfOrder != nil && u.SegmentsIn != nil && losing(*u.OutOfOrder, *u.SegmentsIn) {
		return failed(hint, "%d of %d TCP segments arrived out of order in the window (all connections of this machine): some were lost",
			*u.OutOfOrder, *u.SegmentsIn)
	}
	return passed()
}

func losing(n, of int64) bool { return n >= minLosses && float64(n) > lossy*float64(of) }

// checkConnections fails if requests had to open a connection, which an application keeps open.
func checkConnections(e *Measured) checkResult {
	var setup []float64
	n := 0
	for r := range record.Completed(e.Records) {
		n++
		if r.ConnectUs != nil {
			setup = append(setup, float64(*r.ConnectUs)/1e3)
		}
	}
	if n == 0 {
		return noData
	}
	if e.Spec.ConnectsPerRequest() { // the row asks for it
		return passed()
	}
	if s := stats.Summarize(setup); s != nil && float64(s.N) > tolerated*float64(n) && s.P50 > tolerated*e.Summary.E2E.P50 {
		return failed("compare only with runs that connect as often; the server may close connections (connections in run.json)",
			"%d of %d requests opened a connection: %s ms at p50, part of ttft and e2e", s.N, n, unit.Brief(s.P50, 3))
	}
	return passed()
}

// checkStamps fails if some arrivals have a kernel timestamp and others do not.
func checkStamps(e *Measured) checkResult {
	c := e.Clock
	switch {
	case c.KernelStamps == 0:
		return noData // without kernel timestamps their error is unknown
	case float64(c.UserStamps) > tolerated*float64(c.KernelStamps):
		return failed("run again; if it stays, report the kernel version",
			"%d of %d arrivals have no kernel timestamp: two clocks are mixed", c.UserStamps, c.UserStamps+c.KernelStamps)
	}
	return passed()
}
