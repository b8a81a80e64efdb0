package workload

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPopularityOfGroups(t *testing.T) {
	const n = 30_000
	for _, zipf := range []float64{0, 0.8, 1.5} {
		w := Workload{Input: Fixed(64), Output: Fixed(1), Prefix: &Prefix{Tokens: 32, Groups: 5, Zipf: zipf}}
		plan := NewPlan(w, 1, "")
		group := map[Block]int{}
		for g := range 5 {
			group[plan.fill(nil, 32, blockPrefix, 0, uint64(g), 0)[0]] = g
		}
		var counts [5]float64
		for _, r := range take(w, 1, "", n) {
			counts[group[r.Blocks[0]]]++
		}
		sum := 0.0
		for k := range counts {
			sum += math.Pow(float64(k+1), -zipf)
		}
		for k, got := range counts {
			want := n * math.Pow(float64(k+1), -zipf) / sum
			if math.Abs(got-want) > 4*math.Sqrt(want) {
				t.Errorf("zipf %v: group %d came %v times, want %v", zipf, k, got, want)
			}
		}
	}
}

// A target hit rate is what a plan hits, once its prefixes are there: to half a block of each prompt.
func TestTargetHitRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.05, 0.95).Draw(t, "rate")
		input := rapid.SampledFrom([]Length{
			Fixed(1000), Fixed(37), {Dist: "uniform", Min: 1, Max: 5000}, {Dist: "lognormal", P50: 300, P95: 2000, Max: 4000}, {Dist: "empirical", Values: []int{100, 3000}},
		}).Draw(t, "input")
		w := Workload{Input: input, Output: Fixed(1), Prefix: &Prefix{HitRate: rate, Groups: 3, State: Warm}}
		var got reported
		if w.Check(got.bad); (len(got) > 0) != (w.Prefix.sharedTokens(input.most()) == 0) {
			t.Fatal(got)
		}
		if len(got) > 0 {
			t.Skip("a rate of less than a block")
		}
		pool := NewPool(0, BlockTokens)
		var sent, found, prompt float64
		for r, hit := range NewPlan(w, rapid.Uint64().Draw(t, "seed"), "").Serve(pool, 1, 0) {
			most := float64((r.Input - 1) / BlockTokens * BlockTokens)
			if want := min(rate*float64(r.Input), most); math.Abs(float64(hit)-want) > BlockTokens/2+1e-9 {
				t.Fatalf("%d of %d tokens hit, want %v", hit, r.Input, want)
			}
			found, prompt = found+float64(hit), prompt+float64(r.Input)
			if sent++; sent == 200 {
				break
			}
		}
		if got := found / prompt; input.Least() >= 1000 && math.Abs(got-rate) > 0.008 {
			t.Fatalf("hit rate %v, want %v", got, rate)
		}
	})
}

func TestPrefixMistakes(t *testing.T) {
	for _, tt := range []struct {
		p     Prefix
		input Length
		want  []string
	}{
		{Prefix{HitRate: 0.5, Tokens: 4}, Fixed(100), []string{"prefix.hit_rate: hit_rate and tokens both set"}},
		{Prefix{HitRate: 1}, Fixed(100), []string{"prefix.hit_rate: hit_rate 1 is not between 0 and 1"}},
		{Prefix{HitRate: -0.5}, Fixed(100), []string{"prefix.hit_rate: hit_rate -0.5"}},
		{Prefix{HitRate: 0.5}, Length{Dist: "lognormal", P50: 3, P95: 9}, []string{"prefix.hit_rate: hit_rate requires an input"}},
		{Prefix{HitRate: 0.9}, Fixed(12), []string{"prefix.hit_rate: hit_rate 0.9 of the longest input (12 tokens) is less than one block"}},
		{Prefix{HitRate: 0.9}, Fixed(40), nil},
		{Prefix{Tokens: 4, Zipf: -1}, Fixed(100), []string{"prefix.zipf: zipf -1 is not"}},
		{Prefix{Tokens: 4, Zipf: 1, Groups: 1<<20 + 1}, Fixed(100), []string{"prefix.groups: with zipf, groups must be at most 1048576, not 1048577"}},
		{Prefix{Tokens: -4}, Fixed(100), []string{"prefix.tokens: a prefix needs at least one"}},
	} {
		var got reported
		Workload{Input: tt.input, Output: Fixed(1), Prefix: &tt.p}.Check(got.bad)
		got.want(t, tt.want...)
	}
}

// The state on a row with a mix goes for every class that states none.
func TestStateOfAMix(t *testing.T) {
	w := Workload{Rate: 1, Prefix: &Prefix{State: Warm}, Mix: []Class{
		{Name: "a", Weight: 1, Input: Fixed(64), Output: Fixed(1), Prefix: &Prefix{Tokens: 32, Groups: 2}},
		{Name: "b", Weight: 1, Input: Fixed(64), Output: Fixed(1), Prefix: &Prefix{Tokens: 48, State: Cold}},
		{Name: "c", Weight: 1, Input: Fixed(64), Output: Fixed(1)},
	}}
	var got reported
	if w.Check(got.bad); len(got) > 0 {
		t.Fatal(got)
	}
	if n := len(slices.Collect(NewPlan(w, 1, "").Priming)); n != 2 || w.WarmTokens("a", BlockTokens) != 32 || w.WarmTokens("b", BlockTokens) != 0 || w.WarmTokens("c", BlockTokens) != 0 {
		t.Errorf("%d priming requests", n)
	}
	if !reflect.DeepEqual(*w.Mix[0].Prefix, Prefix{Tokens: 32, Groups: 2}) {
		t.Error("the row's own class was changed")
	}
	w.Prefix.Tokens = 16
	w.Check(got.bad)
	got.want(t, "prefix: with a mix, prefixes belong in its classes")
}
