package workload

import (
	"fmt"
	"testing"
)

// Requests of one model on one replica find each other's prefixes, and no others.
func TestHitsByModelAndReplica(t *testing.T) {
	w := Workload{Input: Fixed(96), Output: Fixed(1), Rate: 1, Seed: 1, Prefix: &Prefix{Tokens: 64, State: Shared}}
	hits := func(w Workload, r Replicas) (cold int) {
		n := 0
		for request, hit := range NewPlan(w, 1, "").Over(r).Serve(NewPool(0, 16), 0, 0) {
			if hit == 0 {
				cold++
			} else if hit != 64 {
				t.Errorf("request %d: %d tokens", request.Index, hit)
			}
			if n++; n == 200 {
				break
			}
		}
		return cold
	}
	if got := hits(w, Replicas{}); got != 1 {
		t.Errorf("%d requests without a hit", got)
	}
	if got := hits(w, Replicas{N: 3}); got != 3 {
		t.Errorf("three replicas: %d requests without a hit", got)
	}
	w.Adapters = &Adapters{Names: []string{"a", "b"}, Zipf: 1}
	if got := hits(w, Replicas{N: 3}); got != 6 {
		t.Errorf("two adapters on three replicas: %d requests without a hit", got)
	}
	w.Prefix.State = Warm
	if got := hits(w, Replicas{N: 3}); got != 0 {
		t.Errorf("primed: %d requests without a hit", got)
	}
}

// A sticky conversation stays on its replica, where its context is; one after the other, it misses each time at first.
func TestSticky(t *testing.T) {
	w := Workload{Input: Fixed(32), Output: Fixed(16), Seed: 1, Session: &Session{Turns: Turns{Fixed(4)}, User: Fixed(16)}}
	for _, sticky := range []bool{false, true} {
		p := NewPlan(w, 1, "").Over(Replicas{N: 2, Sticky: sticky})
		of, moved := [2]int{}, false
		for range 50 {
			first := p.Next()
			r := first
			for {
				of[p.Replica(&r)]++
				moved = moved || p.Replica(&r) != p.Replica(&first)
				next, more := p.Following(&r)
				if !more {
					break
				}
				r = next
			}
		}
		if of != [2]int{100, 100} || moved == sticky {
			t.Errorf("sticky %v: %v requests, moved %v", sticky, of, moved)
		}
	}
}

// Replicas in turn get equal shares of what else comes in turn: adapters, and turns of conversations.
func TestReplicasMeetAll(t *testing.T) {
	for _, c := range []struct{ adapters, replicas, turns int }{{2, 2, 1}, {2, 4, 1}, {4, 2, 1}, {2, 2, 2}, {2, 2, 4}, {3, 2, 3}} {
		w := Workload{Input: Fixed(32), Output: Fixed(16), Rate: 1, Seed: 1, Adapters: &Adapters{Order: roundRobin}}
		if c.turns > 1 {
			w.Session = &Session{Turns: Turns{Fixed(c.turns)}, User: Fixed(16)}
		}
		for i := range c.adapters {
			w.Adapters.Names = append(w.Adapters.Names, string(rune('a'+i)))
		}
		for _, sticky := range []bool{false, true} {
			const each = 400
			p := NewPlan(w, 1, "").Over(Replicas{N: c.replicas, Sticky: sticky})
			met, shares := map[string]int{}, make([]int, c.replicas)
			for range each * c.adapters * c.replicas {
				for r, more := p.Next(), true; more; r, more = p.Following(&r) {
					met[fmt.Sprint(r.Model, r.Turn, p.Replica(&r))]++
					shares[p.Replica(&r)]++
				}
			}
			if len(met) != c.adapters*c.turns*c.replicas {
				t.Errorf("%+v, sticky %v: %d kinds of requests", c, sticky, len(met))
			}
			for kind, n := range met { // within five standard deviations
				if n < each-100 || n > each+100 {
					t.Errorf("%+v, sticky %v: %d × %s, want about %d", c, sticky, n, kind, each)
				}
			}
			for _, n := range shares {
				if n != each*c.adapters*c.turns {
					t.Errorf("%+v, sticky %v: shares %v", c, sticky, shares)
				}
			}
		}
	}
}

// Adapters are drawn by their weights, in proportion to k^-zipf, or one after the other, and change no length.
func TestAdapters(t *testing.T) {
	plain := Workload{Input: Length{Dist: "uniform", Min: 10, Max: 99}, Output: Fixed(4), Rate: 1, Seed: 1}
	const n = 20_000
	for _, tt := range []struct {
		a    Adapters
		want []float64
	}{
		{Adapters{Weights: []float64{6, 3, 1}}, []float64{0.6, 0.3, 0.1}},
		{Adapters{Zipf: 1}, []float64{6.0 / 11, 3.0 / 11, 2.0 / 11}},
		{Adapters{}, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}},
		{Adapters{Order: roundRobin}, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}},
	} {
		w := plain
		w.Adapters = &tt.a
		w.Adapters.Names = []string{"a", "b", "c"}
		w.Check(func(key, problem, _ string) { t.Errorf("%s: %s", key, problem) })
		p, without := NewPlan(w, 1, ""), NewPlan(plain, 1, "")
		got := map[string]int{}
		for i := range n {
			r, other := p.Next(), without.Next()
			got[r.Model]++
			if r.Input != other.Input || r.At != other.At || r.Blocks[0] != other.Blocks[0] {
				t.Fatalf("request %d: %+v, without adapters %+v", i, r, other)
			}
			if tt.a.Order != "" && r.Model != w.Adapters.Names[i%3] {
				t.Fatalf("request %d goes to %s", i, r.Model)
			}
		}
		for i, share := range tt.want { // within four standard deviations
			if off := float64(got[w.Adapters.Names[i]])/n - share; off > 0.014 || off < -0.014 {
				t.Errorf("%+v: %v", tt.a, got)
			}
		}
	}
}

// Users leave by the plan, at the time that it draws, and change nothing else.
func TestLeaveIsPlanned(t *testing.T) {
	w := Workload{Input: Fixed(16), Output: Fixed(4), Rate: 1, Seed: 1, Leave: &Leave{Share: 0.25, After: Think{Dist: "exponential", Mean: 2}}}
	w.Check(func(key, problem, _ string) { t.Errorf("%s: %s", key, problem) })
	p, n, sum := NewPlan(w, 1, ""), 0, 0.0
	for range 20_000 {
		if r := p.Next(); r.LeaveAfter > 0 {
			n, sum = n+1, sum+r.LeaveAfter.Seconds()
		}
	}
	if n < 4750 || n > 5250 || sum/float64(n) < 1.9 || sum/float64(n) > 2.1 {
		t.Errorf("%d of 20000 leave, after %.3f s on average", n, sum/float64(n))
	}
}
