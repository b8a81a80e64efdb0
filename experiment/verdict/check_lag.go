package verdict

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// checkLag finds client lag above 1 ms and above 5 % of ttft (e2e without streaming), at p50 or at the highest
// percentile that the requests support. A row with little lag must also be within the machine's self-test.
func checkLag(e *Measured) checkResult {
	latency := e.Summary.TTFT
	if latency == nil {
		latency = e.Summary.E2E
	}
	var lags []float64
	for r := range record.Completed(e.Records) {
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
			return caution("use a larger client machine, or lower the load (bench selftest --save measures this machine's limit); "+
				"a local server competes for the client's cores",
				"client lag %s %s ms is part of ttft and e2e", p, unit.Brief(x, 3)).
				touching(exactly(record.Inflated, lag.Max, ownLag, fromArrival), e.thinned())
		}
	}
	return e.withinSelftest()
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
	late := nearest.First.MaxUs / record.UsPerMs
	effects := inMs(record.Inflated, late, firstToken, lastToken)
	errors := unit.Format(nearest.First.P99Us/1e3, "ms") + " of the first token"
	if nearest.Gap != nil {
		errors += " and " + unit.Format(nearest.Gap.P99Us/1e3, "ms") + " of the gaps"
		effects = append(effects, inMs(record.Unknown, max(nearest.Gap.MaxUs, -nearest.Gap.MinUs)/record.UsPerMs,
			[]string{"itl"})...)
		effects = append(effects, e.lateDecode(late)...)
	}
	return caution(fmt.Sprintf("lower the load, or use a larger client machine; to calibrate further: bench selftest --save --streams 10,100,%d --rates %.0f",
		max(load.Streams, 1), max(math.Ceil(load.RequestsPerS), 1)),
		"the load, %s, exceeds this machine's calibration, %s: at the nearest step, %s, the error was p99 %s",
		load, t.Calibration.Load, nearest.Name(), errors).touching(effects)
}
