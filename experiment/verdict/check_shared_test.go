package verdict

import (
	"strings"
	"testing"

	"bench/experiment/telemetry"
)

// A page that counts too few of this client's tokens belongs to another server, whatever its gauges show.
func TestPageOfAnotherServer(t *testing.T) {
	for _, tt := range []struct {
		share float64
		found bool
	}{{0, true}, {0.5, true}, {1, false}, {3, false}} {
		e := flawless()
		own := 0
		for _, r := range e.Records {
			own += r.OutputTokens
		}
		e.Server.Metrics.Whole = &telemetry.ServerCounts{GenerationTokens: new(tt.share * float64(own))}
		r := checkShared(e)
		if found := strings.Contains(r.problem, "belongs to another server"); found != tt.found {
			t.Errorf("a page with %g of the tokens: %q", tt.share, r.problem)
		}
	}
}

// A server counts a cut request if it computed its prompt: its counters are of this row with it or without.
func TestCountedHitsWithCutRequests(t *testing.T) {
	for _, tt := range []struct {
		prompts float64 // of all but the cut one, which has 300 more
		counted int     // requests
	}{{0, 0}, {29_000, 0}, {30_000, 100}, {30_300, 101}, {31_000, 0}} {
		e := flawless()
		e.Records = e.Records[1:]
		for i, r := range e.Records {
			r.I, r.PromptTokens = i, new(300)
		}
		cut := *e.Records[0]
		cut.I, cut.PromptTokens, cut.PromptRequested = 1000, nil, 300
		e.Records = append(e.Records, &cut)
		e.Server.Metrics.PrefixUnit = "tokens"
		e.Server.Metrics.Whole = &telemetry.ServerCounts{PromptTokens: &tt.prompts, PrefixHits: new(1280.0)}
		if hits, of := e.countedHits(); len(of) != tt.counted || (len(of) > 0) != (hits == 1280) {
			t.Errorf("%g prompt tokens: %d hits of %d requests, want %d", tt.prompts, hits, len(of), tt.counted)
		}
	}
}
