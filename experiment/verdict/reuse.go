package verdict

import (
	"iter"
	"maps"
	"math"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// CompareReuse is nil for a row without common prefixes, with real prompts (whose common beginnings are not known),
// or without cached tokens in usage or in counters of this row alone.
func (e *Measured) CompareReuse() *record.Reuse {
	if !e.Spec.SharesPrefixes() || e.Spec.HasPrompts() {
		return nil
	}
	cached, found := map[int]int{}, 0 // by the request's index
	if record.ReportsCached(e.Records) {
		for r := range record.Completed(e.Records) {
			if tokens, ok := r.Cached(); ok {
				cached[r.I] = tokens
				found += tokens
			}
		}
		return e.reuseOf(record.ReuseByUsage, cached, found)
	}
	if found, requests := e.countedHits(); len(requests) > 0 {
		return e.reuseOf(record.ReuseByCounters, requests, found)
	}
	return nil
}

func (e *Measured) reuseOf(source string, requests map[int]int, found int) *record.Reuse {
	if len(requests) == 0 {
		return nil
	}
	cache := experiment.PrefixCache{Block: e.Server.BlockTokens(),
		Replicas: workload.Replicas{N: len(e.Server.Replicas), Sticky: e.Server.Routing == experiment.Sticky},
		Thought:  thoughtOf(e.Records)}
	out := record.Reuse{Source: source, BlockTokens: cache.Block, CachedTokens: found}
	for r, hit := range among(e.Spec.PrefixHits(cache), requests) {
		out.Requests++
		out.PromptTokens += r.Input
		out.PossibleTokens += hit
	}
	if cache.Room = e.kvCapacity(); cache.Countable() {
		out.InCapacity = new(int)
		for _, hit := range among(e.Spec.PrefixHits(cache), requests) {
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
func (e *Measured) countedHits() (tokens int, requests map[int]int) {
	m := e.Server.Metrics
	if m == nil || m.Whole == nil || m.Whole.PrefixHits == nil || m.Whole.PromptTokens == nil ||
		m.PrefixUnit != "tokens" {
		return 0, nil
	}
	whole, cut := map[int]int{}, map[int]int{}
	var sure, open float64
	for _, r := range e.Records {
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

func (e *Measured) kvCapacity() int {
	if m := e.Server.Metrics; m != nil && m.KVCapacity != nil {
		return int(*m.KVCapacity)
	}
	return 0
}

func (e *Measured) compareRotations() *record.Rotations {
	if e.Spec.Tile == nil {
		return nil
	}
	return record.CompareRotations(e.Records, e.Spec.Tile.Contexts)
}
