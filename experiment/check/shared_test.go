package check

import (
	"strings"
	"testing"

	"bench/experiment/record"
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
		for _, r := range e.records {
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
		e.records = e.records[1:]
		for i, r := range e.records {
			r.I, r.PromptTokens = i, new(300)
		}
		cut := *e.records[0]
		cut.I, cut.PromptTokens, cut.PromptRequested = 1000, nil, 300
		e.records = append(e.records, &cut)
		e.Server.Metrics.PrefixUnit = "tokens"
		e.Server.Metrics.Whole = &telemetry.ServerCounts{PromptTokens: &tt.prompts, PrefixHits: new(1280.0)}
		if hits, of := countedHits(e.Row, e.records); len(of) != tt.counted || (len(of) > 0) != (hits == 1280) {
			t.Errorf("%g prompt tokens: %d hits of %d requests, want %d", tt.prompts, hits, len(of), tt.counted)
		}
	}
}

// Another client with fewer requests than this one's slows it by at most its share of the work, if that is counted.
func TestSharedServerBound(t *testing.T) {
	for _, c := range []struct {
		inside, tokens float64
		prompts        *float64 // in multiples of this client's
		severity       record.Severity
		factor         float64 // 0: no bound
	}{
		{12, 1.2, new(1.3), record.Caution, 1.5},
		{12, 1.2, new(4.0), record.Caution, 4},
		{12, 1.2, nil, record.Caution, 0},
		{17, 1.2, new(1.3), record.Invalid, 0},
		{12, 1.05, new(1.3), "", 0},
	} {
		e := flawless()
		e.Summary.Concurrency.Mean, e.Summary.Concurrency.Max, e.Summary.DurationS = 8, 8, 1
		e.Summary.Throughput.OutputTokensPerS, e.Summary.Throughput.PromptTokensPerS = 100, 1000
		m := e.Server.Metrics
		m.Running.Mean, m.Waiting.Mean, m.GenerationTokens, m.PromptTokens = c.inside, 0, new(100*c.tokens), nil
		if c.prompts != nil {
			m.PromptTokens = new(1000 * *c.prompts)
		}
		f := checkShared(e)
		if f.severity != c.severity || (c.severity == record.Caution) != (len(f.effects) > 0) {
			t.Errorf("%+v: %s: %s", c, f.severity, f.problem)
		}
		for _, x := range f.effects {
			if (x.Bound == nil) != (c.factor == 0) || x.Bound != nil && *x.Bound != c.factor {
				t.Errorf("%+v: %+v", c, x.Effect)
			}
		}
	}
}
