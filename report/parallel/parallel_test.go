package parallel

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOf(rapid.Int64Range(0, 2*most)).Draw(t, "sizes")
		var mu sync.Mutex
		var used int64
		running, calls := 0, make([]int, len(sizes))
		add := func(n int, bytes int64) {
			mu.Lock()
			defer mu.Unlock()
			if running, used = running+n, used+bytes; used > most && running > 1 {
				t.Errorf("%d calls need %d bytes", running, used)
			}
		}
		Do(len(sizes), func(i int) int64 { return sizes[i] }, func(i int) {
			add(1, sizes[i])
			calls[i]++
			add(-1, -sizes[i])
		})
		if slices.ContainsFunc(calls, func(n int) bool { return n != 1 }) {
			t.Errorf("calls: %d", calls)
		}
	})
}

func TestDoWithoutSizes(t *testing.T) {
	squares := make([]int, 100)
	Do(len(squares), nil, func(i int) { squares[i] = i * i })
	for i, x := range squares {
		if x != i*i {
			t.Errorf("%d: %d", i, x)
		}
	}
	Do(0, nil, func(int) { t.Error("called") })
}
