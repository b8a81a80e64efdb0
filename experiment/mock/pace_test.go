package mock

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Of tokens due at the same time everybody's is the first now and then; otherwise the order is that of the
// times.
func TestOrderOfBursts(t *testing.T) {
	const n = 200
	var s Server
	var order []int
	ready := make([]*seq, n+1)
	for i := range ready {
		ready[i] = newSeq(0, 32000, []int32{1}, 0)
		ready[i].mail.sink = func([]time.Duration) bool { order = append(order, i); return true }
	}
	front := map[int]bool{} // have been among the first sixteenth
	for range n {
		order = order[:0]
		for i, q := range ready {
			q.emitted = append(q.emitted, time.Duration(i/n)) // all at 0, but for the last at 1
		}
		if s.deliver(ready) {
			t.Fatal("somebody was woken")
		}
		for _, i := range order[:n/16] {
			front[i] = true
		}
		if order[n] != n || len(order) != n+1 || order[1] != (order[0]+1)%n {
			t.Fatalf("order %v", order)
		}
	}
	if len(front) < n {
		t.Errorf("only %d of %d were ever in front", len(front), n)
	}
}

// An agenda is a stable sorted queue.
func TestAgenda(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a dueQueue
		var want []dueToken
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if len(want) > 0 && rapid.Bool().Draw(t, "pop") {
				if a.next() != want[0].at {
					t.Fatalf("next is %v, want %v", a.next(), want[0].at)
				}
				if x := a.pop(); x != want[0] {
					t.Fatalf("popped %v, want %v", x, want[0])
				}
				want = want[1:]
				continue
			}
			x := dueToken{time.Duration(rapid.IntRange(0, 20).Draw(t, "at")), new(seq)}
			a.add(x.at, x.q)
			want = append(want, x)
			slices.SortStableFunc(want, func(x, y dueToken) int { return int(x.at - y.at) })
		}
		if a.empty() != (len(want) == 0) {
			t.Fatalf("empty: %v, with %d left", a.empty(), len(want))
		}
	})
}
