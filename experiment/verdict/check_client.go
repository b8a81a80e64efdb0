package verdict

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Limits of the client machine. The kernel timestamps arrivals, so a busy client does not move them; its effect on
// the sending is the lag of client_bound.
const (
	// minSamples is one second of samples: a core's share is a count of 10 ms ticks.
	minSamples = 4
	// saturated: the wait for a core grows as 1/(1 − share), and late reads throttle the server by the TCP window.
	saturated = 0.9
	// stolen is the limit of CPU steal, in which not even the kernel takes a timestamp.
	stolen = 0.05
	// lateWakeup, ms: without kernel timestamps a goroutine's read is a token's time.
	lateWakeup = 1
)

func checkClient(e *Measured) checkResult {
	u := e.Client
	if u == nil || u.Samples < minSamples || u.CPUMean == nil {
		return noData
	}
	return e.busyClient().and(e.stolenClient()).and(e.lateReads())
}

// busyClient finds saturated cores; a server on the same cores is late with its first tokens, too.
func (e *Measured) busyClient() checkResult {
	u := e.Client
	if *u.CPUMean <= saturated*float64(u.MaxProcs) {
		return passed()
	}
	hint := "use a client machine with more cores, or lower the load"
	if e.Simulated && !e.Host.Server && e.whole == nil { // the simulated server runs in this process
		hint = "the simulated server runs in this process: start it with bench mock, and sweep with --endpoint"
	}
	effects := unbounded(record.Inflated, betweenIt, lastToken)
	if e.localServer() || e.userStamps() {
		effects = append(effects, unbounded(record.Inflated, firstToken)...)
	}
	return caution(hint, "the client used %s of its %d cores: late reads can slow the server",
		unit.Brief(*u.CPUMean, 3), u.MaxProcs).
		touching(effects, e.thinned())
}

func (e *Measured) stolenClient() checkResult {
	u := e.Client
	if u.Steal == nil || *u.Steal <= stolen {
		return passed()
	}
	const hint = "measure from a machine with dedicated cores"
	share := unit.Brief(100**u.Steal, 3)
	var slower []effect
	if e.localServer() {
		slower = byFactor(record.Inflated, 1/(1-*u.Steal), firstToken, lastToken, betweenIt)
	}
	ms := *u.StealMaxMs
	return caution(hint, "CPU steal %s %%: timestamps up to %s ms late", share, unit.Brief(ms, 3)).
		touching(inMs(record.Inflated, ms, firstToken, lastToken), inMs(record.Unknown, ms, []string{"itl"}),
			e.lateDecode(ms), slower)
}

func (e *Measured) lateReads() checkResult {
	u := e.Client
	if !e.userStamps() || u.SchedP99 == nil || *u.SchedP99 <= lateWakeup {
		return passed()
	}
	most := *u.SchedP99
	if u.SchedMax != nil {
		most = *u.SchedMax
	}
	return caution("measure from Linux with kernel timestamps, or lower the load",
		"no kernel timestamps: token times are late by the scheduler latency, p99 %s ms, max %s ms",
		unit.Brief(*u.SchedP99, 3), unit.Brief(most, 3)).
		touching(inMs(record.Inflated, most, firstToken, lastToken), inMs(record.Unknown, most, []string{"itl"}),
			e.lateDecode(most))
}

func (e *Measured) userStamps() bool { return e.Clock.KernelStamps == 0 && e.Clock.UserStamps > 0 }

func (e *Measured) localServer() bool { return e.Host.Server || e.Simulated }

// lateDecode are the effects on tpot of timestamps that are up to ms late. A first token's can't be later than the
// time since its request was sent.
func (e *Measured) lateDecode(ms float64) []effect {
	part := func(r *record.Record, late float64) float64 { return late / float64(max(1, r.OutputTokens-1)) }
	last := func(r *record.Record) float64 { return part(r, ms) }
	first := func(r *record.Record) float64 {
		ttft, _ := r.Latency("ttft_from_send", true)
		return part(r, min(ms, ttft))
	}
	var mostLast, mostFirst float64
	for r := range record.Completed(e.Records) {
		if _, ok := r.Latency("tpot", e.Spec.Streams()); ok {
			mostLast, mostFirst = max(mostLast, last(r)), max(mostFirst, first(r))
		}
	}
	return append(exactly(record.Inflated, mostLast, last, []string{"tpot"}),
		exactly(record.Lowered, mostFirst, first, []string{"tpot"})...)
}

func checkConnections(e *Measured) checkResult {
	var setup []float64
	n := 0
	for r := range record.Completed(e.Records) {
		n++
		if r.ConnectUs != nil {
			setup = append(setup, ownSetup(r))
		}
	}
	if n == 0 {
		return noData
	}
	if e.Spec.ConnectsPerRequest() { // the row asks for it
		return passed()
	}
	if s := stats.Summarize(setup); s != nil && float64(s.N) > tolerated*float64(n) &&
		s.P50 > tolerated*e.Summary.E2E.P50 {
		return caution("compare only with runs that connect as often; the server may close connections (connections in run.json)",
			"%d of %d requests opened a connection: %s ms at p50, part of ttft and e2e", s.N, n, unit.Brief(s.P50, 3)).
			touching(exactly(record.Inflated, s.Max, ownSetup, fromArrival))
	}
	return passed()
}

// checkStamps finds arrivals without the kernel timestamp that most have: late by the read lag. It is invalid if that
// bound is unknown, of the fewer arrivals, or as large as an answer.
func checkStamps(e *Measured) checkResult {
	c := e.Clock
	if c.KernelStamps == 0 {
		return noData // without kernel timestamps their error is unknown
	}
	if float64(c.UserStamps) <= tolerated*float64(c.KernelStamps) {
		return passed()
	}
	late := c.ReadLagMaxMs
	text := fmt.Sprintf("%d of %d arrivals have no kernel timestamp", c.UserStamps, c.UserStamps+c.KernelStamps)
	const hint = "run again; if it stays, report the kernel version"
	if late <= 0 || c.UserStamps > c.KernelStamps || e.Summary.E2E != nil && late >= e.Summary.E2E.P50 {
		return invalid(hint, "%s: two clocks are mixed", text)
	}
	return caution(hint, "%s: they are up to %s ms late", text, unit.Brief(late, 3)).
		touching(inMs(record.Inflated, late, firstToken, lastToken), inMs(record.Unknown, late, []string{"itl"}),
			e.lateDecode(late))
}
