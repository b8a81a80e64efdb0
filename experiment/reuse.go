package experiment

import (
	"iter"
	"slices"

	"bench/experiment/workload"
)

// Replays says that the requests arrive at the times of a trace.
func (s *Spec) Replays() bool { return s.Trace != nil && s.Arrival.Process == "trace" }

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
	return workload.NewPlan(s.Workload, s.PlanSeed(), "").Serve(pool, s.Concurrency, 0)
}
