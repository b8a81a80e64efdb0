package experiment

import (
	"cmp"
	"iter"
	"slices"

	"bench/experiment/workload"
)

func (s *Spec) ReplaysTrace() bool { return s.Trace != nil && s.Arrival.Process == "trace" }

func (s *Spec) SharesPrefixes() bool {
	if s.Tile != nil {
		return true
	}
	if s.Trace != nil {
		return s.Trace.Head.Blocks
	}
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Prefix != nil || c.Session != nil })
}

// mostBlocks are the most blocks of a cache that PrefixHits simulates: each takes memory here.
const mostBlocks = 4 << 20

type PrefixCache struct {
	Block int // tokens in a block; 0 = workload.BlockTokens
	Room  int // tokens; 0 = unbounded
	// Replicas have a cache each, of equal room in all; the zero value = one.
	Replicas workload.Replicas
	Thought  workload.Thought // reasoning that no later turn sends back; nil = none
}

func (c PrefixCache) Countable() bool { return c.blocks() >= 1 && c.blocks() <= mostBlocks }

func (c PrefixCache) block() int { return cmp.Or(c.Block, workload.BlockTokens) }

func (c PrefixCache) blocks() int { return c.Room / c.block() }

// PrefixHits yields the point's requests, without end, each with the prompt tokens that the cache holds; it evicts as
// vLLM does.
func (s *Spec) PrefixHits(c PrefixCache) iter.Seq2[workload.Request, int] {
	pool := workload.NewPool(c.blocks(), c.block())
	return s.Plan("").Estimated().Over(c.Replicas).Thinking(c.Thought).Serve(pool, s.Concurrency, 0)
}
