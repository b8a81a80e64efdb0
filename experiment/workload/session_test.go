package workload

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

var talking = Workload{
	Input: Length{Dist: "uniform", Min: 50, Max: 90}, Output: Length{Dist: "uniform", Min: 10, Max: 200}, Rate: 2,
	Prefix: &Prefix{Tokens: 40, Groups: 2},
	Session: &Session{
		Turns: Turns{Length{Dist: "uniform", Min: 1, Max: 6}}, User: Length{Dist: "lognormal", P50: 40, P95: 200, Max: 1000},
		Think: Think{Dist: "exponential", Mean: 5},
	},
}

// turns are all turns of the next n conversations, one conversation after the other.
func turns(w Workload, seed uint64, n int) []Request {
	p := NewPlan(w, seed, "")
	var out []Request
	for range n {
		r, more := p.Next(), true
		for ; more; r, more = p.Following(&r) {
			out = append(out, r)
		}
	}
	return out
}

func TestConversationsGrow(t *testing.T) {
	var last Request
	for i, r := range turns(talking, 1, 200) {
		if r.Index != i {
			t.Fatalf("request %d has the index %d", i, r.Index)
		}
		if r.Turn == 0 {
			if i > 0 && last.Turn != last.Turns-1 {
				t.Fatalf("conversation %d ends with turn %d of %d", last.Session, last.Turn, last.Turns)
			}
			if r.Think != 0 || r.Context != 0 || i > 0 && r.Session != last.Session+1 {
				t.Fatalf("first turn %+v", r)
			}
			last = r
			continue
		}
		if r.Session != last.Session || r.Turn != last.Turn+1 || r.Turns != last.Turns || r.At != 0 {
			t.Fatalf("turn %+v after %+v", r, last)
		}
		if r.Context != last.Input+last.Output || r.Input <= r.Context || !slices.Equal(r.Blocks[:len(last.Blocks)], last.Blocks) {
			t.Fatalf("turn %d of %d tokens, %d of them context, does not go on from one of %d and %d", r.Turn, r.Input, r.Context, last.Input, last.Output)
		}
		sum := 0
		for _, b := range r.Blocks {
			sum += b.Tokens
		}
		if sum != r.Input {
			t.Fatalf("blocks hold %d of %d tokens", sum, r.Input)
		}
		last = r
	}
}

func TestOnlyAConversationSharesItsBlocks(t *testing.T) {
	w := talking
	w.Prefix = nil
	owner := map[uint64]int{}
	for _, r := range turns(w, 1, 200) {
		for _, b := range r.Blocks {
			if s, ok := owner[b.ID]; ok && s != r.Session {
				t.Fatalf("conversations %d and %d share a block", s, r.Session)
			}
			owner[b.ID] = r.Session
		}
	}
}

// A turn does not depend on when and where it is made.
func TestTurnsAreFunctionsOfThePlan(t *testing.T) {
	want := turns(talking, 3, 100)
	p := NewPlan(talking, 3, "")
	var wg sync.WaitGroup
	for range 100 {
		r := p.Next()
		wg.Go(func() {
			for more := true; more; {
				if !reflect.DeepEqual(r, want[r.Index]) {
					t.Errorf("turn %d of conversation %d differs", r.Turn, r.Session)
				}
				r, more = p.Following(&r)
			}
		})
	}
	wg.Wait()
}

// Conversations change nothing in the arrivals and the first turns.
func TestConversationsLeaveTheirFirstTurns(t *testing.T) {
	alone := talking
	alone.Session = nil
	a, b := NewPlan(alone, 1, "x"), NewPlan(talking, 1, "x")
	for range 300 {
		one, first := a.Next(), b.Next()
		if one.At != first.At || one.Input != first.Input || one.Output != first.Output || !slices.Equal(one.Blocks, first.Blocks) {
			t.Fatalf("%+v, %+v", one, first)
		}
		if one.Turns != 0 || first.Turns < 1 {
			t.Fatalf("turns: %d alone, %d in a conversation", one.Turns, first.Turns)
		}
	}
}

func TestConversationsInAMix(t *testing.T) {
	w := Workload{Rate: 1, Mix: []Class{
		{Name: "chat", Weight: 1, Input: Fixed(64), Output: Fixed(16), Session: &Session{Turns: Turns{Fixed(3)}, User: Fixed(10)}},
		{Name: "rag", Weight: 1, Input: Fixed(500), Output: Fixed(5)},
	}}
	inputs := map[string][]int{"chat": {64, 90, 116}, "rag": {500}}
	seen := map[string]int{}
	for i, r := range turns(w, 1, 100) {
		if r.Index != i || r.Input != inputs[r.Class][r.Turn] || (r.Turns == 3) != (r.Class == "chat") {
			t.Fatalf("request %d: %+v", i, r)
		}
		seen[r.Class]++
	}
	if seen["chat"] < 90 || seen["rag"] < 30 {
		t.Errorf("%v", seen)
	}
}

func TestAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{Input: Fixed(rapid.IntRange(2, 80).Draw(t, "input")), Output: Fixed(rapid.IntRange(1, 50).Draw(t, "output")),
			Session: &Session{Turns: Turns{Fixed(4)}, User: Fixed(rapid.IntRange(1, 60).Draw(t, "user"))}}
		for _, r := range turns(w, 1, 2) {
			own := r.Added()
			sum := 0
			for _, b := range own.Blocks {
				sum += b.Tokens
			}
			want := w.Session.User.Least()
			if r.Turn == 0 {
				want = r.Input
			}
			if own.Input != want || sum != want || own.Context != 0 {
				t.Fatalf("turn %d adds %d tokens in blocks of %d, want %d", r.Turn, own.Input, sum, want)
			}
		}
	})
}

func TestThink(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		k         Think
		mean, p50 float64
	}{
		{Think{}, 0, 0}, {Think{Dist: "fixed", Mean: 1.5}, 1.5, 1.5}, {Think{Dist: "exponential", Mean: 5}, 5, 5 * math.Ln2},
		{Think{Dist: "lognormal", P50: 5, P95: 30}, 5 * math.Exp(math.Pow(math.Log(6)/z95, 2)/2), 5},
	} {
		var s []float64
		mean := 0.0
		const n = 40_000
		for range n {
			s = append(s, tt.k.draw(r).Seconds())
			mean += s[len(s)-1] / n
		}
		slices.Sort(s)
		if math.Abs(mean-tt.mean) > 0.04*tt.mean || math.Abs(s[n/2]-tt.p50) > 0.03*tt.p50 {
			t.Errorf("%+v: mean %v, median %v; want %v, %v", tt.k, mean, s[n/2], tt.mean, tt.p50)
		}
		tt.k.Max = 2
		for range 1000 {
			if d := tt.k.draw(r); d > 2*time.Second {
				t.Fatalf("%+v draws %v", tt.k, d)
			}
		}
	}
}

func decodeThink(text string) (Think, reported, error) {
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		return Think{}, nil, err
	}
	var k Think
	var got reported
	k.DecodeTOML(doc["v"], got.bad)
	return k, got, nil
}

func TestThinkDecodeTOML(t *testing.T) {
	for text, want := range map[string]Think{
		`"2s"`: {Dist: "fixed", Mean: 2}, `{ dist = "exponential", mean = "500ms", max = "1m" }`: {Dist: "exponential", Mean: 0.5, Max: 60},
		`{ dist = "lognormal", p50 = "5s", p95 = "30s" }`: {Dist: "lognormal", P50: 5, P95: 30},
	} {
		k, got, err := decodeThink("v = " + text)
		if err != nil || len(got) > 0 || k != want {
			t.Errorf("%s: %+v %q %v", text, k, got, err)
		}
	}
	for text, want := range map[string]string{
		`2`: ": a duration must be a string", `"soon"`: `: "soon" is not a duration`, `"-1s"`: `: "-1s" is not a duration`,
		`{ mean = "2s" }`: `dist: unknown distribution ""`, `{ dist = "exponential" }`: ": exponential needs mean",
		`{ dist = "exponential", mean = "2s", p50 = "1s" }`: `p50: exponential has no key "p50"`,
		`{ dist = "exponential", mean = 2 }`:                "mean: a duration must be a string",
		`{ dist = "lognormal", p50 = "5s", p95 = "3s" }`:    "p95: p95 3s is below p50 5s",
		`{ dist = "lognormal", p50 = "0s", p95 = "3s" }`:    "p95: p95 3s is below",
	} {
		_, got, err := decodeThink("v = " + text)
		if err != nil {
			t.Fatal(err)
		}
		got.want(t, want)
	}
}

// A number of turns is written as a length is, and its mistakes speak of turns.
func TestTurnsDecodeTOML(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string // a mistake, and its hint
	}{
		{int64(5), ""}, {map[string]any{"dist": "uniform", "min": int64(2), "max": int64(8)}, ""},
		{int64(0), ": 0 turns is not between 1 and 10000 | write turns = 5, or"},
		{int64(10_001), ": 10001 turns is not between 1 and 10000 | write turns = 5, or"},
		{"many", ": a length must be an integer number of turns or a table, not \"many\" | write turns = 5, or"},
		{map[string]any{"dist": "uniform", "min": int64(0), "max": int64(8)}, "min: min is below 1 turn | write min = 1"},
		{map[string]any{"dist": "normal", "mean": "x", "std": 1.0}, "mean: mean must be a number"},
	} {
		var n Turns
		var got reported
		n.DecodeTOML(c.v, got.bad)
		if c.want == "" && (len(got) > 0 || !n.set()) || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%v: %q, want %q", c.v, []string(got), c.want)
		}
	}
}

func TestSessionJSON(t *testing.T) {
	var back Workload
	if b, err := json.Marshal(talking); err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, talking) {
		t.Errorf("%s became %+v", b, back)
	}
}
