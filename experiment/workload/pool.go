package workload

import "fmt"

// Pool is a prefix cache that a plan's requests go through one after the other, each finished before
// the next begins. It says how many tokens of each prompt the cache holds already. That is exact for
// a server of that policy, block size and capacity, which serves requests in this order and finds
// prompts by their tokens; requests that run side by side can change the order in which blocks are
// freed, and hit no more than is computed already.
type Pool struct {
	policy string
	size   int                 // tokens of a block
	slots  []slot              // slots[0] is the ends of the list; none without a bound
	first  map[uint64]int32    // by key: the slot that has it, the first of several
	seen   map[uint64]struct{} // without a bound: the keys
	keys   []uint64
	held   []int32
}

// Policies of a pool.
const (
	// LRU frees the block that was used longest ago, where a prompt uses its blocks from its first to its last.
	LRU = "lru"
	// TailFirst is vLLM's: a request holds its blocks until it ends and then frees them from its last to its first, so that
	// of prompts used equally long ago the tails go first. A request that the pool can't hold is not served.
	TailFirst = "tail-first"
)

// slot is a block of the pool: its key, or 0 for none, and its place in the list of those that may
// be taken, the next one first.
type slot struct {
	key        uint64
	prev, next int32
	twin       int32 // another slot with the same key, taken later; 0 = none
}

// NewPool makes an empty pool of so many blocks of so many tokens; 0 blocks = without a bound, where
// the policy does not matter.
func NewPool(policy string, blocks, blockTokens int) (*Pool, error) {
	if policy != LRU && policy != TailFirst {
		return nil, fmt.Errorf("making a pool: unknown policy %q", policy)
	}
	if blocks < 0 || blocks >= 1<<31-1 || blockTokens < 1 {
		return nil, fmt.Errorf("making a pool: %d blocks of %d tokens", blocks, blockTokens)
	}
	p := &Pool{policy: policy, size: blockTokens}
	if blocks == 0 {
		p.seen = map[uint64]struct{}{}
		return p, nil
	}
	p.first = make(map[uint64]int32, blocks)
	p.slots = make([]slot, blocks+1)
	for i := range p.slots {
		p.slots[i].prev, p.slots[i].next = int32((i+blocks)%(blocks+1)), int32((i+1)%(blocks+1))
	}
	return p, nil
}

// Unbounded is an empty pool without a bound, of blocks of BlockTokens.
func Unbounded() *Pool { return &Pool{size: BlockTokens, seen: map[uint64]struct{}{}} }

// Serve lets a request through, and returns how many tokens of its prompt were found: whole blocks,
// but never the last token, whose output has to be computed. The answer's tokens are cached behind
// the prompt's, all but the last, which no step has read; nil = the answer leaves nothing.
func (p *Pool) Serve(r *Request, answer []Block) (hit int) {
	tokens, common := r.Input, r.Input-r.Own
	for _, b := range answer {
		tokens += b.Tokens
	}
	if len(answer) > 0 {
		tokens--
	}
	if r.Own == 0 {
		common = tokens
	}
	p.keys = chain(p.keys[:0], p.size, common/p.size, r.Blocks, answer)
	found := p.find((r.Input - 1) / p.size)
	switch {
	case p.seen != nil:
		for _, k := range p.keys[found:] {
			p.seen[k] = struct{}{}
		}
	case p.policy == LRU:
		p.use(tokens / p.size)
	case !p.hold(found, (tokens+p.size-1)/p.size):
		return 0
	}
	return found * p.size
}

// find counts the blocks at the front of the prompt that are there, up to a limit.
func (p *Pool) find(limit int) int {
	limit = min(limit, len(p.keys))
	for i, k := range p.keys[:limit] {
		_, there := p.seen[k]
		if p.seen == nil {
			_, there = p.first[k]
		}
		if !there {
			return i
		}
	}
	return limit
}

// use takes the blocks of a request in their order: to the end of the list, or in place of the first of it. Those without
// a key are the request's own.
func (p *Pool) use(blocks int) {
	for i := range blocks {
		s, there := int32(0), false
		if i < len(p.keys) {
			s, there = p.first[p.keys[i]]
		}
		if !there {
			s = p.take()
			p.name(s, i)
		} else {
			p.unlink(s)
		}
		p.link(s)
	}
}

// hold takes the blocks that were found off the list, and free ones for the rest, and gives them all
// back, the last first; false when there are not enough.
func (p *Pool) hold(found, need int) bool {
	if need > len(p.slots)-1 {
		return false
	}
	p.held = p.held[:0]
	for _, k := range p.keys[:found] {
		s := p.first[k]
		p.unlink(s)
		p.held = append(p.held, s)
	}
	for len(p.held) < need {
		s := p.take()
		p.name(s, len(p.held))
		p.held = append(p.held, s)
	}
	for i := len(p.held) - 1; i >= 0; i-- {
		p.link(p.held[i])
	}
	return true
}

// take takes the first block off the list, and what it holds from it.
func (p *Pool) take() int32 {
	s := p.slots[0].next
	p.unlink(s)
	p.forget(s)
	return s
}

// name gives a slot the i-th key of the request, if that has one. Another slot may have the key already: the last block of
// a prompt is computed again, and its old copy stays until it is taken.
func (p *Pool) name(s int32, i int) {
	if i >= len(p.keys) {
		return
	}
	key := p.keys[i]
	p.slots[s].key = key
	at, there := p.first[key]
	if !there {
		p.first[key] = s
		return
	}
	for p.slots[at].twin != 0 {
		at = p.slots[at].twin
	}
	p.slots[at].twin = s
}

// forget takes a slot's key from it.
func (p *Pool) forget(s int32) {
	key, twin := p.slots[s].key, p.slots[s].twin
	if key == 0 {
		return
	}
	p.slots[s].key, p.slots[s].twin = 0, 0
	switch at := p.first[key]; {
	case at != s:
		for p.slots[at].twin != s {
			at = p.slots[at].twin
		}
		p.slots[at].twin = twin
	case twin != 0:
		p.first[key] = twin
	default:
		delete(p.first, key)
	}
}

func (p *Pool) unlink(s int32) {
	a, b := p.slots[s].prev, p.slots[s].next
	p.slots[a].next, p.slots[b].prev = b, a
}

// link puts a slot at the end of the list.
func (p *Pool) link(s int32) {
	last := p.slots[0].prev
	p.slots[s].prev, p.slots[s].next = last, 0
	p.slots[last].next, p.slots[0].prev = s, s
}

// chain appends the keys of the first whole blocks of size tokens, n at most: hashes of what a block
// holds and of the key before it, so that equal keys mean equal prompts up to there.
func chain(keys []uint64, size, n int, parts ...[]Block) []uint64 {
	key, room := uint64(0), size
	for _, blocks := range parts {
		for _, b := range blocks {
			for from := 0; from < b.Tokens && len(keys) < n; {
				took := min(b.Tokens-from, room)
				key = mix(mix(key, b.ID), uint64(from)<<32|uint64(took))
				from += took
				if room -= took; room == 0 {
					keys, room = append(keys, key), size
				}
			}
		}
	}
	return keys
}
