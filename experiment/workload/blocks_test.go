package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBlocksHoldTheInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{Input: Fixed(rapid.IntRange(1, 500).Draw(t, "input")), Output: Fixed(1)}
		if w.Input.Least() > 1 && rapid.Bool().Draw(t, "with prefix") {
			w.Prefix = &Prefix{Tokens: rapid.IntRange(1, w.Input.Least()-1).Draw(t, "prefix"), Groups: rapid.IntRange(0, 3).Draw(t, "groups"),
				State: rapid.SampledFrom([]string{"", Cold, Shared, Warm}).Draw(t, "state")}
		}
		plan := NewPlan(w, 1, "")
		for _, r := range append(slices.Collect(plan.Priming), plan.Next(), plan.Next()) {
			sum := 0
			for _, b := range r.Blocks {
				if b.Tokens < 1 || b.Tokens > BlockTokens {
					t.Fatalf("a block of %d tokens", b.Tokens)
				}
				sum += b.Tokens
			}
			if sum != r.Input {
				t.Fatalf("blocks hold %d of %d tokens", sum, r.Input)
			}
		}
	})
}

// owners returns the requests that use each block.
func owners(into map[uint64]int, requests []Request) map[uint64]int {
	for _, r := range requests {
		for _, b := range r.Blocks {
			into[b.ID]++
		}
	}
	return into
}

func TestColdPromptsShareNothing(t *testing.T) {
	seen := map[uint64]int{}
	owners(seen, take(prefixed(Cold), 1, "row-a", 500))
	owners(seen, take(prefixed(Cold), 1, "row-b", 500)) // another row or run
	owners(seen, take(prefixed(Cold), 2, "row-a", 500)) // another repeat
	fresh := Workload{Input: Fixed(320), Output: Fixed(1)}
	owners(seen, take(fresh, 1, "row-c", 500))
	for _, state := range []string{Shared, Warm} { // a group's prefix is owned by its requests, but by no other row
		own := owners(map[uint64]int{}, take(prefixed(state), 1, "row-"+state, 100))
		for id := range own {
			seen[id]++
		}
	}
	two := Workload{Mix: []Class{{Name: "a", Weight: 1, Input: Fixed(64), Output: Fixed(1)}, {Name: "b", Weight: 1, Input: Fixed(64), Output: Fixed(1)}}}
	owners(seen, take(two, 1, "row-d", 500))
	for id, n := range seen {
		if n > 1 {
			t.Fatalf("block %x is used %d times", id, n)
		}
	}
}

func TestGroupsShareExactlyTheirPrefix(t *testing.T) {
	for _, state := range []string{Shared, Warm} {
		requests := take(prefixed(state), 1, "", 400)
		const whole = 4 // blocks of a prefix of 50: 16, 16, 16, 2
		groups := map[Block]int{}
		for _, r := range requests {
			groups[r.Blocks[0]]++
		}
		if len(groups) != 4 {
			t.Fatalf("%d groups, want 4", len(groups))
		}
		for _, n := range groups {
			if n < 60 || n > 140 { // 100 ± 4.6 deviations
				t.Errorf("groups of uneven size: %v", groups)
			}
		}
		suffixes := map[uint64]bool{}
		prefixes := map[Block][]Block{}
		for _, r := range requests {
			p := r.Blocks[:whole]
			if old := prefixes[p[0]]; old != nil && !slices.Equal(old, p) {
				t.Fatalf("two prefixes of one group differ")
			}
			prefixes[p[0]] = p
			for _, b := range r.Blocks[whole:] {
				if suffixes[b.ID] {
					t.Fatalf("a suffix block is shared")
				}
				suffixes[b.ID] = true
			}
		}
	}
}

func cuts(r Request) (c []int) {
	for _, b := range r.Blocks {
		c = append(c, b.Tokens)
	}
	return c
}

func TestStatesDifferOnlyInWhatIsShared(t *testing.T) {
	cold, shared, warm := take(prefixed(Cold), 1, "", 300), take(prefixed(Shared), 1, "", 300), take(prefixed(Warm), 1, "", 300)
	for i := range cold {
		for _, r := range []Request{shared[i], warm[i]} {
			if r.Input != cold[i].Input || r.Output != cold[i].Output || r.At != cold[i].At || !slices.Equal(cuts(r), cuts(cold[i])) {
				t.Fatalf("request %d differs in more than its prefix", i)
			}
		}
		if !slices.Equal(shared[i].Blocks, warm[i].Blocks) {
			t.Fatalf("request %d: shared and warm prompts differ", i)
		}
	}
}

// Priming is made as it is sent: who looks at three of many groups pays for three.
func TestPrimingIsLazy(t *testing.T) {
	p := NewPlan(Workload{Input: Fixed(64), Output: Fixed(1), Prefix: &Prefix{Tokens: 32, Groups: 1 << 20, State: Warm}}, 1, "")
	allocs := testing.AllocsPerRun(1, func() {
		n := 0
		for range p.Priming {
			if n++; n == 3 {
				break
			}
		}
	})
	if allocs > 30 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestPrimingCoversEveryGroup(t *testing.T) {
	w := mixed // its class "chat" is warm, in two groups
	p := NewPlan(w, 1, "x")
	primed := slices.Collect(p.Priming)
	if len(primed) != 2 {
		t.Fatalf("%d requests, want one for each of two groups", len(primed))
	}
	have := map[uint64]bool{}
	for i, r := range primed {
		if r.Index != -1-i || r.Class != "chat" || r.Output != 1 || r.Input != 48 {
			t.Errorf("%+v", r)
		}
		for _, b := range r.Blocks {
			if have[b.ID] {
				t.Error("two priming requests share a block")
			}
			have[b.ID] = true
		}
	}
	for range 300 {
		r := p.Next()
		for i, b := range r.Blocks {
			if want := r.Class == "chat" && i < 2; have[b.ID] != want {
				t.Fatalf("%s request %d, block %d: primed %v, want %v", r.Class, r.Index, i, have[b.ID], want)
			}
		}
	}
	for _, state := range []string{Cold, Shared, ""} {
		if n := len(slices.Collect(NewPlan(prefixed(state), 1, "").Priming)); n != 0 {
			t.Errorf("%q: %d priming requests", state, n)
		}
	}
}

var (
	idVocabulary = Vocabulary{FirstID: 1000, IDs: 30000}
	wordList     = strings.Fields("time year people way day man thing woman life child world school state family student group country")
)

func TestTokenIDs(t *testing.T) {
	byBlock := map[Block][]int32{}
	for _, r := range take(prefixed(Shared), 1, "", 200) {
		ids := idVocabulary.TokenIDs([]int32{-5}, &r)
		if ids[0] != -5 || len(ids) != r.Input+1 {
			t.Fatalf("%d ids appended, want %d", len(ids)-1, r.Input)
		}
		ids = ids[1:]
		for _, id := range ids {
			if id < 1000 || id >= 31000 {
				t.Fatalf("id %d", id)
			}
		}
		for _, b := range r.Blocks {
			if old := byBlock[b]; old != nil && !slices.Equal(old, ids[:b.Tokens]) {
				t.Fatal("a block has two readings")
			}
			byBlock[b], ids = ids[:b.Tokens], ids[b.Tokens:]
		}
	}
	texts := map[string]bool{}
	for b, ids := range byBlock {
		if b.Tokens == BlockTokens {
			var s strings.Builder
			for _, id := range ids {
				s.WriteRune(rune(id))
			}
			if texts[s.String()] {
				t.Fatal("two blocks have one reading")
			}
			texts[s.String()] = true
		}
	}
}

func TestTextHasTheInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.IntRange(1, 700).Draw(t, "input")
		w := Workload{Input: Fixed(input), Output: Fixed(1)}
		if input > 1 && rapid.Bool().Draw(t, "with prefix") {
			w.Prefix = &Prefix{Tokens: rapid.IntRange(1, input-1).Draw(t, "prefix")}
		}
		v := Vocabulary{Words: wordList, Sep: " ", Overhead: rapid.IntRange(-3, 40).Draw(t, "overhead"),
			TokensPerWord: rapid.SampledFrom([]float64{1, 1, 0.7, 1.3, 2.5}).Draw(t, "tokens per word")}
		r := NewPlan(w, 1, "").Next()
		words := len(strings.Split(v.Text(&r), " "))
		want := float64(input-v.Overhead) / v.TokensPerWord
		if v.TokensPerWord == 1 {
			if words != max(int(want), 1) {
				t.Fatalf("%d words, want %v", words, want)
			}
		} else if math.Abs(float64(words)-max(want, 1)) > 0.51 {
			t.Fatalf("%d words, want about %v", words, want)
		}
		if again := v.Text(&r); again != v.Text(&r) {
			t.Fatal("a prompt has two readings")
		}
	})
}

func TestTextOfAGroupBeginsAlike(t *testing.T) {
	for _, per := range []float64{1, 1.3} {
		v := Vocabulary{Words: wordList, Sep: " ", TokensPerWord: per, Overhead: 5}
		first := map[Block]string{}
		full := map[string]bool{}
		for _, r := range take(prefixed(Shared), 1, "", 100) {
			text := v.Text(&r)
			if full[text] {
				t.Fatal("two requests have one prompt")
			}
			full[text] = true
			n := int(min(50, float64(r.Input-v.Overhead)) / per)
			head := strings.Join(strings.Fields(text)[:min(n, 38)], " ")
			if old, ok := first[r.Blocks[0]]; ok && !strings.HasPrefix(old, head) && !strings.HasPrefix(head, old) {
				t.Fatalf("two prompts of one group begin unlike")
			}
			first[r.Blocks[0]] = head
		}
		heads := map[string]bool{}
		for _, h := range first {
			heads[h] = true
		}
		if len(heads) != 4 {
			t.Errorf("%d different heads of 4 groups", len(heads))
		}
	}
}

func BenchmarkTokenIDs(b *testing.B) {
	r := NewPlan(Workload{Input: Fixed(4096), Output: Fixed(1)}, 1, "").Next()
	var ids []int32
	b.ReportAllocs()
	for b.Loop() {
		ids = idVocabulary.TokenIDs(ids[:0], &r)
	}
}
