package verdict

import (
	"iter"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// CompareReuse compares the cached tokens that the server reports with those that are possible. It is nil
// for a row without common prefixes, and for a server that does not report them.
func (e *Measured) CompareReuse() *record.Reuse {
	cached := map[int]int{} // by the request's index
	for r := range record.Completed(e.Records) {
		if r.CachedTokens != nil {
			cached[r.I] = *r.CachedTokens
		}
	}
	if len(cached) == 0 || !e.Spec.SharesPrefixes() {
		return nil
	}
	var out record.Reuse
	for r, hit := range among(e.Spec.PrefixHits(0), cached) {
		out.Requests++
		out.PromptTokens += r.Input
		out.PossibleTokens += hit
		out.CachedTokens += cached[r.Index]
	}
	if room := e.kvCapacity(); experiment.HitsCountable(room) {
		out.InCapacity = new(int)
		for _, hit := range among(e.Spec.PrefixHits(room), cached) {
			*out.InCapacity += hit
		}
	}
	prompt := float64(max(out.PromptTokens, 1))
	out.PossibleRate, out.CachedRate = float64(out.PossibleTokens)/prompt, float64(out.CachedTokens)/prompt
	return &out
}

// among yields the requests whose index is in cached, and ends after the last of them.
func among(hits iter.Seq2[workload.Request, int], cached map[int]int) iter.Seq2[workload.Request, int] {
	return func(yield func(workload.Request, int) bool) {
		left := len(cached)
		for r, hit := range hits {
			if _, ok := cached[r.Index]; !ok {
				continue
			}
			if left--; !yield(r, hit) || left == 0 {
				return
			}
		}
	}
}

// kvCapacity is the size of the server's KV cache in tokens; 0 = not reported.
func (e *Measured) kvCapacity() int {
	if m := e.Server.Metrics; m != nil && m.KVCapacity != nil {
		return int(*m.KVCapacity)
	}
	return 0
}

// compareRotations is nil for a row that is no tiling.
func (e *Measured) compareRotations() *record.Rotations {
	if e.Spec.Tile == nil {
		return nil
	}
	return record.CompareRotations(e.Records, e.Spec.Tile.Contexts)
}
