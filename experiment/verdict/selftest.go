package verdict

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/unit"
)

// clientLoad is what the row asked of the client: its own load, to be held against that of a self-test.
func clientLoad(s *record.Summary) selftest.Load {
	l := selftest.Load{Streams: s.Concurrency.Max, RequestsPerS: s.Throughput.RequestsPerS}
	if s.DurationS > 0 {
		l.RequestsPerS = max(l.RequestsPerS, float64(s.Requests.Sent)/s.DurationS)
	}
	l.EventsPerS = l.RequestsPerS // an answer in one piece is one event
	if s.TokensPerEvent > 0 {
		l.EventsPerS = s.Throughput.OutputTokensPerS / s.TokensPerEvent
	}
	return l
}

// withinSelftest compares the row's load with the one up to which this machine's stamps were found to be right. Without a
// self-test, or with one of the other kind of stamps, the lag is all there is to go by.
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
	return failed(fmt.Sprintf("lower the load, or use a larger client machine; if the self-test did not go so far: bench selftest --save --streams 10,100,%d --rates %.0f",
		max(load.Streams, 1), max(math.Ceil(load.RequestsPerS), 1)),
		"the load, %s, is above what the self-test of this machine believes, %s: at its nearest step, %s, the error was p99 %s", load, t.Calibration.Load, nearest.Name(), errors)
}
