package check

import (
	"math"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// warmRow is a warm row of 100 requests and one of the warm-up, with prompts of 400 tokens, on a server that
// reports its block, and its counters over the whole row, but no cached tokens in usage.
func warmRow(prefix int, change func(*evidence)) *evidence {
	e := flawless()
	e.PromptForm = "token_ids"
	e.Spec.Input, e.Spec.Output = workload.Fixed(400), workload.Fixed(2)
	e.Spec.Prefix = &workload.Prefix{Tokens: prefix, Groups: 2, State: workload.Warm}
	for i, r := range e.records {
		r.I, r.PromptRequested, r.PromptTokens, r.CachedTokens = i, 400, new(400), nil
	}
	e.Server.Block = &record.CacheBlock{Tokens: 128, Source: record.BlockReported}
	e.Server.Metrics = &telemetry.ServerUsage{PrefixUnit: "tokens", PrefixHits: new(0.0), KVUsage: &telemetry.Gauge{Max: 0.001},
		Whole: &telemetry.ServerCounts{PromptTokens: new(101.0 * 400), PrefixHits: new(0.0)}}
	change(e)
	e.Reuse = CompareReuse(e.Row, e.records)
	return e.checked()
}

func counted(hits float64) func(*evidence) {
	return func(e *evidence) { e.Server.Metrics.Whole.PrefixHits = &hits }
}

func usage(each int) func(*evidence) {
	return func(e *evidence) {
		for _, r := range e.records {
			r.CachedTokens = &each
		}
	}
}

// What a warm row's hits are compared with, and what is said if some are missing.
type warmCase struct {
	prefix int
	change func(*evidence)
	want   string // severity, or passed, or unverified
	text   string // of the finding and its hint
}

func warmCases() map[string]warmCase {
	const all = 101 * 128
	both := func(a, b func(*evidence)) func(*evidence) { return func(e *evidence) { a(e); b(e) } }
	one := func(e *evidence) { e.Spec.Concurrency, e.Spec.Rate = 1, 0 }
	return map[string]warmCase{
		"usage, all whole blocks":            {200, usage(128), "passed", ""},
		"usage, the block is assumed":        {200, both(usage(128), func(e *evidence) { e.Server.Block = nil }), "invalid", "only 12800 of 19200 prefix tokens were cached (blocks: 16 tokens, assumed)"},
		"usage, some missing":                {256, usage(128), "invalid", "only 12800 of 25600 prefix tokens were cached (blocks: 128 tokens, reported)|check routing"},
		"usage, one at a time, some missing": {256, both(usage(128), one), "caution", "kept only 50.0 % of the warm prefixes (12800 of 25600 prefix tokens)|llama.cpp swaps out"},
		"usage, one at a time, none found":   {256, both(usage(0), one), "invalid", "|check that prefix caching is on"},
		"usage, none found":                  {256, usage(0), "invalid", "|check that prefix caching is on"},
		"usage, a full KV cache":             {256, both(usage(0), func(e *evidence) { e.Server.Metrics.KVUsage.Max = 0.95 }), "invalid", "|make the cache larger or the groups fewer: prefixes were evicted"},
		"usage, a cache too small":           {256, both(usage(0), func(e *evidence) { e.Server.Metrics.KVCapacity = new(512.0) }), "invalid", "prefixes were evicted"},
		"usage, one block less with drafts":  {256, both(usage(128), func(e *evidence) { e.Server.Metrics.Drafts = new(10.0) }), "passed", ""},
		"usage, nothing with drafts":         {128, both(usage(0), func(e *evidence) { e.Server.Metrics.Drafts = new(10.0) }), "invalid", "only 0 of 12800"},
		"usage leaves out a count of 0": {256, func(e *evidence) {
			for _, r := range e.records[:60] {
				r.CachedTokens = new(256)
			}
		}, "invalid", "only 15104 of 25600 prefix tokens"},
		"a prefix shorter than blocks": {100, usage(0), "note", "the prefix of 100 tokens is shorter than a block of the prefix cache, 128 tokens, reported"},
		"silent, by counters":          {200, counted(all), "passed", ""},
		"silent, counters with tiers": {200, func(e *evidence) {
			e.Server.Metrics.Whole.PrefixHits = new(1000.0)
			e.Server.Metrics.Whole.Tiers = telemetry.TierHits{GPU: new(1000.0), External: new(all - 1000.0)}
		}, "passed", ""},
		"silent, some missing":         {200, counted(0.8 * all), "invalid", "by the server's counters only 10342 of 12928 possible prompt tokens"},
		"silent, another client":       {200, both(counted(all), func(e *evidence) { *e.Server.Metrics.Whole.PromptTokens *= 1.02 }), "unverified", "neither usage nor counters of this row alone show cached tokens"},
		"silent, within the tolerance": {200, both(counted(all), func(e *evidence) { *e.Server.Metrics.Whole.PromptTokens *= 1.009 }), "passed", ""},
		"silent, counters of blocks":   {200, both(counted(all), func(e *evidence) { e.Server.Metrics.PrefixUnit = "blocks" }), "unverified", ""},
		"silent, no counters":          {200, func(e *evidence) { e.Server.Metrics = nil }, "unverified", "neither usage nor counters of this row alone show cached tokens"},
	}
}

func TestWarmPrefix(t *testing.T) {
	for name, c := range warmCases() {
		t.Run(name, func(t *testing.T) {
			e := warmRow(c.prefix, c.change)
			got, text := prefixResult(e)
			if got != c.want {
				t.Errorf("%s %s, want %s", got, text, c.want)
			}
			for part := range strings.SplitSeq(c.text, "|") {
				if !strings.Contains(text, part) {
					t.Errorf("%q without %q", text, part)
				}
			}
		})
	}
}

// prefixResult is how the check of the prefix cache ended: the severity of its finding with its texts, or
// passed, unverified, not possible.
func prefixResult(e *evidence) (result, text string) {
	for _, f := range e.Findings {
		if f.Code == "prefix_cache" {
			result, text = string(f.Severity), f.Text+"|"+f.Hint
		}
	}
	for name, codes := range map[string][]string{"passed": e.Checks.Passed, "unverified": e.Checks.Unverified, "not possible": e.Checks.NotPossible} {
		for _, code := range codes {
			if code == "prefix_cache" {
				result = name
			}
		}
	}
	return result, text
}

// By counters a row has a reuse over all its requests; and a cold one is checked, too.
func TestHitsByCounters(t *testing.T) {
	u := warmRow(200, counted(12_000)).Reuse
	if u == nil || u.Source != record.ReuseByCounters || u.Requests != 101 || u.PromptTokens != 101*400 || u.PossibleTokens != 101*128 ||
		u.CachedTokens != 12_000 || u.BlockTokens != 128 || math.Abs(u.CachedRate-12_000.0/40_400) > 1e-12 {
		t.Errorf("%+v", u)
	}
	cold := func(hits float64) string {
		e := warmRow(200, func(e *evidence) { e.Spec.Prefix = nil; counted(hits)(e) })
		if e.Reuse != nil {
			t.Errorf("a row without prefixes has %+v", e.Reuse)
		}
		result, _ := prefixResult(e)
		return result
	}
	if got := cold(101 * 16); got != "passed" {
		t.Error(got)
	}
	if got := cold(101*16 + 1); got != "invalid" {
		t.Error(got)
	}
}
