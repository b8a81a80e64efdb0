package experiment

import (
	"iter"
	"slices"

	"bench/experiment/workload"
)

// Reuse sets what the server found in its prefix cache beside what its plan lets a cache find, over the completed requests
// of the window whose cached tokens the server told.
type Reuse struct {
	Requests       int `json:"requests"`
	PromptTokens   int `json:"prompt_tokens"`   // as planned
	PossibleTokens int `json:"possible_tokens"` // in a cache without a bound, which serves the requests in the plan's order; answers of the planned length
	// InCapacity is PossibleTokens of a cache as large as the server said that its KV cache is, which frees blocks as vLLM does and serves
	// one request after the other; absent: it did not say.
	InCapacity   *int    `json:"possible_tokens_in_capacity,omitempty"`
	CachedTokens int     `json:"cached_tokens"` // as the server told
	PossibleRate float64 `json:"possible_rate"` // of the prompt tokens
	CachedRate   float64 `json:"cached_rate"`
}

// reuse is nil where nothing of the row is meant to be found again, and where the server tells nothing.
func (e *evidence) reuse() *Reuse {
	told := map[int]int{} // by the request's index
	for r := range completed(e.records) {
		if r.CachedTokens != nil {
			told[r.I] = *r.CachedTokens
		}
	}
	if len(told) == 0 || !e.Spec.Reuses() {
		return nil
	}
	var out Reuse
	for r, hit := range among(e.Spec.Hits(0), told) {
		out.Requests++
		out.PromptTokens += r.Input
		out.PossibleTokens += hit
		out.CachedTokens += told[r.Index]
	}
	if room := e.kvCapacity(); Countable(room) {
		out.InCapacity = new(int)
		for _, hit := range among(e.Spec.Hits(room), told) {
			*out.InCapacity += hit
		}
	}
	prompt := float64(max(out.PromptTokens, 1))
	out.PossibleRate, out.CachedRate = float64(out.PossibleTokens)/prompt, float64(out.CachedTokens)/prompt
	return &out
}

// Reuses says whether a request of the point has a prefix, even a cold one, or is part of a conversation, of a tiling, or of a trace
// that says what its prompts have in common.
func (s *Spec) Reuses() bool {
	if s.Tile != nil {
		return true
	}
	if s.Trace != nil {
		return s.Trace.Head.Blocks
	}
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Prefix != nil || c.Session != nil })
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
func (e *evidence) kvCapacity() int {
	if m := e.Server.Metrics; m != nil && m.KVCapacity != nil {
		return int(*m.KVCapacity)
	}
	return 0
}

// mostCounted is the largest cache, in tokens, whose hits are counted: every block of it takes memory here too.
const mostCounted = 64 << 20

// Countable says whether Hits can count with a cache of so many tokens.
func Countable(tokens int) bool { return tokens >= workload.BlockTokens && tokens <= mostCounted }

// Hits gives the requests of the point in their order, and how many tokens of each prompt a cache would hold; without end. The
// cache has room for so many tokens (see Countable) and is freed as vLLM frees its own; 0 = without a bound.
func (s *Spec) Hits(room int) iter.Seq2[workload.Request, int] {
	pool := workload.Unbounded()
	if room > 0 {
		pool, _ = workload.NewPool(workload.TailFirst, room/workload.BlockTokens, workload.BlockTokens) // a countable one can be made
	}
	return workload.NewPlan(s.Workload, s.planSeed(), "").Serve(pool, s.Concurrency, 0)
}
