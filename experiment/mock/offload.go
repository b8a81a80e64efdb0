package mock

import (
	"time"

	"bench/experiment/kv"
)

// offload is the second tier of the KV cache and its link. As with vLLM's connectors, a request waits for the
// load of its blocks before it is admitted, while the steps of other requests continue. Loads use the link
// one after the other; stores cost no time.
type offload struct {
	tier       *kv.Tier
	blockTime  time.Duration // load time of one
	blockBytes float64       // of one
	linkFree   time.Duration // when the last load ends
	loaded     int           // total blocks loaded
}

func newOffload(c Config) *offload {
	bytes := float64(c.KVBytesPerToken) * float64(c.BlockSize)
	blocks := int(c.KVOffloadingGB * 1e9 / bytes)
	if blocks == 0 {
		return nil
	}
	// bytes/(GB/s) are ns
	return &offload{tier: kv.NewTier(blocks), blockBytes: bytes, blockTime: time.Duration(bytes / c.KVOffloadingGBs)}
}

func (s *offload) load(now time.Duration, chain []uint64) time.Duration {
	s.tier.Use(chain)
	s.loaded += len(chain)
	s.linkFree = max(s.linkFree, now) + time.Duration(len(chain))*s.blockTime
	return s.linkFree
}

func (s *offload) finish(q *seq, pool *kv.Pool) {
	first := q.computed / q.block
	q.name(pool, first+q.loading)
	q.computed += q.loading * q.block
	q.loading = 0
}
