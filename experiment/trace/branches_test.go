package trace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLinkSpans compares the parents with those by the definition: the transitive reduction of "ended before, and
// not in a branch that ran in parallel".
func TestLinkSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	parallel := 0
	for range 1000 {
		nodes := make([]Node, 1+r.IntN(12))
		paths := make([][]uint64, len(nodes))
		for i := range nodes {
			nodes[i].At, nodes[i].Took = time.Duration(r.IntN(16)), time.Duration(r.IntN(4))
			for depth := r.IntN(3); depth >= 0; depth-- {
				span := uint64(1 + r.IntN(3))
				if n := len(paths[i]); n > 0 {
					span += 10 * paths[i][n-1]
				}
				paths[i] = append(paths[i], span)
			}
			paths[i] = append(paths[i], uint64(1_000_000+i))
		}
		order(nodes)
		if err := linkSpans(nodes, paths); err != nil {
			t.Fatal(err)
		}
		before := beforeBySpans(nodes, paths)
		for i := range nodes {
			want := direct(nodes, before, i)
			for p := range nodes {
				if follows(nodes, p, i) && !before(p, i) {
					parallel++
				}
			}
			slices.Sort(nodes[i].Parents)
			if !slices.Equal(nodes[i].Parents, want) {
				t.Fatalf("node %d of %+v in %v: parents %v, want %v", i, nodes, paths, nodes[i].Parents, want)
			}
		}
	}
	if parallel == 0 {
		t.Error("no session had branches in parallel")
	}
}

// direct are the nodes before i that are before no other one before it.
func direct(nodes []Node, before func(a, b int) bool, i int) (parents []int) {
	for p := range nodes {
		isDirect := before(p, i)
		for q := range nodes {
			isDirect = isDirect && !(before(p, q) && before(q, i))
		}
		if isDirect {
			parents = append(parents, p)
		}
	}
	return parents
}

func follows(nodes []Node, a, b int) bool {
	return nodes[a].end() <= nodes[b].At && nodes[a].At < nodes[b].At
}

// beforeBySpans reports of two requests whether the first must end before the second begins, by the definition.
func beforeBySpans(nodes []Node, paths [][]uint64) func(a, b int) bool {
	inside := func(i int, span uint64) bool { return slices.Contains(paths[i], span) }
	return func(a, b int) bool {
		if !follows(nodes, a, b) {
			return false
		}
		k := 0
		for paths[a][k] == paths[b][k] {
			k++
		}
		for i := range nodes {
			for j := range nodes {
				if inside(i, paths[a][k]) && inside(j, paths[b][k]) && !follows(nodes, i, j) && !follows(nodes, j, i) {
					return false
				}
			}
		}
		return true
	}
}
