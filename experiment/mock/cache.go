package mock

// blockTokens is how many tokens a KV block holds, as in vLLM.
const blockTokens = 16

// blocksFor is how many blocks hold so many tokens.
func blocksFor(tokens int) int { return (tokens + blockTokens - 1) / blockTokens }

// block is one block of KV cache. Named, it holds the tokens that its hash stands for and can be found again; held, a
// running sequence uses it; not held, it is in the pool's free list and keeps its name until it is taken for something else.
type block struct {
	hash       uint64
	named      bool
	holders    int
	prev, next *block // in the free list
}

// pool is the KV cache: a fixed number of blocks, counted by holders, found by hash, reused in the order in which they fell free
// (vLLM v1, core/block_pool.py). One difference: a block with the contents of one that is named already stays nameless.
type pool struct {
	capacity int
	used     int // held by somebody
	fresh    int // never taken yet
	free     block
	named    map[uint64]*block
}

func newPool(blocks int) *pool {
	p := &pool{capacity: blocks, fresh: blocks, named: map[uint64]*block{}}
	p.free.prev, p.free.next = &p.free, &p.free
	return p
}

// match returns the named blocks of the longest known prefix of a chain of hashes.
func (p *pool) match(chain []uint64) []*block {
	var hits []*block
	for _, h := range chain {
		b, ok := p.named[h]
		if !ok {
			break
		}
		hits = append(hits, b)
	}
	return hits
}

// hold takes the hits and as many other blocks as make n in all; false, and nothing taken, if there are not so many.
func (p *pool) hold(hits []*block, n int) ([]*block, bool) {
	need := n - len(hits)
	for _, b := range hits {
		if b.holders == 0 {
			need++
		}
	}
	if need > p.capacity-p.used {
		return nil, false
	}
	held := make([]*block, 0, n)
	for _, b := range hits {
		if b.holders == 0 {
			p.unlink(b)
			p.used++
		}
		b.holders++
		held = append(held, b)
	}
	for len(held) < n {
		held = append(held, p.take())
	}
	return held, true
}

// take returns a nameless block for one holder: a fresh one, else the one that has been free the longest.
func (p *pool) take() *block {
	p.used++
	if p.fresh > 0 {
		p.fresh--
		return &block{holders: 1}
	}
	b := p.free.next
	p.unlink(b)
	if b.named {
		delete(p.named, b.hash)
	}
	b.named, b.holders = false, 1
	return b
}

// name makes b findable by hash.
func (p *pool) name(b *block, hash uint64) {
	if _, taken := p.named[hash]; taken || b.named {
		return
	}
	b.named, b.hash = true, hash
	p.named[hash] = b
}

// release gives up one hold of each block, the last first: the tail of a prefix is worth less than its head, so it is evicted earlier.
func (p *pool) release(held []*block) {
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

// forget takes every block's name away.
func (p *pool) forget() {
	for _, b := range p.named {
		b.named = false
	}
	clear(p.named)
}

func (p *pool) unlink(b *block) {
	b.prev.next, b.next.prev = b.next, b.prev
	b.prev, b.next = nil, nil
}
