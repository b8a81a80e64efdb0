package verdict

import (
	"bench/experiment/unit"
)

// Limits of what the client's machine may be seen to do. Arrivals are stamped by the kernel, so a busy
// client does not move them, and what it does to its sending is the lag of client_bound: run_delay, a busy
// core, GC pauses and, with kernel stamps, scheduler latency are information, not findings.
const (
	// fewestSamples of a window, one second's worth: fewer tell of a moment, and a core's share is a
	// count of 10 ms ticks.
	fewestSamples = 4
	// saturated is the share of its cores above which the client is taken for the bottleneck: what waits
	// for a core grows as 1/(1 − share). A closed loop then hands its slots over late, which no record
	// shows, and reads late enough to hold the server back by TCP's window.
	saturated = 0.9
	// stolen is the share of the cores' time that may go to other virtual machines. No stamp is taken in
	// it, the kernel's neither: one arrival in twenty late is a p95 in finding.
	stolen = 0.05
	// lateWakeup is in ms: without kernel stamps a token's time is when a goroutine got to read it, and an
	// error of 1 ms at p99 is the most that a client is believed with.
	lateWakeup = 1
	// lossy is the share of segments that may be lost: each holds its stream up by a round trip, or by
	// 200 ms where it was the last. A tenth of what would move a p99.
	lossy = 0.001
	// fewestLosses tell of a path, fewer of chance.
	fewestLosses = 5
)

func checkClient(e *Measured) checkResult {
	u := e.Client
	if u == nil || u.Samples < fewestSamples || u.CPUMean == nil {
		return noData
	}
	switch user := e.Clock.KernelStamps == 0 && e.Clock.UserStamps > 0; {
	case *u.CPUMean > saturated*float64(u.MaxProcs):
		hint := "use a client machine with more cores, or lower the load"
		if e.Simulated && !e.Host.Server { // one beside this process is another matter
			hint = "the simulated server shares this process: start it with bench mock, and sweep with --endpoint"
		}
		return failed(hint, "the client used %s of the %d cores that it may use: it may have held the load back", unit.Brief(*u.CPUMean, 3), u.MaxProcs)
	case u.Steal != nil && *u.Steal > stolen:
		return failed("measure from a machine whose cores are its own", "other virtual machines took %s %% of the cores' time: what arrived in it was stamped late", unit.Brief(100**u.Steal, 3))
	case user && u.SchedP99 != nil && *u.SchedP99 > lateWakeup:
		return failed("measure from Linux, where the kernel stamps arrivals, or lower the load",
			"tokens were stamped when they were read, and readers waited up to %s ms (p99) for a core", unit.Brief(*u.SchedP99, 3))
	}
	return passed()
}

// checkNetwork can't tell whose segments were lost: the system counts those of all connections, and
// between two ends on one machine those of both.
func checkNetwork(e *Measured) checkResult {
	u := e.Client
	if u == nil || u.Samples < fewestSamples || u.Retransmits == nil || u.SegmentsOut == nil || *u.SegmentsOut == 0 {
		return noData
	}
	const hint = "look for the connection that loses them: ss -tin (retrans, reord_seen); measure on a quiet network, or on the server's host"
	again := *u.Retransmits
	if u.Needless != nil { // probes of a sender whose peer was slow to answer: two busy ends on one machine send many
		again -= *u.Needless
	}
	if losing(again, *u.SegmentsOut) {
		return failed(hint, "%d of %d TCP segments were lost and sent again in the window, over all of this machine's connections: their streams stood still meanwhile",
			again, *u.SegmentsOut)
	}
	if u.OutOfOrder != nil && u.SegmentsIn != nil && losing(*u.OutOfOrder, *u.SegmentsIn) {
		return failed(hint, "%d of %d TCP segments came out of order in the window, over all of this machine's connections: others were lost or overtaken",
			*u.OutOfOrder, *u.SegmentsIn)
	}
	return passed()
}

func losing(n, of int64) bool { return n >= fewestLosses && float64(n) > lossy*float64(of) }
