package diagnosis

import (
	"slices"

	"bench/experiment/record"
)

const (
	leastHits    = 0.8  // share of the possible prefix-cache hits that a working cache has
	worthCaching = 0.05 // share of the prompt tokens below which hits do not matter
	leastSaving  = 0.5  // TTFT that a warm prefix saves, relative to its share of the prompt
)

func checkPrefixCache(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{Observation: "shared prefixes are computed again for each request", Bottleneck: PrefixCacheMisses}
	switch {
	case v.possibleHits >= worthCaching && v.cached < leastHits*v.possibleHits:
		d.Evidence = collected(below("prompt tokens cached", v.cached, "share", leastHits*v.possibleHits),
			fact("prompt tokens that a cache could hit", v.possibleHits, "share"),
			fact("of them in a cache of the server's size", v.hitsInCapacity, "share"),
			fact("KV cache usage, max", v.kvMax, "share"), fact("TTFT p50", v.ttft, "ms"))
		v.explainMisses(d)
		return d
	case known(v.cached):
		return nil
	}
	cold := v.coldPair(all)
	if cold == nil {
		return nil
	}
	shared := float64(v.spec.WarmTokens("", v.p.Rows[0].Server.BlockTokens())) / v.input
	saved := 1 - v.ttft/cold.ttft
	if shared == 0 || !(saved < leastSaving*shared) { // 0: the prefix is shorter than a block
		return nil
	}
	d.Beside, d.Observation = cold.name, "a warm prefix is hardly faster than a cold one"
	d.Confirm, d.Response = oneGroup, "enable prefix caching; else use fewer groups, a larger KV cache, or one replica per group"
	d.Evidence = collected(below("TTFT p50 saved by the warm prefix", saved, "share", leastSaving*shared),
		fact("its share of the prompt", shared, "share"),
		below("prefix-cache hit rate", v.hitRate, "share", worthCaching))
	if !(v.hitRate < worthCaching) {
		d.Bottleneck, d.Missing = UnknownBottleneck, []string{"cached prompt tokens: vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report"}
		d.Evidence = d.Evidence[:2]
		d.Response = "let the server report cached tokens, and run the pair again"
	}
	return d
}

const oneGroup = "repeat the row with one prefix group: with hits, the others were evicted; without, caching is off or prefixes differ"

func (v *pointMetrics) explainMisses(d *Diagnosis) {
	switch {
	case slices.ContainsFunc(v.p.Rows, (*record.Row).EvictsPrefixes):
		d.Observation = "part of the shared prefixes is computed again: evicted before reuse"
		if v.cached == 0 {
			d.Observation = "all shared prefixes are computed again: evicted before reuse"
		}
		d.Confirm, d.Response = oneGroup, "use fewer groups, a larger KV cache, or one replica per group"
	case v.cached == 0:
		d.Confirm = "send one prompt twice: without cached tokens, caching is off, or a gateway changes the prompts"
		d.Response = "enable prefix caching; check cache salts, gateways and routing: evictions are not evident"
	case v.p.Rows[0].Sequential():
		d.Observation = "the engine kept part of the shared prefixes only, although no two requests overlapped"
		d.Confirm = "make the prefix more than half of the prompt: the share that is cached rises"
		d.Response = "nothing is misrouted: llama.cpp swaps out a cached prompt if a request shares less than half of it; use longer prefixes, or a lower --parallel"
	default:
		d.Observation = "part of the shared prefixes is computed again; evictions are not evident"
		d.Confirm = "repeat the row on one replica at concurrency 1: full hits, if requests were spread or overlapped"
		d.Response = "route requests with the same prefix to the same replica; check --parallel of llama.cpp"
	}
}
