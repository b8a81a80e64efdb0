package workload

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Every arrival belongs to one worker, the parts of all counts sum to the whole, and a worker gets arrivals in proportion
// to its part of the concurrency.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, all := rapid.IntRange(1, 12).Draw(t, "of"), rapid.IntRange(0, 40).Draw(t, "concurrency")
		n := rapid.IntRange(0, 600).Draw(t, "arrivals")
		owned, among, concurrency := 0, 0, 0
		first := map[int]int{} // rounds that begin with a worker
		for k := range of {
			s := Share{Worker: k, Of: of, RowConcurrency: all, Seed: 7}
			own := 0
			for i := range n {
				if s.Owns(i) {
					own++
				}
			}
			if own != s.Among(n) || s.Idle() && own > 0 {
				t.Fatalf("worker %d owns %d, Among says %d", k, own, s.Among(n))
			}
			if c := s.Concurrency(); all > 0 && n%all == 0 && own*all != n*c {
				t.Fatalf("worker %d owns %d of %d with concurrency %d of %d", k, own, n, c, all)
			}
			owned, among, concurrency = owned+own, among+s.Among(n), concurrency+s.Concurrency()
			for i := range n / of * of {
				if all%of == 0 && s.Round() == of && s.Owns(i) && i%of == 0 {
					first[k]++
				}
			}
		}
		if rounds := n / of; all%of == 0 && rounds >= 60*of {
			for k := range of {
				if 4*of*first[k] < rounds {
					t.Fatalf("%d of %d rounds begin with worker %d of %d", first[k], rounds, k, of)
				}
			}
		}
		if owned != n || among != n || concurrency != all {
			t.Fatalf("%d of %d arrivals, %d counted, concurrency %d of %d", owned, n, among, concurrency, all)
		}
	})
	if s := (Share{}); !s.Owns(7) || s.Among(9) != 9 || s.Idle() {
		t.Error("the zero value is the whole plan")
	}
}

// A plan is identified by what it sends, and making the identity of one leaves others as they are.
func TestFingerprint(t *testing.T) {
	w := Workload{Input: Fixed(100), Output: Fixed(10), Rate: 5}
	one := NewPlan(w, 1, "salt").Fingerprint(100)
	if NewPlan(w, 1, "salt").Fingerprint(100) != one {
		t.Error("equal plans differ")
	}
	w2 := w
	w2.Output = Fixed(11)
	for what, other := range map[string]string{
		"seed": NewPlan(w, 2, "salt").Fingerprint(100), "salt": NewPlan(w, 1, "other").Fingerprint(100),
		"length": NewPlan(w2, 1, "salt").Fingerprint(100), "number": NewPlan(w, 1, "salt").Fingerprint(99),
	} {
		if other == one {
			t.Errorf("another %s has the same identity", what)
		}
	}
}

// BenchmarkOthersArrival is what one arrival of another worker costs: the plan makes it, and nothing encodes it.
func BenchmarkOthersArrival(b *testing.B) {
	for _, input := range []int{256, 8192} {
		b.Run(strconv.Itoa(input), func(b *testing.B) {
			p := NewPlan(Workload{Input: Fixed(input), Output: Fixed(200), Rate: 1000}, 1, "salt")
			share := Share{Worker: 1, Of: 2}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if r := p.Next(); share.Owns(i) && r.Input == 0 {
					b.Fatal("no prompt")
				}
			}
		})
	}
}
