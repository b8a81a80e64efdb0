package loadgentest

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The rule of MLPerf LoadGen at its confidence of 0.99. 662 is the number of queries that mlperf.conf itself
// asks of the MultiStream scenario; the rest is the same rule, computed apart from this code.
func TestDecidePassesFromMLPerfsTotal(t *testing.T) {
	over := []int{0, 1, 2, 3, 5, 10, 20, 50, 100}
	for p, want := range map[float64][]int{
		0.90:  {44, 64, 81, 97, 127, 197, 325, 681, 1_246},
		0.95:  {90, 130, 165, 198, 259, 398, 656, 1_372, 2_504},
		0.99:  {459, 662, 838, 1_001, 1_307, 2_010, 3_304, 6_898, 12_571},
		0.999: {4_603, 6_636, 8_403, 10_042, 13_105, 20_140, 33_097, 69_058, 125_826},
	} {
		for i, over := range over {
			got, before := Decide(want[i], over, p, 0.99), Decide(want[i]-1, over, p, 0.99)
			if got != "PASS" || before == "PASS" {
				t.Errorf("p=%v, %d over: %s of %d, %s of one fewer", p, over, got, want[i], before)
			}
		}
	}
}

// The figures are of scipy 1.17.1: binom.cdf and binom.sf.
func TestDecide(t *testing.T) {
	tests := []struct {
		name          string
		n, over       int
		p, confidence float64
		verdict       string
	}{
		{"nothing yet", 0, 0, 0.99, 0.99, "UNDECIDED"},
		{"one short", 458, 0, 0.99, 0.99, "UNDECIDED"},
		{"none over", 459, 0, 0.99, 0.99, "PASS"},
		{"one over, one short", 661, 1, 0.99, 0.99, "UNDECIDED"},
		{"one over", 662, 1, 0.99, 0.99, "PASS"},
		{"half the share", 1_000, 5, 0.99, 0.99, "UNDECIDED"},
		{"a third of the share", 1_000, 3, 0.99, 0.99, "UNDECIDED"},
		{"just the share", 1_000, 10, 0.99, 0.99, "UNDECIDED"},
		{"just the share, p50", 2, 1, 0.5, 0.9, "UNDECIDED"},
		{"half as much again", 1_000, 15, 0.99, 0.99, "UNDECIDED"},
		{"nearly too much", 1_000, 18, 0.99, 0.99, "UNDECIDED"},
		{"too much", 1_000, 19, 0.99, 0.99, "FAIL"},
		{"three of a hundred", 100, 3, 0.99, 0.99, "UNDECIDED"},
		{"four of a hundred", 100, 4, 0.99, 0.99, "UNDECIDED"},
		{"five of a hundred", 100, 5, 0.99, 0.99, "FAIL"},
		{"p90", 200, 12, 0.9, 0.99, "UNDECIDED"},
		{"median", 50, 1, 0.5, 0.95, "PASS"},
		{"all over", 10, 10, 0.5, 0.99, "FAIL"},
		{"all over, but few", 5, 5, 0.5, 0.99, "UNDECIDED"},
		{"none is allowed, none is over", 1_000, 0, 1, 0.99, "UNDECIDED"},
		{"none is allowed, one is over", 1_000, 1, 1, 0.99, "FAIL"},
	}
	for _, tt := range tests {
		if got := Decide(tt.n, tt.over, tt.p, tt.confidence); got != tt.verdict {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.verdict)
		}
	}
}

// More requests over the limit never make the verdict better.
func TestDecideIsMonotone(t *testing.T) {
	rank := map[string]int{"PASS": 0, "UNDECIDED": 1, "FAIL": 2}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0.5, 0.999).Draw(t, "p")
		n := rapid.IntRange(1, 300).Draw(t, "n")
		worst := 0
		for over := range n + 1 {
			v := Decide(n, over, p, 0.99)
			if rank[v] < worst {
				t.Fatalf("p=%v n=%d: %s with %d over, after worse with fewer", p, n, v, over)
			}
			worst = rank[v]
		}
	})
}

// A server that is exactly at the limit is passed or failed wrongly at most once in a hundred looks.
func TestDecideErrs(t *testing.T) {
	const trials, n, p = 5000, 700, 0.99
	rng := rand.New(rand.NewPCG(7, 7))
	seen := map[string]int{}
	known := map[int]string{}
	for range trials {
		over := 0
		for range n {
			if rng.Float64() >= p {
				over++
			}
		}
		if _, ok := known[over]; !ok {
			known[over] = Decide(n, over, p, 0.99)
		}
		seen[known[over]]++
	}
	// 50 are expected at the most; four standard errors above that are 78.
	if seen["PASS"] == 0 || seen["PASS"] > 78 || seen["FAIL"] == 0 || seen["FAIL"] > 78 {
		t.Errorf("of %d: %v", trials, seen)
	}
}

func BenchmarkDecide(b *testing.B) {
	for b.Loop() {
		Decide(10_000, 95, 0.99, 0.99)
	}
}
