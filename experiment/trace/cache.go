package trace

import "math"

// Cache is the hit rate of a prefix cache that serves the requests of a trace one by one. Only prompts are
// counted; in a real cache answers take space too.
type Cache struct {
	Blocks    int     `json:"blocks"`         // in all prompts
	Different int     `json:"different"`      // distinct blocks
	Largest   int     `json:"largest_prompt"` // in blocks
	HitRate   float64 `json:"hit_rate"`       // share of prompt tokens that an unlimited cache hits
	Sizes     []Size  `json:"sizes"`
	// Unchained counts block hashes that occur at more than one position in prompts. They cannot identify
	// whole prefixes, and a real prefix cache hits less than the rates above.
	Unchained int `json:"unchained"`
}

// Size is the result for a cache of limited size.
type Size struct {
	Blocks int     `json:"blocks"`
	Tokens int     `json:"tokens"`
	LRU    float64 `json:"lru_hit_rate"` // plain LRU, block by block in the order of the prompt
	// TailFirst is LRU with vLLM's order of eviction: a prompt's last block first.
	TailFirst float64 `json:"tail_first_hit_rate"`
}

type reuse struct {
	plain, tail    *stack
	lru, tailFirst curve
	blocks         int
	largest        int
	place          map[uint64]int // by block: its position in prompts; −1 = several
	unchained      int
}

func newReuse() *reuse { return &reuse{plain: newStack(), tail: newStack(), place: map[uint64]int{}} }

func (r *reuse) request(blocks []uint64, input, size int) {
	r.largest = max(r.largest, len(blocks))
	r.blocks += len(blocks)
	for i, id := range blocks {
		r.lru.look(r.plain.rank(id), inBlock(i, input, size))
		r.plain.use(id)
		r.seen(id, i)
	}
	// A prompt looks up all its blocks before it uses them. They are freed from the last to the first, which
	// is thus the most recently used one.
	for i, id := range blocks {
		r.tailFirst.look(r.tail.rank(id), inBlock(i, input, size))
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		r.tail.use(blocks[i])
	}
}

// inBlock is the number of tokens in block i of a prompt; the last block may be shorter.
func inBlock(i, input, size int) int { return min(size, input-i*size) }

// seen checks that a block is always at the same position.
func (r *reuse) seen(id uint64, place int) {
	was, ok := r.place[id]
	switch {
	case !ok:
		r.place[id] = place
	case was >= 0 && was != place:
		r.place[id] = -1
		r.unchained++
	}
}

func (r *reuse) cache(blockTokens int, sizes []int) *Cache {
	c := &Cache{Blocks: r.blocks, Different: len(r.place), Largest: r.largest, HitRate: r.lru.rate(0),
		Unchained: r.unchained}
	for _, n := range sizes {
		c.Sizes = append(c.Sizes, Size{Blocks: n, Tokens: n * blockTokens, LRU: r.lru.rate(n),
			TailFirst: r.tailFirst.rate(n)})
	}
	return c
}

// roundSizes are 1, 2, 5, 10, … blocks, from about a hundredth of all.
func roundSizes(all int) (sizes []int) {
	for p := int(math.Pow10(int(math.Log10(max(float64(all)/100, 1))))); p < all; p *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*p < all {
				sizes = append(sizes, m*p)
			}
		}
	}
	return sizes
}

// stack orders blocks by last use, to compute stack distances (Mattson et al. 1970): an LRU cache of C blocks
// holds exactly the C blocks used last, so that one pass gives the hits of every size. Ranks come from a
// Fenwick tree over the times of last use. Times are renumbered when the tree is full, so that memory grows
// with the number of distinct blocks.
type stack struct {
	last map[uint64]int // time of last use by block, from 1
	tree []int          // Fenwick tree over times: 1 if a block was last used then
	now  int
}

func newStack() *stack { return &stack{last: map[uint64]int{}, tree: make([]int, 1<<10)} }

// rank is the size in blocks of the smallest LRU cache that holds the block: the number of distinct blocks
// used since its last use, itself included; 0 = it was never used.
func (s *stack) rank(id uint64) int {
	at, ok := s.last[id]
	if !ok {
		return 0
	}
	return len(s.last) - s.sum(at-1)
}

func (s *stack) use(id uint64) {
	if s.now+1 >= len(s.tree) {
		s.renumber()
	}
	if at, ok := s.last[id]; ok {
		s.add(at, -1)
	}
	s.now++
	s.last[id] = s.now
	s.add(s.now, 1)
}

func (s *stack) add(at, n int) {
	for ; at < len(s.tree); at += at & -at {
		s.tree[at] += n
	}
}

func (s *stack) sum(at int) (n int) {
	for ; at > 0; at -= at & -at {
		n += s.tree[at]
	}
	return n
}

func (s *stack) renumber() {
	blocks := make([]uint64, s.now+1) // by time of last use
	for id, at := range s.last {
		blocks[at] = id
	}
	s.tree = make([]int, max(len(s.tree), 4*len(s.last)))
	s.now = 0
	for at, id := range blocks {
		if at > 0 && s.last[id] == at { // a last use, not a time of which none is left
			s.now++
			s.last[id] = s.now
			s.add(s.now, 1)
		}
	}
}

// curve counts hit tokens by the size of the cache.
type curve struct {
	tokens int   // tokens looked up
	hits   []int // tokens by the size of the smallest cache that holds them
}

// look counts a block of tokens that caches of at least size blocks hold; 0 = none does.
func (c *curve) look(size, tokens int) {
	c.tokens += tokens
	if size == 0 {
		return
	}
	for len(c.hits) <= size {
		c.hits = append(c.hits, 0)
	}
	c.hits[size] += tokens
}

// rate is the share of tokens that a cache of that size hits; 0 = unlimited.
func (c *curve) rate(size int) float64 {
	if c.tokens == 0 {
		return 0
	}
	upTo := c.hits
	if size > 0 {
		upTo = c.hits[:min(size+1, len(c.hits))]
	}
	hits := 0
	for _, n := range upTo {
		hits += n
	}
	return float64(hits) / float64(c.tokens)
}
