package experiment

import (
	"iter"
	"slices"

	"bench/experiment/workload"
)

// ReplaysTrace reports whether the requests arrive at the times of a trace.
func (s *Spec) ReplaysTrace() bool { return s.Trace != nil && s.Arrival.Process == "trace" }

// SharesPrefixes reports whether prompts of the point can have a common prefix, even a cold one: requests
// with a prefix, in a conversation, of a tiling, or of a trace with block hashes.
func (s *Spec) SharesPrefixes() bool {
	if s.Tile != nil {
		return true
	}
	if s.Trace != nil {
		return s.Trace.Head.Blocks
	}
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Prefix != nil || c.Session != nil })
}

// largestCache is the largest cache, in tokens, that PrefixHits simulates: each of its blocks takes memory here.
const largestCache = 64 << 20

// HitsCountable reports whether PrefixHits can simulate a cache of that many tokens.
func HitsCountable(tokens int) bool { return tokens >= workload.BlockTokens && tokens <= largestCache }

// PrefixHits yields the point's requests in order, without end, each with the number of its prompt tokens
// that a cache of room tokens holds. The cache evicts as vLLM does. room must be HitsCountable; 0 =
// unbounded.
func (s *Spec) PrefixHits(room int) iter.Seq2[workload.Request, int] {
	pool := workload.Unbounded()
	if room > 0 {
		pool, _ = workload.NewPool(workload.TailFirst, room/workload.BlockTokens, workload.BlockTokens)
	}
	return s.Plan("").Serve(pool, s.Concurrency, 0)
}
