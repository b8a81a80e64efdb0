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
