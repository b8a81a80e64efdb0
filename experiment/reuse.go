package experiment

import (
	"slices"

	"bench/experiment/workload"
)

// Reuse sets what the server found in its prefix cache beside what its plan lets a cache find, over the completed requests
// of the window whose cached tokens the server told.
type Reuse struct {
	Requests       int     `json:"requests"`
	PromptTokens   int     `json:"prompt_tokens"`   // as planned
	PossibleTokens int     `json:"possible_tokens"` // in a cache without a bound, which serves the requests in the plan's order; answers of the planned length
	CachedTokens   int     `json:"cached_tokens"`   // as the server told
	PossibleRate   float64 `json:"possible_rate"`   // of the prompt tokens
	CachedRate     float64 `json:"cached_rate"`
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
	for r, hit := range e.Spec.Hits() {
		cached, ok := told[r.Index]
		if !ok {
			continue
		}
		out.Requests++
		out.PromptTokens += r.Input
		out.PossibleTokens += hit
		out.CachedTokens += cached
		if delete(told, r.Index); len(told) == 0 {
			break
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

// Hits gives the requests of the point in their order, and how many tokens of each prompt a cache without a bound would
// hold; without end.
func (s *Spec) Hits() func(yield func(workload.Request, int) bool) {
	return workload.NewPlan(s.Workload, s.planSeed(), "").Serve(workload.Unbounded(), s.Concurrency, 0)
}
