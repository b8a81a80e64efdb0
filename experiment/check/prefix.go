package check

import (
	"fmt"
	"iter"
	"maps"
	"math"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

const (
	sharedHint = "find what sends the same prompts: another client, or the cache of an earlier run"
	minWarm    = 0.9
	// alikeTokens are leading tokens that cold prompts of a small vocabulary may have in common.
	alikeTokens = 16
)

type cacheHits struct {
	source                     string // of record.Reuse; empty = not reported
	requests, cached, possible int
}

// hitsByUsage leaves out later turns of conversations, which have their conversation in the cache, and real prompts.
func hitsByUsage(e *evidence) (h cacheHits) {
	if !record.ReportsCached(e.records) {
		return h
	}
	byClass := map[string]int{} // requests
	for r := range record.Completed(e.records) {
		cached, ok := r.Cached()
		if !ok || r.PromptHash != "" || follows(&e.Spec, r) {
			continue
		}
		h.source = record.ReuseByUsage
		h.requests++
		h.cached += cached
		byClass[r.Class]++
	}
	for class, n := range byClass {
		h.possible += n * e.Spec.WarmTokens(class, e.Server.BlockTokens())
	}
	return h
}

func hitsByCounters(e *evidence) (h cacheHits) {
	cached, requests := countedHits(e.Row, e.records)
	if len(requests) == 0 {
		return h
	}
	h = cacheHits{source: record.ReuseByCounters, requests: len(requests), cached: cached}
	if e.Reuse != nil {
		h.possible = e.Reuse.PossibleTokens
	}
	return h
}

func checkPrefix(e *evidence) result {
	if e.FailedPriming > 0 {
		return invalid("read the server's log", "%d requests that prime the prefixes failed", e.FailedPriming)
	}
	h := hitsByUsage(e)
	// the counters also count real prompts, whose possible hits are unknown
	if h.requests == 0 && !e.Spec.HasPrompts() {
		h = hitsByCounters(e)
	}
	warm := e.Spec.HasPrefix(workload.Warm)
	switch {
	case warm && h.requests == 0 && e.Summary.Requests.Completed > 0:
		return unverified("enable the report (vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report), "+
			"or compare ttft with a cold row",
			"the row is warm, but neither usage nor counters of this row alone show cached tokens").
			touching(unbounded(record.Inflated, firstToken, lastToken))
	case h.requests == 0:
		return noData
	case warm:
		return checkWarmPrefix(e.Row, h)
	case e.Spec.HasPrefix(workload.Shared):
		return checkSharedPrefix(e.Row)
	}
	if allowed := h.possible + h.requests*(overhead(e.Row)+alikeTokens); h.cached > allowed {
		return invalid(sharedHint, "the row is cold, but %d prompt tokens were cached", h.cached)
	}
	return passed()
}

// Of a prefix that is shorter than a block no server caches anything: the row is cold.
func checkWarmPrefix(r *record.Row, h cacheHits) result {
	block, blocks := r.Server.BlockTokens(), ", assumed"
	if b := r.Server.Block; b != nil {
		blocks = ", " + b.Source
	}
	blocks = unit.Plural(block, "token") + blocks
	primed := 0 // of the longest prefix
	for _, c := range r.Spec.Classes() {
		primed = max(primed, r.Spec.PrimedTokens(c.Name))
	}
	if primed < block {
		return note(fmt.Sprintf("make the prefix at least %s long", unit.Plural(block, "token")),
			"the prefix of %s is shorter than a block of the prefix cache, %s: nothing of it is cached",
			unit.Plural(primed, "token"), blocks)
	}
	least := minWarm * float64(h.possible)
	if m := r.Server.Metrics; m != nil && m.Drafts != nil && *m.Drafts > 0 {
		// vLLM computes the last matched block again for the drafts of EAGLE and MTP.
		least = max(1, min(least, float64(h.possible-h.requests*block)))
	}
	text := fmt.Sprintf("the row is warm, but only %d of %d prefix tokens were cached", h.cached, h.possible)
	if h.source == record.ReuseByCounters {
		text = fmt.Sprintf("the row is warm, but by the server's counters only %d of %d possible prompt tokens were cached",
			h.cached, h.possible)
	}
	switch {
	case float64(h.cached) >= least:
		return passed()
	case h.source == record.ReuseByCounters && r.Server.Block == nil && h.cached > 0: // larger blocks allow fewer hits
		return unverified("let the server report its block size (its metrics page), or compare ttft with a cold row",
			text+": the server does not report its block size").touching(unbounded(record.Inflated, firstToken,
			lastToken))
	case h.cached > 0 && r.Sequential() && !r.EvictsPrefixes():
		return caution("compare it with a cold row of this engine, or make the prefix longer: "+keptHint,
			"the engine kept only %s of the warm prefixes (%d of %d prefix tokens), although no two requests overlapped: "+
				"the row is as warm as this engine gets",
			unit.Percent(float64(h.cached)/float64(h.possible)), h.cached, h.possible)
	}
	hint := "check routing to several replicas, and --parallel of llama.cpp: evictions are not evident"
	switch {
	case r.EvictsPrefixes():
		hint = "make the cache larger or the groups fewer: prefixes were evicted"
	case h.cached == 0:
		hint = "check that prefix caching is on, and that no proxy changes or salts the prompts"
	}
	return invalid(hint, "%s (blocks: %s)", text, blocks)
}

// keptHint: tools/server of llama.cpp saves a cached prompt elsewhere and clears it, if less than half of it is kept.
const keptHint = "llama.cpp swaps out a cached prompt if a request shares less than half of it"

func overhead(r *record.Row) int {
	if r.PromptOverhead == nil {
		return 0
	}
	return *r.PromptOverhead
}

// checkSharedPrefix: fewer cached tokens than possible are no finding, since the server's pool can be small.
func checkSharedPrefix(r *record.Row) result {
	u := r.Reuse
	if u == nil {
		return noData
	}
	more := overhead(r) + alikeTokens
	// lengths of texts are approximate: the template, or a longer prefix, can fill one more block
	if r.PromptForm != "token_ids" {
		more = overhead(r) + max(alikeTokens, u.BlockTokens)
	}
	if allowed := u.PossibleTokens + u.Requests*more; u.CachedTokens > allowed {
		return invalid(sharedHint, "%d prompt tokens were cached, but the row's own requests allow at most %d",
			u.CachedTokens, u.PossibleTokens)
	}
	return passed()
}

// CompareReuse is nil for a row without common prefixes, with real prompts (whose common beginnings are not known),
// or without cached tokens in usage or in counters of this row alone.
func CompareReuse(row *record.Row, records []*record.Record) *record.Reuse {
	if !row.Spec.SharesPrefixes() || row.Spec.HasPrompts() {
		return nil
	}
	source, found, requests := record.ReuseByUsage, 0, map[int]int{} // by the request's index
	if record.ReportsCached(records) {
		for r := range record.Completed(records) {
			if tokens, ok := r.Cached(); ok {
				requests[r.I] = tokens
				found += tokens
			}
		}
	} else {
		source = record.ReuseByCounters
		found, requests = countedHits(row, records)
	}
	if len(requests) == 0 {
		return nil
	}
	s, m := &row.Server, row.Server.Metrics
	cache := experiment.PrefixCache{Block: s.BlockTokens(), Thought: thoughtOf(records),
		Replicas: workload.Replicas{N: len(s.Replicas), Sticky: s.Routing == experiment.Sticky}}
	out := record.Reuse{Source: source, BlockTokens: cache.Block, CachedTokens: found}
	for r, hit := range among(row.Spec.PrefixHits(cache), requests) {
		out.Requests++
		out.PromptTokens += r.Input
		out.PossibleTokens += hit
	}
	if m != nil && m.KVCapacity != nil {
		cache.Room = int(*m.KVCapacity)
	}
	if cache.Countable() {
		out.InCapacity = new(int)
		for _, hit := range among(row.Spec.PrefixHits(cache), requests) {
			*out.InCapacity += hit
		}
	}
	prompt := float64(max(out.PromptTokens, 1))
	out.PossibleRate, out.CachedRate = float64(out.PossibleTokens)/prompt, float64(out.CachedTokens)/prompt
	return &out
}

func thoughtOf(records []*record.Record) workload.Thought {
	tokens := map[int]int{} // by the request's index
	for _, r := range records {
		if r.ReasoningTokens != nil {
			tokens[r.I] = *r.ReasoningTokens
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	return func(index int) int { return tokens[index] }
}

// countedHits are the row's prompt tokens that the server found in its cache, by its counters, and the requests that
// it counted. None if the counters' prompt tokens are not the row's (another client). A request cut at the row's end
// counts if its prompt was computed: with or without those, whichever is nearer.
func countedHits(row *record.Row, records []*record.Record) (tokens int, requests map[int]int) {
	m := row.Server.Metrics
	if m == nil || m.Whole == nil || m.Whole.PrefixHits == nil || m.Whole.PromptTokens == nil ||
		m.PrefixUnit != "tokens" {
		return 0, nil
	}
	whole, cut := map[int]int{}, map[int]int{}
	var sure, open float64
	for _, r := range records {
		switch {
		case r.PromptTokens != nil:
			whole[r.I], sure = 0, sure+float64(*r.PromptTokens)
		case !r.Sent.IsZero():
			cut[r.I], open = 0, open+float64(r.PromptRequested)
		}
	}
	counted := *m.Whole.PromptTokens
	if sure+open == 0 || counted < (1-tolerated)*sure || counted > (1+tolerated)*(sure+open) {
		return 0, nil
	}
	if counted > sure+open/2 {
		maps.Copy(whole, cut)
	}
	inTiers := 0.0
	for _, hits := range m.Whole.Tiers.List() {
		if hits != nil {
			inTiers += *hits
		}
	}
	return int(math.Round(max(*m.Whole.PrefixHits, inTiers))), whole // vLLM's prefix hits are those of its GPU tier
}

func among(hits iter.Seq2[workload.Request, int], requests map[int]int) iter.Seq2[workload.Request, int] {
	return func(yield func(workload.Request, int) bool) {
		left := len(requests)
		for r, hit := range hits {
			if _, ok := requests[r.Index]; !ok {
				continue
			}
			if left--; !yield(r, hit) || left == 0 {
				return
			}
		}
	}
}
