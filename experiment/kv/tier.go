package kv

import "container/list"

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

func (t *Tier) Forget() {
	t.order.Init()
	clear(t.places)
}
