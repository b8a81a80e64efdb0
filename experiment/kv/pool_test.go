package kv

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// grow takes and names blocks for a chain that begins with what is found of it.
func grow(t testing.TB, p *Pool, chain ...uint64) []*Block {
	t.Helper()
	held := p.Match(chain)
	p.Hold(held)
	held, ok := p.Grow(held, len(chain))
	if !ok {
		t.Fatal("no room")
	}
	for i, h := range chain {
		p.Name(held[i], h)
	}
	return held
}

// Of what nobody holds, the chain that was released first goes first, and of a chain its tail.
func TestOrderOfEviction(t *testing.T) {
	p := New(6, nil)
	a, b := grow(t, p, 1, 2, 3), grow(t, p, 11, 12, 13)
	p.Release(b)
	p.Release(a)
	for i, want := range []struct{ a, b int }{{3, 2}, {3, 1}, {3, 0}, {2, 0}, {1, 0}, {0, 0}} {
		if _, ok := p.Grow(nil, 1); !ok {
			t.Fatal("no room")
		}
		if na, nb := len(p.Match([]uint64{1, 2, 3})), len(p.Match([]uint64{11, 12, 13})); na != want.a || nb != want.b {
			t.Errorf("after %d evictions %d and %d blocks are found, want %+v", i+1, na, nb, want)
		}
	}
	if _, ok := p.Grow(nil, 1); ok || p.Free() != 0 {
		t.Error("a block out of nothing")
	}
}

// A prefix that several hold is one of blocks, free when the last of them lets go.
func TestSharedPrefix(t *testing.T) {
	p := New(4, nil)
	a := grow(t, p, 1, 2)
	b := grow(t, p, 1, 2, 3)
	if p.Used() != 3 || a[0] != b[0] || p.Needs(p.Match([]uint64{1, 2}), 4) != 2 {
		t.Errorf("%d blocks in use", p.Used())
	}
	p.Release(a)
	if p.Used() != 3 {
		t.Errorf("%d blocks in use after the first let go", p.Used())
	}
	p.Release(b)
	if p.Used() != 0 || p.Needs(p.Match([]uint64{1, 2}), 4) != 4 {
		t.Errorf("%d blocks in use after both have", p.Used())
	}
}

// Twins: the name is there until the last of them is taken for something else, and only then goes down.
func TestTwins(t *testing.T) {
	tier := NewTier(10)
	p := New(2, tier)
	var twins [][]*Block
	for range 2 {
		held, _ := p.Grow(nil, 1)
		p.Name(held[0], 7)
		twins = append(twins, held)
	}
	p.Release(twins[0])
	p.Release(twins[1])
	if p.Match([]uint64{7})[0] != twins[0][0] {
		t.Error("the younger one is found")
	}
	p.Grow(nil, 1)
	if m := p.Match([]uint64{7}); len(m) != 1 || m[0] != twins[1][0] || tier.Len() != 0 {
		t.Errorf("%d found, %d below", len(m), tier.Len())
	}
	p.Grow(nil, 1)
	if m := p.Match([]uint64{7}); len(m) != 0 || tier.Match([]uint64{7}) != 1 {
		t.Errorf("%d found, %d below", len(m), tier.Len())
	}
}

func TestForget(t *testing.T) {
	p := New(3, nil)
	held := grow(t, p, 1, 2)
	if p.Forget() || len(p.Match([]uint64{1, 2})) != 2 {
		t.Error("names of held blocks were taken")
	}
	p.Release(held)
	if !p.Forget() || len(p.Match([]uint64{1, 2})) != 0 {
		t.Error("names were left")
	}
	p.Release(grow(t, p, 1, 2, 3))
}

func TestTier(t *testing.T) {
	tier := NewTier(2)
	tier.put(1)
	tier.put(2)
	tier.put(1)
	tier.put(3) // 2 is the oldest
	if tier.Match([]uint64{1, 3, 2}) != 2 || tier.Len() != 2 || tier.Stored() != 3 {
		t.Errorf("%d found, %d there, %d stored", tier.Match([]uint64{1, 3, 2}), tier.Len(), tier.Stored())
	}
	tier.Use([]uint64{1})
	tier.put(4) // 3 is
	if tier.Match([]uint64{1, 4}) != 2 {
		t.Error("what was used went")
	}
	if tier.Len() != 2 || tier.Capacity() != 2 {
		t.Errorf("%d there", tier.Len())
	}
}

// Whatever is held, released and taken: blocks are counted right, nobody's block is taken from it, and each
// is where it belongs.
func TestPoolKeepsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 12).Draw(t, "capacity")
		p := New(capacity, NewTier(rapid.IntRange(0, 8).Draw(t, "below")))
		var all [][]*Block
		for range rapid.IntRange(1, 60).Draw(t, "acts") {
			if len(all) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				p.Release(all[i])
				all = slices.Delete(all, i, i+1)
			} else {
				chain := make([]uint64, rapid.IntRange(1, 5).Draw(t, "blocks"))
				for i := range chain {
					chain[i] = uint64(10*i) + rapid.Uint64Range(0, 1).Draw(t, "hash")
				}
				hits := p.Match(chain)
				if p.Needs(hits, len(chain)) > p.Free() {
					continue
				}
				p.Hold(hits)
				held, ok := p.Grow(hits, len(chain))
				if !ok {
					t.Fatal("there was room, and there is none")
				}
				for i, h := range chain {
					p.Name(held[i], h)
				}
				all = append(all, held)
			}
			checkCounts(t, p, all)
		}
	})
}

func checkCounts(t *rapid.T, p *Pool, all [][]*Block) {
	holders := map[*Block]int{}
	for _, held := range all {
		for _, b := range held {
			holders[b]++
		}
	}
	if len(holders) != p.Used() || p.Used()+p.Free() != p.Capacity() {
		t.Fatalf("%d blocks are held, %d in use, %d free of %d", len(holders), p.Used(), p.Free(), p.Capacity())
	}
	listed := p.unallocated
	for b := p.free.next; b != &p.free; b = b.next {
		if holders[b] > 0 || b.holders != 0 {
			t.Fatal("a held block is in the free list")
		}
		listed++
	}
	if listed != p.Free() {
		t.Fatalf("%d blocks can be taken, %d are free", listed, p.Free())
	}
	for b, n := range holders {
		if b.holders != n {
			t.Fatalf("a block has %d holders, it counts %d", n, b.holders)
		}
	}
	for h, b := range p.named {
		for ; b != nil; b = b.duplicate {
			if !b.named || b.hash != h {
				t.Fatal("a name leads to a block that does not have it")
			}
		}
	}
}
