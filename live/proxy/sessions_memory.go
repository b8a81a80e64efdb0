package proxy

import (
	"container/list"
	"slices"
	"time"
)

type place struct {
	key   uint64
	used  time.Time
	open  []opening // conversations whose latest request this is, the oldest first
	last  opening   // the conversation that was here most recently
	first uint64    // see conversations.hasHistory
}

type opening struct {
	conversation *conversation
	head         uint64 // of the request: who has the same model, tools and system prompt continues it first
}

// Sizes for the bound of the memory, in bytes: what lists and maps add, also while they grow, is included.
const (
	placeBytes   = 320
	openingBytes = 24
)

// maxOpenings bounds the users who began alike and can be told apart.
const maxOpenings = 256

// next is the conversation that a request with a head continues from here: one that is open, of equal head first; if
// none is, the request is another branch of the last one.
func (p *place) next(head uint64) *conversation {
	i := slices.IndexFunc(p.open, func(o opening) bool { return o.head == head })
	if i < 0 && p.last.head == head || len(p.open) == 0 {
		return p.last.conversation
	}
	i = max(i, 0)
	of := p.open[i]
	p.open = slices.Delete(p.open, i, i+1)
	p.last = of
	return of.conversation
}

// use is the place under a key, most recently used now; it may be new.
func (c *conversations) use(key uint64) *place {
	if e := c.known[key]; e != nil {
		c.recent.MoveToFront(e)
		p := e.Value.(*place)
		p.used = time.Now()
		return p
	}
	p := &place{key: key, used: time.Now()}
	c.known[key] = c.recent.PushFront(p)
	c.grow(placeBytes)
	return p
}

func (c *conversations) open(p *place, o opening) {
	p.last = o
	if len(p.open) == maxOpenings {
		p.open = slices.Delete(p.open, 0, 1)
	}
	before := cap(p.open)
	p.open = append(p.open, o)
	c.grow((cap(p.open) - before) * openingBytes)
}

// grow counts memory, and forgets the least recently used beyond the limit.
func (c *conversations) grow(n int) {
	for c.bytes += n; c.bytes > c.limit && c.recent.Len() > 1; {
		c.remove(c.recent.Back())
	}
}

func (c *conversations) remove(e *list.Element) {
	p := c.recent.Remove(e).(*place)
	delete(c.known, p.key)
	c.bytes -= placeBytes + cap(p.open)*openingBytes
}
