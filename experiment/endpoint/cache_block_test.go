package endpoint

import (
	"testing"

	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// Whatever the block, the prompts that a probe repeats leave that size only, and need few requests.
func TestBlocksBehindRepeatedPrompts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.IntRange(1, 2047).Draw(t, "block")
		answer := func(prompt int) repeated { return repeated{prompt, (prompt - 1) / block * block} }
		seen := []repeated{answer(512)}
		if seen[0].cached == 0 {
			seen[0] = answer(2048)
		}
		for n := 0; n < mostRepeated; n++ {
			sizes := blocksBehind(seen)
			if len(sizes) == 1 && sizes[0] == block {
				return
			}
			if len(sizes) < 2 {
				t.Fatalf("sizes %v of %+v", sizes, seen)
			}
			seen = append(seen, answer(dividing(sizes)))
		}
		t.Fatalf("%+v leave %v", seen, blocksBehind(seen))
	})
}

// A block that the server reports is taken; else it is found by probes, if prompts share prefixes and usage has
// cached tokens.
func TestCacheBlock(t *testing.T) {
	sharing := point()
	sharing.Prefix = &workload.Prefix{Tokens: 32, Groups: 2}
	for _, c := range []struct {
		name string
		mock mock.Config
		api  string
		spec experiment.Spec
		off  bool
		want *record.CacheBlock
	}{
		{"reported", mock.Config{BlockSize: 128}, target.Completions, point(), false, &record.CacheBlock{Tokens: 128, Source: record.BlockReported}},
		{"probed by ids", mock.Config{BlockSize: 128}, target.Completions, sharing, true, &record.CacheBlock{Tokens: 128, Source: record.BlockProbed}},
		{"probed by chat", mock.Config{BlockSize: 48}, target.Chat, sharing, true, &record.CacheBlock{Tokens: 48, Source: record.BlockProbed}},
		{"of one token", mock.Config{BlockSize: 1}, target.Completions, sharing, true, &record.CacheBlock{Tokens: 1, Source: record.BlockProbed}},
		{"of a long one", mock.Config{BlockSize: 784}, target.Completions, sharing, true, &record.CacheBlock{Tokens: 784, Source: record.BlockProbed}},
		{"longer than the context", mock.Config{BlockSize: 784, MaxModelLen: 1024}, target.Completions, sharing, true, nil},
		{"nothing shared", mock.Config{BlockSize: 128}, target.Completions, point(), true, nil},
		{"silent", mock.Config{Faults: []string{"no-prompt-tokens-details"}}, target.Completions, sharing, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mocked(t, c.mock, experiment.Target{}, c.api)
			config := Telemetry{}
			if c.off {
				config.Server = telemetry.Pages{Source: telemetry.Off}
			}
			s.OpenTelemetry(t.Context(), config, record.RooflineSource{})
			c.spec.API = c.api
			got := s.cacheBlock(t.Context(), &c.spec, s.apis[c.api])
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// The bug: hits in blocks of 128 were compared with blocks of 16, so that a warm row was invalid whose server
// found all that its blocks allow. Prefixes of 256 and 200 tokens, and conversations: the possible hits are the
// server's, to the token.
func TestHitsByBlocksOf128(t *testing.T) {
	t.Parallel()
	s := mocked(t, mock.Config{BlockSize: 128}, experiment.Target{}, target.Completions)
	s.OpenTelemetry(t.Context(), Telemetry{}, record.RooflineSource{})
	for name, c := range map[string]struct {
		prefix *workload.Prefix
		talk   *workload.Session
		cached int
	}{
		"256":     {&workload.Prefix{Tokens: 256, Groups: 2, State: workload.Warm}, nil, 30 * 256},
		"200":     {&workload.Prefix{Tokens: 200, Groups: 2, State: workload.Warm}, nil, 30 * 128},
		"session": {nil, &workload.Session{Turns: workload.Turns{Length: workload.Fixed(3)}, User: workload.Fixed(100)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			spec := point()
			spec.Input, spec.Concurrency, spec.Requests, spec.Warmup = workload.Fixed(400), 1, 30, workload.Extent{}
			spec.Prefix, spec.Session = c.prefix, c.talk
			row, records := measure(t, s, spec)
			u := row.Reuse
			if u == nil || u.CachedTokens != u.PossibleTokens || u.BlockTokens != 128 || u.Source != record.ReuseByUsage {
				t.Fatalf("%+v", u)
			}
			if c.prefix != nil && u.CachedTokens != c.cached || u.CachedTokens == 0 {
				t.Errorf("%d tokens cached, want %d", u.CachedTokens, c.cached)
			}
			for _, f := range row.Findings {
				if f.Code == "prefix_cache" {
					t.Errorf("%+v", f)
				}
			}
			for _, r := range records {
				if r.CachedTokens == nil || *r.CachedTokens%128 != 0 {
					t.Fatalf("request %d: %v", r.I, r.CachedTokens)
				}
			}
		})
	}
}

// A server that is silent on cached tokens: its counters over the row give the same reuse as its own account of
// each request, and the row is judged by them.
func TestHitsOfASilentServer(t *testing.T) {
	s := mocked(t, mock.Config{BlockSize: 128, Faults: []string{"no-prompt-tokens-details"}}, experiment.Target{}, target.Completions)
	s.OpenTelemetry(t.Context(), Telemetry{}, record.RooflineSource{})
	spec := point()
	spec.Input, spec.Concurrency, spec.Requests = workload.Fixed(400), 1, 20
	spec.Prefix = &workload.Prefix{Tokens: 300, Groups: 3}
	row, records := measureSalted(t, s, spec, "0123456789ab")
	if row.Summary.Tokens.Cached != nil {
		t.Fatalf("usage has %d cached tokens", *row.Summary.Tokens.Cached)
	}
	found := 0
	for _, tokens := range truth(t, s, "0123456789ab") {
		found += tokens
	}
	row.Server.Metrics.Whole = &telemetry.ServerCounts{PromptTokens: new(float64(400 * len(records))), PrefixHits: new(float64(found))}
	e := verdict.Measured{Row: row, Records: records}
	u := check.CompareReuse(e.Row, e.Records)
	if u == nil || u.Source != record.ReuseByCounters || u.Requests != len(records) || u.CachedTokens != found || u.PossibleTokens != found || found == 0 {
		t.Errorf("%+v, the server found %d", u, found)
	}
}

// A server that leaves out a count of 0 of its cached tokens has a reuse over all requests all the same.
func TestHitsWithoutCountsOfZero(t *testing.T) {
	s := mocked(t, mock.Config{Faults: []string{"no-zero-cached-tokens"}}, experiment.Target{}, target.Completions)
	spec := point()
	spec.Input, spec.Concurrency, spec.Requests, spec.Warmup = workload.Fixed(128), 1, 20, workload.Extent{}
	spec.Prefix = &workload.Prefix{Tokens: 64, Groups: 5}
	row, records := measure(t, s, spec)
	absent := 0
	for _, r := range records {
		if r.CachedTokens == nil {
			absent++
		}
	}
	if u := row.Reuse; absent != 5 || u == nil || u.Requests != 20 || u.PossibleTokens != 15*64 || u.CachedTokens != 15*64 {
		t.Errorf("%d without a count, %+v", absent, u)
	}
}
