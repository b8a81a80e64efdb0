package trace

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
