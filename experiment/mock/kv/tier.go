package kv

import "container/list"

// Tier is a second, larger home for blocks: host memory or a disk. It holds what the pool has evicted, by hash, and loses what has not
// been put or used for the longest time. Use NewTier.
type Tier struct {
	capacity int
	stored   int        // blocks put in all
	order    *list.List // of hashes, the latest in front
	places   map[uint64]*list.Element
}

// NewTier is an empty tier.
func NewTier(blocks int) *Tier {
	return &Tier{capacity: blocks, order: list.New(), places: map[uint64]*list.Element{}}
}

// Capacity is the number of blocks that fit, Len of those that are there, and Stored of those that were ever put.
func (t *Tier) Capacity() int { return t.capacity }
func (t *Tier) Len() int      { return t.order.Len() }
func (t *Tier) Stored() int   { return t.stored }

// Match is how many blocks at the head of a chain are there.
func (t *Tier) Match(chain []uint64) int {
	for i, h := range chain {
		if t.places[h] == nil {
			return i
		}
	}
	return len(chain)
}

// Use notes that the blocks of a chain have been read; they stay. As in the pool, the head of a chain outlives its tail.
func (t *Tier) Use(chain []uint64) {
	for i := len(chain) - 1; i >= 0; i-- {
		if e := t.places[chain[i]]; e != nil {
			t.order.MoveToFront(e)
		}
	}
}

// put stores a block; one that is there already is only refreshed.
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

// Forget empties the tier.
func (t *Tier) Forget() {
	t.order.Init()
	clear(t.places)
}
