package check

import (
	"fmt"
	"slices"
	"testing"

	"bench/experiment/prompts"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// realRow is warmRow with real prompts, each used once, and no prefix.
func realRow(change func(*evidence)) *evidence {
	return warmRow(200, func(e *evidence) {
		e.Spec.Prefix, e.Spec.Input, e.Spec.Prompts = nil, workload.Length{}, &prompts.Source{File: "p.jsonl"}
		for i, r := range e.records {
			r.PromptHash = fmt.Sprintf("%016x", i)
		}
		change(e)
		e.Prompts = record.PromptsOf(e.records, e.Server.BlockTokens())
	})
}

// Nobody knows which beginnings real prompts share: no hits make a cold row of them invalid, by usage or by counters.
func TestHitsOfColdRealPrompts(t *testing.T) {
	for what, change := range map[string]func(*evidence){"usage": usage(256), "counters": counted(101 * 256)} {
		for _, turns := range []*workload.Session{nil, {}} {
			e := realRow(func(e *evidence) { e.Spec.Session = turns; change(e) })
			if !slices.Contains(e.Checks.NotPossible, "prefix_cache") || e.Reuse != nil {
				t.Errorf("%s: %v, reuse %+v", what, e.Codes(record.Invalid), e.Reuse)
			}
		}
	}
}

// A prompt of which all but the last block is cached at its first use was sent before the row.
func TestPromptsSentBefore(t *testing.T) {
	cached := func(n, tokens int) func(*evidence) {
		return func(e *evidence) {
			usage(0)(e)
			for _, r := range e.inWindow()[:n] {
				r.CachedTokens = &tokens
			}
		}
	}
	repeat := func(e *evidence) { usage(0)(e); e.inWindow()[7].PromptHash = e.records[0].PromptHash }
	for what, c := range map[string]struct {
		change func(*evidence)
		want   map[string]string // by code: severity, or passed or not possible
	}{
		"five of a hundred": {cached(5, 400-128), map[string]string{"warm_prompts": "passed", "repeated_prompts": "passed"}},
		"more":              {cached(6, 400-128), map[string]string{"warm_prompts": "caution"}},
		"a block less":      {cached(100, 400-129), map[string]string{"warm_prompts": "passed"}},
		"shorter than three blocks": {func(e *evidence) {
			cached(100, 300)(e)
			for _, r := range e.records {
				r.PromptTokens = new(383)
			}
		}, map[string]string{"warm_prompts": "not possible"}},
		"not reported":             {func(*evidence) {}, map[string]string{"warm_prompts": "not possible", "repeated_prompts": "passed"}},
		"one that the warm-up had": {repeat, map[string]string{"repeated_prompts": "note"}},
	} {
		e := realRow(c.change)
		for name, want := range c.want {
			got, code := "passed", ""
			only(name, func(of string) { e.checked(); code = of })
			if slices.Contains(e.Checks.NotPossible, code) {
				got = "not possible"
			}
			for _, f := range e.Findings {
				if f.Code == code {
					got = string(f.Severity)
				}
			}
			if got != want {
				t.Errorf("%s: %s is %s, want %s (%+v)", what, name, got, want, e.Prompts)
			}
		}
	}
}
