package trace

import "math"

// Cache is what a prefix cache can make of a trace, requests one after the other. Only prompts are counted: what is
// written takes room in a real cache too.
type Cache struct {
	Blocks    int     `json:"blocks"`         // of all prompts
	Different int     `json:"different"`      // of them
	Largest   int     `json:"largest_prompt"` // in blocks
	HitRate   float64 `json:"hit_rate"`       // share of prompt tokens that a cache without an end hits
	Sizes     []Size  `json:"sizes"`
	// Unchained counts block numbers that were seen at more than one place of a prompt: they can't stand for whole prefixes,
	// and the rates above are more than a prefix cache can reach.
	Unchained int `json:"unchained"`
}

// Size is a cache of a limited size.
type Size struct {
	Blocks int     `json:"blocks"`
	Tokens int     `json:"tokens"`
	LRU    float64 `json:"lru_hit_rate"` // plain LRU, block by block in the order of the prompt
	// TailFirst is LRU as vLLM frees blocks, a prompt's last one first: its beginning stays longest.
	TailFirst float64 `json:"tail_first_hit_rate"`
}

// reuse follows the blocks of a trace through caches of every size.
type reuse struct {
	plain, tail    *stack
	lru, tailFirst curve
	blocks         int
	largest        int
	place          map[uint64]int // in a prompt, where a block was seen; −1 = at several
	unchained      int
}

func newReuse() *reuse { return &reuse{plain: newStack(), tail: newStack(), place: map[uint64]int{}} }

// request counts the hits of one prompt in blocks of size tokens.
func (r *reuse) request(blocks []uint64, input, size int) {
	r.largest = max(r.largest, len(blocks))
	r.blocks += len(blocks)
	for i, id := range blocks {
		r.lru.look(r.plain.rank(id), inBlock(i, input, size))
		r.plain.use(id)
		r.seen(id, i)
	}
	// A prompt looks its blocks up before any of them is used anew, and they are freed from its end: the first one is the one
	// used last.
	for i, id := range blocks {
		r.tailFirst.look(r.tail.rank(id), inBlock(i, input, size))
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		r.tail.use(blocks[i])
	}
}

// inBlock is how many of the prompt's tokens are in its block i: the last one may be shorter.
func inBlock(i, input, size int) int { return min(size, input-i*size) }

// seen checks that a block is always at the same place.
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

// cache is the result for these sizes; none = round ones up to the trace's own.
func (r *reuse) cache(blockTokens int, sizes []int) *Cache {
	c := &Cache{Blocks: r.blocks, Different: len(r.place), Largest: r.largest, HitRate: r.lru.rate(0), Unchained: r.unchained}
	if len(sizes) == 0 {
		sizes = roundSizes(c.Different)
	}
	for _, n := range sizes {
		c.Sizes = append(c.Sizes, Size{Blocks: n, Tokens: n * blockTokens, LRU: r.lru.rate(n), TailFirst: r.tailFirst.rate(n)})
	}
	return c
}

// roundSizes are 1, 2, 5, 10, … blocks from about a hundredth of all on.
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
