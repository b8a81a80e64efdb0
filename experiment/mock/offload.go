package mock

import (
	"time"

	"bench/experiment/mock/kv"
)

// second is the second tier of the KV cache behind its link. A request with blocks there waits for them before it is admitted, as
// with vLLM's connectors; the steps of the others go on meanwhile. Loads go over the link one after the other. What is evicted
// into the tier goes the other way and costs no time.
type offload struct {
	tier       *kv.Tier
	blockTime  time.Duration // to load one
	blockBytes float64       // of one
	idleSince  time.Duration // since when nothing is on its way
	loaded     int           // blocks loaded in all
}

// newSecond is the second tier of c, nil if it has none.
func newOffload(c Config) *offload {
	bytes := float64(c.KVBytesPerToken) * kv.BlockTokens
	blocks := int(c.KVOffloadingGB * 1e9 / bytes)
	if blocks == 0 {
		return nil
	}
	return &offload{tier: kv.NewTier(blocks), blockBytes: bytes, blockTime: time.Duration(bytes / c.KVOffloadingGBs)} // bytes/(GB/s) are ns
}

// find is how many blocks at the head of a chain are there.
func (s *offload) find(chain []uint64) int { return s.tier.Match(chain) }

// load begins to load blocks and returns when they will be there.
func (s *offload) load(now time.Duration, chain []uint64) time.Duration {
	s.tier.Use(chain)
	s.loaded += len(chain)
	s.idleSince = max(s.idleSince, now) + time.Duration(len(chain))*s.blockTime
	return s.idleSince
}

// arrived makes the loaded blocks of q findable, and has them computed.
func (s *offload) finish(q *seq, pool *kv.Pool) {
	first := q.computed / kv.BlockTokens
	for i, hash := range q.hashes(first + q.loading)[first:] {
		pool.Name(q.held[first+i], hash)
	}
	q.computed += q.loading * kv.BlockTokens
	q.loading = 0
}
