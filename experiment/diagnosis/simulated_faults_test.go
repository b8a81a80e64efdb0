package diagnosis

import (
	"math"
	"time"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// before is what a request spends before the server's scheduler has it.
func (s *setting) before() time.Duration {
	return time.Duration((s.gatewayMs + s.frontendMs) * float64(time.Millisecond))
}

// serverTime is the time of a server that stands still in a stall: nothing happens in it.
func (s *setting) serverTime(at time.Duration) time.Duration {
	from := after + s.stallAfter
	switch {
	case s.stallFor == 0 || at <= from:
		return at
	case at < from+s.stallFor:
		return from
	}
	return at - s.stallFor
}

// clientTime is when the client sees what happens at a time of the server.
func (s *setting) clientTime(at time.Duration) time.Duration {
	if s.stallFor > 0 && at > after+s.stallAfter {
		return at + s.stallFor
	}
	return at
}

// fail makes failures of what a server that dies, or answers some requests with an error, did not complete.
func (s *setting) fail(records []*record.Record) {
	for i, r := range records {
		dead := s.diesAfter > 0 && float64(r.End.Us()) > s.diesAfter*1e6
		switch {
		case dead && float64(r.Sent.Us()) < s.diesAfter*1e6:
			end := record.At(int64(s.diesAfter * 1e6))
			*r = record.Record{I: r.I, Phase: r.Phase, Arrival: r.Arrival, Ready: r.Ready, Sent: r.Sent, End: end, PromptRequested: r.PromptRequested,
				OutputRequested: r.OutputRequested, Outcome: "truncated", Error: "the connection was lost"}
		case dead:
			*r = record.Record{I: r.I, Phase: r.Phase, Arrival: r.Arrival, Ready: r.Ready, Sent: r.Sent, End: r.Sent.Add(500), PromptRequested: r.PromptRequested,
				OutputRequested: r.OutputRequested, Outcome: "connect", Error: "connection refused"}
		case s.fails > 0 && math.Mod(float64(i)*0.6180339887, 1) < s.fails: // spread evenly
			*r = record.Record{I: r.I, Phase: r.Phase, Arrival: r.Arrival, Ready: r.Ready, Sent: r.Sent, End: r.Sent.Add(3000), PromptRequested: r.PromptRequested,
				OutputRequested: r.OutputRequested, Outcome: "status", Status: 500, Error: "HTTP 500: internal error"}
		}
	}
}

// thinned keeps as many readings of the server as a slow metrics page gives, in the middle of the load.
func (s *setting) thinned(samples []telemetry.Sample) []telemetry.Sample {
	if s.readings == 0 {
		return samples
	}
	var out []telemetry.Sample
	kept := 0
	for _, x := range samples {
		if x.Source == telemetry.SourceServer && (x.TUs < 30_000_000 || kept == s.readings) {
			continue
		}
		if x.Source == telemetry.SourceServer {
			kept++
		}
		out = append(out, x)
	}
	return out
}

// serverTimes is what a server with histograms of its own times reports: its queue and its prefill are one here.
func (s *setting) serverTimes(records []*record.Record) telemetry.ServerTimes {
	var sum, n float64
	for _, r := range records {
		if first, ok := r.First.Get(); ok {
			sum, n = sum+float64(first-r.Sent.Us())/1e3, n+1
		}
	}
	of := func(ms float64) *telemetry.ServerTime { return &telemetry.ServerTime{N: int(n), Mean: ms} }
	inside := sum/n - s.gatewayMs
	return telemetry.ServerTimes{TTFT: of(inside), Queue: of(0), Prefill: of(inside - s.frontendMs)}
}
