package workload

// Pool simulates a prefix cache that serves the requests of a plan one after the other. It counts the prompt
// tokens that are cached when a request arrives. The count is exact for a server with this policy, block size
// and capacity that serves requests in this order. Concurrent requests can change the order of eviction, and
// can only hit what has been computed.
//
// The policy is vLLM's: a request holds its blocks until it ends and then frees them from the last to the first, so
// that of prompts used equally long ago the tails are evicted first. A request that does not fit into the pool is not
// served.
type Pool struct {
	size  int                 // tokens in a block
	slots []slot              // slots[0] is the sentinel of the eviction list; nil = unbounded
	first map[uint64]int32    // by key: the slot with that key, the first of several
	seen  map[uint64]struct{} // unbounded: all keys
	runs  runs                // unbounded, with blocks of one token: in place of seen
	keys  []uint64
	held  []int32
}

type slot struct {
	key        uint64
	prev, next int32
	twin       int32 // next slot with the same key; 0 = none
}

// NewPool makes an empty pool with a capacity in blocks, below 2^31, of blockTokens tokens; 0 blocks = unbounded.
func NewPool(blocks, blockTokens int) *Pool {
	p := &Pool{size: blockTokens}
	switch {
	case blocks > 0:
		p.first = make(map[uint64]int32, blocks)
		p.slots = make([]slot, blocks+1)
		for i := range p.slots {
			p.slots[i].prev, p.slots[i].next = int32((i+blocks)%(blocks+1)), int32((i+1)%(blocks+1))
		}
	case blockTokens == 1:
		p.runs = runs{}
	default:
		p.seen = map[uint64]struct{}{}
	}
	return p
}

// serve serves a request and returns how many tokens of its prompt were cached: whole blocks, but never the
// last token, whose output must be computed. The answer's tokens are cached too, except for the last one,
// which no step has read; a nil answer adds nothing.
func (p *Pool) serve(r *Request, answer []Block) (hit int) {
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
	if p.runs != nil {
		return min(p.runs.serve(common, r.Blocks, answer), r.Input-1)
	}
	p.keys = chain(p.keys[:0], p.size, common/p.size, r.Blocks, answer)
	found := p.find((r.Input - 1) / p.size)
	if p.slots != nil && !p.allocate(found, (tokens+p.size-1)/p.size) {
		return 0
	}
	if p.seen != nil {
		for _, k := range p.keys[found:] {
			p.seen[k] = struct{}{}
		}
	}
	return found * p.size
}

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

// allocate removes the found blocks from the eviction list, evicts blocks for the rest, and then frees all of
// them, the last first. It returns false if the pool is too small.
func (p *Pool) allocate(found, need int) bool {
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
		s := p.slots[0].next // the least recently used one
		p.unlink(s)
		p.removeKey(s)
		p.setKey(s, len(p.held))
		p.held = append(p.held, s)
	}
	for i := len(p.held) - 1; i >= 0; i-- {
		p.link(p.held[i])
	}
	return true
}

// setKey gives a slot the i-th key of the request, if it has one. Another slot may have the same key: the
// last block of a prompt is computed again, and the old copy stays until it is evicted.
func (p *Pool) setKey(s int32, i int) {
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

func (p *Pool) removeKey(s int32) {
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

func (p *Pool) link(s int32) {
	last := p.slots[0].prev
	p.slots[s].prev, p.slots[s].next = last, 0
	p.slots[last].next, p.slots[0].prev = s, s
}

// chain appends the keys of the first n whole blocks of size tokens, or of fewer if there are no more. A key
// is a hash of the block's content and the previous key, so that equal keys mean equal prompts up to there.
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

// runs are the prompts that an unbounded cache with blocks of one token holds. One entry per block of the plan
// is enough: a chain of keys per token would take 16 times the memory.
type runs map[uint64]int // by the blocks up to here: the most tokens of the last one

// serve returns how many leading tokens of a prompt are known, and adds the first common tokens of the prompt
// and its answer.
func (s runs) serve(common int, parts ...[]Block) (hit int) {
	key, hits := uint64(0), true
	for _, blocks := range parts {
		for _, b := range blocks {
			tokens := min(b.Tokens, common)
			if tokens == 0 {
				return hit
			}
			common -= tokens
			key = mix(key, b.ID)
			known := s[key]
			if hits {
				hit += min(tokens, known)
				hits = known >= tokens
			}
			s[key] = max(known, tokens)
			key = mix(key, uint64(tokens)) // what follows a shorter run of this block is another prompt
		}
	}
	return hit
}
