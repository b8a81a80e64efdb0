package verdict

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// checkLag fails if client lag is above 1 ms and above 5 % of ttft (e2e without streaming), both at p50 or
// both at p99. The set-up of a connection is no lag, and that of a pause has its own finding. A row with
// little lag must also be within the machine's self-test.
func checkLag(e *Measured) checkResult {
	latency := e.Summary.TTFT
	if latency == nil {
		latency = e.Summary.E2E
	}
	var lags []float64
	for r := range record.Completed(e.Records) {
		ms, ok := r.Latency("lag", true)
		if !ok || during(r, e.disturbed.paused) {
			continue
		}
		if r.ConnectUs != nil {
			ms -= float64(*r.ConnectUs) / 1e3
		}
		lags = append(lags, ms)
	}
	lag := stats.Summarize(lags)
	if lag == nil || latency == nil {
		return noData
	}
	const share = 0.05
	for _, p := range []string{"p50", "p99"} {
		x, _ := lag.Get(p)
		whole, _ := latency.Get(p)
		if limit := max(1, share*whole); x > limit {
			return failed("use a larger client machine, or lower the load (bench selftest --save measures this machine's limit); "+
				"a local server competes for the client's cores",
				"client lag %s is %s ms (limit %s ms)", p, unit.Brief(x, 3), unit.Brief(limit, 3))
		}
	}
	return e.withinSelftest()
}

// clientLoad is the row's load on the client, in the terms of a self-test.
func clientLoad(s *record.Summary) selftest.Load {
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

// withinSelftest fails if the row's load exceeds this machine's calibration. It passes without a self-test,
// and with one that had the other kind of timestamps.
func (e *Measured) withinSelftest() checkResult {
	t := e.Selftest
	load := clientLoad(&e.Summary)
	if t == nil {
		return passed()
	}
	nearest := t.Nearest(load)
	if nearest == nil || (nearest.Stamps() == "user") != (e.Clock.Stamps == "user") || t.Covers(load) {
		return passed()
	}
	errors := unit.Format(nearest.First.P99Us/1e3, "ms") + " of the first token"
	if nearest.Gap != nil {
		errors += " and " + unit.Format(nearest.Gap.P99Us/1e3, "ms") + " of the gaps"
	}
	return failed(fmt.Sprintf("lower the load, or use a larger client machine; to calibrate further: bench selftest --save --streams 10,100,%d --rates %.0f",
		max(load.Streams, 1), max(math.Ceil(load.RequestsPerS), 1)),
		"the load, %s, exceeds this machine's calibration, %s: at the nearest step, %s, the error was p99 %s",
		load, t.Calibration.Load, nearest.Name(), errors)
}
