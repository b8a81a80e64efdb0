// Package kv is the paged KV cache of a simulated engine, without keys and values: a pool of
// reference-counted blocks that are found by hash and evicted in LRU order, and an optional larger tier for
// evicted blocks. It has no notion of time: the caller decides how long a load takes.
//
// The rules are vLLM's (v1/core/block_pool.py, kv_cache_manager.py). A hash covers the tokens of a block and
// all tokens before them, so that a prefix is matched block by block up to the first miss.
package kv

import (
	"container/list"
)

// BlockTokens is the default block size in tokens: vLLM's on GPUs.
const BlockTokens = 16

func Blocks(tokens, size int) int { return (tokens + size - 1) / size }

// Block is one block. One without holders is in the free list and keeps its hash until it is reused.
type Block struct {
	hash       uint64
	named      bool
	holders    int
	duplicate  *Block // next block with the same hash: blocks are not deduplicated
	prev, next *Block // in the free list
}

// Pool is a fixed number of blocks. Use New.
type Pool struct {
	capacity    int
	used        int // blocks with holders
	unallocated int // blocks never used
	free        Block
	named       map[uint64]*Block // the oldest block of each hash
	tier        *Tier             // nil: evicted blocks are lost
}

// New is an empty pool. Evicted blocks go to tier; nil: nowhere.
func New(blocks int, below *Tier) *Pool {
	p := &Pool{capacity: blocks, unallocated: blocks, named: map[uint64]*Block{}, tier: below}
	p.free.prev, p.free.next = &p.free, &p.free
	return p
}

func (p *Pool) Capacity() int { return p.capacity }

func (p *Pool) Used() int { return p.used }

func (p *Pool) Free() int { return p.capacity - p.used }

// Match returns the blocks of the longest cached prefix of a chain of hashes, without holding them.
func (p *Pool) Match(chain []uint64) []*Block {
	var hits []*Block
	for _, h := range chain {
		b, ok := p.named[h]
		if !ok {
			break
		}
		hits = append(hits, b)
	}
	return hits
}

func (p *Pool) Needs(hits []*Block, n int) int {
	need := n - len(hits)
	for _, b := range hits {
		if b.holders == 0 {
			need++
		}
	}
	return need
}

func (p *Pool) Hold(hits []*Block) {
	for _, b := range hits {
		if b.holders == 0 {
			p.unlink(b)
			p.used++
		}
		b.holders++
	}
}

// Grow adds blocks to held until it has n; false: not enough free blocks, and held is unchanged.
func (p *Pool) Grow(held []*Block, n int) ([]*Block, bool) {
	if n-len(held) > p.Free() {
		return held, false
	}
	for len(held) < n {
		held = append(held, p.take())
	}
	return held, true
}

// take returns a block without hash for one holder: an unused one, else the least recently used free one.
func (p *Pool) take() *Block {
	p.used++
	if p.unallocated > 0 {
		p.unallocated--
		return &Block{holders: 1}
	}
	b := p.free.next
	p.unlink(b)
	p.evict(b)
	b.holders = 1
	return b
}

func (p *Pool) Name(b *Block, hash uint64) {
	if b.named {
		return
	}
	b.named, b.hash = true, hash
	first, taken := p.named[hash]
	if !taken {
		p.named[hash] = b
		return
	}
	for first.duplicate != nil {
		first = first.duplicate
	}
	first.duplicate = b
}

// evict removes the hash of b. If b was the last block with it, the tier stores it.
func (p *Pool) evict(b *Block) {
	if !b.named {
		return
	}
	switch first := p.named[b.hash]; {
	case first != b:
		for first.duplicate != b {
			first = first.duplicate
		}
		first.duplicate = b.duplicate
	case b.duplicate != nil:
		p.named[b.hash] = b.duplicate
	default:
		delete(p.named, b.hash)
		if p.tier != nil {
			p.tier.put(b.hash)
		}
	}
	b.named, b.duplicate = false, nil
}

// Release removes a holder from each block, the last first: the tail of a prefix is evicted before its head.
func (p *Pool) Release(held []*Block) {
	for i := len(held) - 1; i >= 0; i-- {
		b := held[i]
		if b.holders--; b.holders > 0 {
			continue
		}
		p.used--
		last := p.free.prev
		b.prev, b.next = last, &p.free
		last.next, p.free.prev = b, b
	}
}

// Forget removes all hashes; false: a block is held, and nothing changed.
func (p *Pool) Forget() bool {
	if p.used > 0 {
		return false
	}
	for _, b := range p.named {
		for b != nil {
			next := b.duplicate
			b.named, b.duplicate = false, nil
			b = next
		}
	}
	clear(p.named)
	return true
}

func (p *Pool) unlink(b *Block) {
	b.prev.next, b.next.prev = b.next, b.prev
	b.prev, b.next = nil, nil
}

// Tier is a second, larger LRU cache for blocks that the pool has evicted. Use NewTier.
type Tier struct {
	capacity int
	stored   int        // total blocks stored
	order    *list.List // of hashes, the most recent first
	places   map[uint64]*list.Element
}

func NewTier(blocks int) *Tier {
	return &Tier{capacity: blocks, order: list.New(), places: map[uint64]*list.Element{}}
}

func (t *Tier) Capacity() int { return t.capacity }

func (t *Tier) Len() int { return t.order.Len() }

func (t *Tier) Stored() int { return t.stored }

func (t *Tier) Match(chain []uint64) int {
	for i, h := range chain {
		if t.places[h] == nil {
			return i
		}
	}
	return len(chain)
}

// Use marks the blocks of chain as used. As in the pool, the tail of a chain is evicted before its head.
func (t *Tier) Use(chain []uint64) {
	for i := len(chain) - 1; i >= 0; i-- {
		if e := t.places[chain[i]]; e != nil {
			t.order.MoveToFront(e)
		}
	}
}

func (t *Tier) put(hash uint64) {
	if e := t.places[hash]; e != nil {
		t.order.MoveToFront(e)
		return
	}
	t.stored++
	t.places[hash] = t.order.PushFront(hash)
	if t.order.Len() > t.capacity {
		oldest := t.order.Back()
		t.order.Remove(oldest)
		delete(t.places, oldest.Value.(uint64))
	}
}
