package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/selftest"
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

func checkClient(e *evidence) result {
	u := e.Client
	if u == nil || u.Samples < minSamples || u.CPUMean == nil {
		return noData
	}
	return e.busyClient().and(e.stolenClient()).and(e.lateReads())
}

// busyClient finds saturated cores; a server on the same cores is late with its first tokens, too.
func (e *evidence) busyClient() result {
	u := e.Client
	if *u.CPUMean <= saturated*float64(u.MaxProcs) {
		return passed()
	}
	hint := "use a client machine with more cores, or lower the load"
	if e.Simulated && !e.Host.Server && e.whole == nil { // the simulated server runs in this process
		hint = "the simulated server runs in this process: start it with bench mock, and sweep with --endpoint"
	}
	effects := unbounded(record.Inflated, betweenIt, lastToken)
	if localServer(e.Row) || userStamps(e.Clock) {
		effects = append(effects, unbounded(record.Inflated, firstToken)...)
	}
	return caution(hint, "the client used %s of its %d cores: late reads can slow the server",
		unit.Brief(*u.CPUMean, 3), u.MaxProcs).
		touching(effects, e.thinned())
}

func (e *evidence) stolenClient() result {
	u := e.Client
	if u.Steal == nil || *u.Steal <= stolen {
		return passed()
	}
	const hint = "measure from a machine with dedicated cores"
	share := unit.Brief(100**u.Steal, 3)
	var slower []Effect
	if localServer(e.Row) {
		slower = byFactor(record.Inflated, 1/(1-*u.Steal), firstToken, lastToken, betweenIt)
	}
	ms := *u.StealMaxMs
	return caution(hint, "CPU steal %s %%: timestamps up to %s ms late", share, unit.Brief(ms, 3)).
		touching(lateStamps(e, ms), slower)
}

func (e *evidence) lateReads() result {
	u := e.Client
	if !userStamps(e.Clock) || u.SchedP99 == nil || *u.SchedP99 <= lateWakeup {
		return passed()
	}
	most := *cmp.Or(u.SchedMax, u.SchedP99)
	return caution("measure from Linux with kernel timestamps, or lower the load",
		"no kernel timestamps: token times are late by the scheduler latency, p99 %s ms, max %s ms",
		unit.Brief(*u.SchedP99, 3), unit.Brief(most, 3)).touching(lateStamps(e, most))
}

func userStamps(c record.Clock) bool { return c.KernelStamps == 0 && c.UserStamps > 0 }

func localServer(r *record.Row) bool { return r.Host.Server || r.Simulated }

// lateStamps are the effects of timestamps that are up to ms late.
func lateStamps(e *evidence, ms float64) []Effect {
	return slices.Concat(inMs(record.Inflated, ms, firstToken, lastToken),
		inMs(record.Unknown, ms, []string{"itl"}), lateDecode(e, ms))
}

// lateDecode are the effects on tpot of timestamps that are up to ms late. A first token's can't be later than the
// time since its request was sent.
func lateDecode(e *evidence, ms float64) []Effect {
	part := func(r *record.Record, late float64) float64 {
		if _, ok := r.Latency("tpot", e.Spec.Streams()); !ok {
			return 0
		}
		return late / float64(max(1, r.OutputTokens-1))
	}
	last := func(r *record.Record) float64 { return part(r, ms) }
	first := func(r *record.Record) float64 {
		ttft, _ := r.Latency("ttft_from_send", true)
		return part(r, min(ms, ttft))
	}
	return append(exactly(record.Inflated, most(record.Completed(e.records), last), last, []string{"tpot"}),
		exactly(record.Lowered, most(record.Completed(e.records), first), first, []string{"tpot"})...)
}

func checkConnections(e *evidence) result {
	var setup []float64
	n := 0
	for r := range record.Completed(e.records) {
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
		e.Summary.E2E != nil && s.P50 > tolerated*e.Summary.E2E.P50 { // without: no answer had a token
		return caution("compare only with runs that connect as often; "+
			"the server may close connections (connections in run.json)",
			"%d of %d requests opened a connection: %s ms at p50, part of ttft and e2e", s.N, n, unit.Brief(s.P50, 3)).
			touching(exactly(record.Inflated, s.Max, ownSetup, fromArrival))
	}
	return passed()
}

// checkStamps finds arrivals without the kernel timestamp that most have: late by the read lag. It is invalid if that
// bound is unknown, of the fewer arrivals, or as large as an answer.
func checkStamps(e *evidence) result {
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
	return caution(hint, "%s: they are up to %s ms late", text, unit.Brief(late, 3)).touching(lateStamps(e, late))
}

// checkLag finds client lag above 1 ms and above 5 % of ttft (e2e without streaming), at p50 or at the highest
// percentile that the requests support. A row with little lag must also be within the machine's self-test.
func checkLag(e *evidence) result {
	latency := e.Summary.TTFT
	if latency == nil {
		latency = e.Summary.E2E
	}
	var lags []float64
	for r := range record.Completed(e.records) {
		if _, ok := r.Latency("lag", true); ok && !during(r, e.disturbed.paused) {
			lags = append(lags, ownLag(r))
		}
	}
	lag := stats.Summarize(lags)
	if lag == nil || latency == nil {
		return noData
	}
	const share = 0.05
	for _, p := range []string{"p50", supported(lag.N)} {
		x, _ := lag.Get(p)
		whole, _ := latency.Get(p)
		if x > max(1, share*whole) {
			return caution("use a larger client machine, or lower the load "+
				"(bench selftest --save measures this machine's limit); a local server competes for the client's cores",
				"client lag %s %s ms is part of ttft and e2e", p, unit.Brief(x, 3)).
				touching(exactly(record.Inflated, lag.Max, ownLag, fromArrival), e.thinned())
		}
	}
	return withinSelftest(e)
}

// supported is the highest percentile up to p99 with an upper bound at 95 % confidence for n values, else p50.
func supported(n int) string {
	for _, x := range []struct {
		name string
		p    float64
	}{{"p99", 0.99}, {"p95", 0.95}, {"p90", 0.9}} {
		if n >= stats.MinSamples(x.p, 0.95) {
			return x.name
		}
	}
	return "p50"
}

func ownLag(r *record.Record) float64 {
	ms, _ := r.Latency("lag", true)
	return ms - ownSetup(r)
}

func ownSetup(r *record.Record) float64 {
	if r.ConnectUs == nil {
		return 0
	}
	return float64(*r.ConnectUs) / record.UsPerMs
}

// ClientLoad is what a row asked of its client.
func ClientLoad(s *record.Summary) selftest.Load {
	l := selftest.Load{Streams: s.Concurrency.Max, RequestsPerS: s.Throughput.RequestsPerS}
	if s.DurationS > 0 {
		l.RequestsPerS = max(l.RequestsPerS, float64(s.Requests.Sent)/s.DurationS)
	}
	l.EventsPerS = l.RequestsPerS // without streaming an answer is one event
	if s.TokensPerEvent > 0 {
		l.EventsPerS = s.Throughput.OutputTokensPerS / s.TokensPerEvent
	}
	return l
}

func withinSelftest(e *evidence) result {
	t := e.Selftest
	if t == nil {
		return passed()
	}
	load := ClientLoad(&e.Summary)
	nearest := t.Nearest(load)
	if nearest == nil || (nearest.Stamps() == "user") != (e.Clock.Stamps == "user") || t.Covers(load) {
		return passed()
	}
	late := nearest.First.MaxUs / record.UsPerMs
	effects := inMs(record.Inflated, late, firstToken, lastToken)
	errors := unit.Format(nearest.First.P99Us/1e3, "ms") + " of the first token"
	if nearest.Gap != nil {
		errors += " and " + unit.Format(nearest.Gap.P99Us/1e3, "ms") + " of the gaps"
		effects = append(effects, inMs(record.Unknown, max(nearest.Gap.MaxUs, -nearest.Gap.MinUs)/record.UsPerMs,
			[]string{"itl"})...)
		effects = append(effects, lateDecode(e, late)...)
	}
	return caution(fmt.Sprintf("lower the load, or use a larger client machine; "+
		"to calibrate further: bench selftest --save --streams 10,100,%d --rates %.0f",
		max(load.Streams, 1), max(math.Ceil(load.RequestsPerS), 1)),
		"the load, %s, exceeds this machine's calibration, %s: at the nearest step, %s, the error was p99 %s",
		load, t.Calibration.Load, nearest.Name(), errors).touching(effects)
}

const (
	// lossy is a tenth of the share that would move p99: a loss delays its stream by a round trip, or by 200 ms.
	lossy     = 0.001
	minLosses = 5
)

// checkNetwork tests the TCP counters of bench's own connections. A segment out of order means that one before it was
// late or lost.
func checkNetwork(e *evidence) result {
	s := e.Connections.Sockets
	if s == nil || s.SegmentsOut == 0 && s.SegmentsIn == 0 {
		return noData
	}
	const hint = "measure on a quiet network, or on the server's host; ss -tin shows the connections (retrans, rcv_ooopack)"
	again := max(0, s.Retransmits-s.Needless) // tail loss probes to a slow server are needless
	f := passed()
	if losing(again, s.SegmentsOut) {
		f = caution(hint, "%d of %d TCP segments of the requests were retransmitted: these requests arrived late",
			again, s.SegmentsOut).
			touching(onRequests(record.Inflated, int(again), firstToken, lastToken))
	}
	if losing(s.OutOfOrder, s.SegmentsIn) {
		return f.and(caution(hint,
			"%d of %d TCP segments of the answers arrived out of order: some were lost, and their streams stalled",
			s.OutOfOrder, s.SegmentsIn).
			touching(onRequests(record.Inflated, int(s.OutOfOrder), firstToken, lastToken),
				onRequests(record.Unknown, int(s.OutOfOrder), betweenIt))) // a late first token lowers tpot
	}
	return f
}

func losing(n, of int64) bool { return n >= minLosses && float64(n) > lossy*float64(of) }
