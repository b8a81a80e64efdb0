package trace

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// lruHits is a plain LRU cache, written to be read: the blocks in the order of their last use, newest last.
func lruHits(prompts [][]uint64, size int) (hits int) {
	var cache []uint64
	for _, prompt := range prompts {
		for _, id := range prompt {
			if i := slices.Index(cache, id); i >= 0 {
				hits++
				cache = slices.Delete(cache, i, i+1)
			} else if len(cache) == size {
				cache = slices.Delete(cache, 0, 1)
			}
			cache = append(cache, id)
		}
	}
	return hits
}

// vllmHits is vLLM's block pool with one request at a time: blocks of the longest cached prefix are taken out
// of the queue of free ones, others are evicted from its front, and at the end all are freed, the last one
// first.
func vllmHits(prompts [][]uint64, size int) (hits int) {
	var free []uint64 // cached, evicted from the front
	for _, prompt := range prompts {
		cached := 0
		for cached < len(prompt) && slices.Contains(free, prompt[cached]) {
			cached++
		}
		hits += cached
		for _, id := range prompt[:cached] {
			i := slices.Index(free, id)
			free = slices.Delete(free, i, i+1)
		}
		for len(free)+len(prompt) > size {
			free = slices.Delete(free, 0, 1)
		}
		for i := len(prompt) - 1; i >= 0; i-- {
			free = append(free, prompt[i])
		}
	}
	return hits
}

// prompts draws prompts over a tree of prefixes, so that equal numbers are equal prefixes.
func prompts(t *rapid.T) (out [][]uint64, largest int) {
	ids := map[[2]uint64]uint64{}
	for range rapid.IntRange(1, 60).Draw(t, "requests") {
		var p []uint64
		parent := uint64(0)
		for _, choice := range rapid.SliceOfN(rapid.Uint64Range(0, 2), 1, 8).Draw(t, "prompt") {
			key := [2]uint64{parent, choice}
			if ids[key] == 0 {
				ids[key] = uint64(len(ids) + 1)
			}
			parent = ids[key]
			p = append(p, parent)
		}
		out = append(out, p)
		largest = max(largest, len(p))
	}
	return out, largest
}

func TestCacheAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, largest := prompts(t)
		r := newReuse()
		blocks := 0
		for _, p := range all {
			r.request(p, len(p), 1)
			blocks += len(p)
		}
		if r.unchained != 0 || r.largest != largest {
			t.Fatalf("%d unchained, largest %d of %d", r.unchained, r.largest, largest)
		}
		for size := 1; size < blocks+2; size += 1 + size/4 {
			if got, want := r.lru.rate(size), float64(lruHits(all, size))/float64(blocks); got != want {
				t.Fatalf("LRU of %d: %v, want %v\n%v", size, got, want, all)
			}
			if size < largest {
				continue // vLLM would not take such a prompt
			}
			if got, want := r.tailFirst.rate(size), float64(vllmHits(all, size))/float64(blocks); got != want {
				t.Fatalf("tail first, %d: %v, want %v\n%v", size, got, want, all)
			}
		}
		if got, want := r.lru.rate(0), float64(lruHits(all, blocks))/float64(blocks); got != want || r.tailFirst.rate(0) != want {
			t.Fatalf("without an end: %v, want %v", got, want)
		}
	})
}

// TestCyclic: contexts used in turn hit nothing when the cache lacks one of them, and all when they fit.
func TestCyclic(t *testing.T) {
	const contexts, blocks, rounds = 7, 100, 20
	r := newReuse()
	for range rounds {
		for c := range contexts {
			p := make([]uint64, blocks)
			for i := range p {
				p[i] = uint64(c*blocks + i)
			}
			r.request(p, len(p), 1)
		}
	}
	short, whole := (contexts-1)*blocks, contexts*blocks
	if r.lru.rate(short) != 0 || r.tailFirst.rate(short) != 0 {
		t.Errorf("one context short: %v and %v, want 0", r.lru.rate(short), r.tailFirst.rate(short))
	}
	want := float64(rounds-1) / rounds
	if r.lru.rate(whole) != want || r.tailFirst.rate(whole) != want {
		t.Errorf("all fit: %v and %v, want %v", r.lru.rate(whole), r.tailFirst.rate(whole), want)
	}
}

func TestUnchained(t *testing.T) {
	r := newReuse()
	r.request([]uint64{1, 2, 3}, 3, 1)
	r.request([]uint64{2, 1, 3}, 3, 1)
	r.request([]uint64{2, 1, 3}, 3, 1)
	if r.unchained != 2 {
		t.Errorf("%d blocks at several places, want 2", r.unchained)
	}
}

func TestRoundSizes(t *testing.T) {
	for _, c := range []struct {
		all  int
		want []int
	}{{0, nil}, {1, nil}, {13, []int{1, 2, 5, 10}}, {1200, []int{10, 20, 50, 100, 200, 500, 1000}}, {1000, []int{10, 20, 50, 100, 200, 500}}} {
		if got := roundSizes(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, want %v", c.all, got, c.want)
		}
	}
}

func BenchmarkReuse(b *testing.B) {
	r := newReuse()
	p := make([]uint64, 64)
	n := uint64(0)
	for b.Loop() {
		for i := range p {
			p[i] = n*n%50021*64 + uint64(i)
		}
		n++
		r.request(p, len(p), 1)
	}
}
