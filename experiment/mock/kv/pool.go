// Package kv is the paged KV cache of a simulated engine, without the keys and values: a pool of blocks that are counted by
// holders, found again by a hash and reused in the order in which they fell free, and below it, if wanted, a larger and slower tier
// that what is evicted goes to. It knows no time: who loads from the tier says how long that takes.
//
// The rules are those of vLLM (v1/core/block_pool.py, kv_cache_manager.py). A hash stands for the tokens of a block and for all before
// them, so that a prefix is found block by block until the first one that is missing.
package kv

// BlockTokens is how many tokens a block holds, vLLM's default.
const BlockTokens = 16

// Blocks is how many blocks hold so many tokens.
func Blocks(tokens int) int { return (tokens + BlockTokens - 1) / BlockTokens }

// Block is one block. Named, it holds the tokens that its hash stands for and can be found; held, somebody uses it; not
// held, it is in the pool's free list and keeps its name until it is taken for something else.
type Block struct {
	hash       uint64
	named      bool
	holders    int
	duplicate  *Block // the next one of the same name: contents are not made one
	prev, next *Block // in the free list
}

// Pool is a number of blocks. Use New.
type Pool struct {
	capacity    int
	used        int // held by somebody
	unallocated int // never taken yet
	free        Block
	named       map[uint64]*Block // the oldest of a name
	tier        *Tier             // nil: what is evicted is lost
}

// New is an empty pool. Below is where evicted blocks go; nil: nowhere.
func New(blocks int, below *Tier) *Pool {
	p := &Pool{capacity: blocks, unallocated: blocks, named: map[uint64]*Block{}, tier: below}
	p.free.prev, p.free.next = &p.free, &p.free
	return p
}

// Capacity is the number of all blocks, Used of those held, Free of the others, be they named or not.
func (p *Pool) Capacity() int { return p.capacity }
func (p *Pool) Used() int     { return p.used }
func (p *Pool) Free() int     { return p.capacity - p.used }

// Match returns the blocks of the longest known prefix of a chain of hashes; nobody holds them for that.
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

// Needs is how many of the free blocks a holder of n blocks takes, hits among them.
func (p *Pool) Needs(hits []*Block, n int) int {
	need := n - len(hits)
	for _, b := range hits {
		if b.holders == 0 {
			need++
		}
	}
	return need
}

// Hold gives each of the blocks one more holder.
func (p *Pool) Hold(hits []*Block) {
	for _, b := range hits {
		if b.holders == 0 {
			p.unlink(b)
			p.used++
		}
		b.holders++
	}
}

// Grow takes nameless blocks until held has n; false, and nothing taken, if there are not so many.
func (p *Pool) Grow(held []*Block, n int) ([]*Block, bool) {
	if n-len(held) > p.Free() {
		return held, false
	}
	for len(held) < n {
		held = append(held, p.take())
	}
	return held, true
}

// take returns a nameless block for one holder: a fresh one, else the one that has been free the longest.
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

// Name makes b findable by hash.
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

// evict takes the name of b away. Its contents go down if that was the last of them.
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

// Release gives up one hold of each block, the last first: the tail of a prefix is worth less than its head, so it is evicted earlier.
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

// Forget takes every name away. It does nothing, and returns false, while a block is held.
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
