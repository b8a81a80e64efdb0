package verdict

import (
	"iter"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// reuse is nil where nothing of the row is meant to be found again, and where the server tells nothing.
func (e *Measured) CountReuse() *record.Reuse {
	told := map[int]int{} // by the request's index
	for r := range record.Completed(e.Records) {
		if r.CachedTokens != nil {
			told[r.I] = *r.CachedTokens
		}
	}
	if len(told) == 0 || !e.Spec.Reuses() {
		return nil
	}
	var out record.Reuse
	for r, hit := range among(e.Spec.Hits(0), told) {
		out.Requests++
		out.PromptTokens += r.Input
		out.PossibleTokens += hit
		out.CachedTokens += told[r.Index]
	}
	if room := e.kvCapacity(); experiment.Countable(room) {
		out.InCapacity = new(int)
		for _, hit := range among(e.Spec.Hits(room), told) {
			*out.InCapacity += hit
		}
	}
	prompt := float64(max(out.PromptTokens, 1))
	out.PossibleRate, out.CachedRate = float64(out.PossibleTokens)/prompt, float64(out.CachedTokens)/prompt
	return &out
}

// among picks the requests that the server told of, by their indices, and ends with the last of them.
func among(hits iter.Seq2[workload.Request, int], told map[int]int) iter.Seq2[workload.Request, int] {
	return func(yield func(workload.Request, int) bool) {
		left := len(told)
		for r, hit := range hits {
			if _, ok := told[r.Index]; !ok {
				continue
			}
			if left--; !yield(r, hit) || left == 0 {
				return
			}
		}
	}
}

// kvCapacity is how many tokens the server said that its KV cache holds; 0 = it did not say.
func (e *Measured) kvCapacity() int {
	if m := e.Server.Metrics; m != nil && m.KVCapacity != nil {
		return int(*m.KVCapacity)
	}
	return 0
}
