package workload

import (
	"fmt"
	"math"
	"sort"
)

// States of a prefix.
const (
	Cold   = "cold"   // no two requests share a block
	Shared = "shared" // groups repeat, and warm up as they come
	Warm   = "warm"   // every group is primed with other suffixes before the window
)

// Prefix says how much of the prompts is common, and whether the server has met it.
type Prefix struct {
	Tokens  int     `toml:"tokens" json:"tokens"`               // of the input; 0 = as HitRate says
	HitRate float64 `toml:"hit_rate" json:"hit_rate,omitempty"` // share of each prompt that is its group's, to the nearest whole block; 0 = as Tokens says
	Groups  int     `toml:"groups" json:"groups"`               // how many different prefixes; 0 = 1
	Zipf    float64 `toml:"zipf" json:"zipf,omitempty"`         // popularity: the k-th group comes k^-zipf as often as the first; 0 = all alike
	State   string  `toml:"state" json:"state"`                 // cold, shared (default) or warm
}

// maxRanked bounds the groups of different popularity: a table holds them.
const maxRanked = 1 << 20

const prefixHint = "write prefix = { tokens = 1024, groups = 4 }, or prefix = { hit_rate = 0.6, groups = 4 }"

func (p *Prefix) check(key string, input Length, bad func(key, problem, hint string)) {
	key += "prefix."
	switch {
	case p.Tokens < 0 || p.Tokens == 0 && p.HitRate == 0:
		bad(key+"tokens", "a prefix has at least one token", prefixHint)
	case p.Tokens > 0 && p.HitRate != 0:
		bad(key+"hit_rate", "the hit rate chooses the tokens of the prefix, which are stated too", "remove tokens or hit_rate")
	case p.HitRate != 0:
		p.checkHitRate(key, input, bad)
	case input.set() && p.Tokens >= input.Least():
		hint := "input includes the prefix: make input larger or the prefix shorter"
		if input.Dist != "fixed" {
			hint = fmt.Sprintf("input includes the prefix: write min = %d in input, or make the prefix shorter", p.Tokens+1)
		}
		bad(key+"tokens", fmt.Sprintf("the prefix of %d tokens leaves nothing of the shortest input of %d", p.Tokens, input.Least()), hint)
	}
	if p.Groups < 0 {
		bad(key+"groups", "the number of groups is negative", "write groups = 4")
	}
	if p.Zipf < 0 || p.Zipf > 10 {
		bad(key+"zipf", fmt.Sprintf("zipf %v is not an exponent from 0 to 10", p.Zipf), "write zipf = 1.0; 0 makes all groups alike")
	}
	if p.Zipf > 0 && p.Groups > maxRanked {
		bad(key+"groups", fmt.Sprintf("%d groups of different popularity are more than %d", p.Groups, maxRanked), "write fewer groups, or remove zipf")
	}
	switch p.State {
	case "", Cold, Shared, Warm:
	default:
		bad(key+"state", fmt.Sprintf("unknown prefix state %q", p.State), "use cold, shared or warm")
	}
}

func (p *Prefix) checkHitRate(key string, input Length, bad func(key, problem, hint string)) {
	unbounded := (input.Dist == "normal" || input.Dist == "lognormal") && input.Max == 0
	switch {
	case !(p.HitRate > 0 && p.HitRate < 1):
		bad(key+"hit_rate", fmt.Sprintf("hit_rate %v is not between 0 and 1", p.HitRate), "write hit_rate = 0.6")
	case unbounded:
		bad(key+"hit_rate", "the longest input, and so the longest prefix, is not known", "write max = 8192 in input")
	case input.set() && p.of(input.most()) == 0:
		bad(key+"hit_rate", fmt.Sprintf("of the longest input of %d tokens, hit_rate %v is not one block of %d", input.most(), p.HitRate, BlockTokens),
			"make input longer, or hit_rate larger")
	}
}

// state is the prefix's state in force.
func (p *Prefix) state() string {
	if p.State == "" {
		return Shared
	}
	return p.State
}

// groups is how many prefixes there are.
func (p *Prefix) groups() int { return max(p.Groups, 1) }

// of is how many tokens of a prompt are the prefix. By a hit rate they are whole blocks, and leave a
// token at least that no cache holds.
func (p *Prefix) of(input int) int {
	if p.HitRate == 0 {
		return min(p.Tokens, input)
	}
	blocks := int(math.Round(p.HitRate * float64(input) / BlockTokens))
	return min(blocks, (input-1)/BlockTokens) * BlockTokens
}

// popularity is the running sum of the groups' weights; nil = all alike.
func (p *Prefix) popularity() []float64 {
	if p == nil || p.Zipf == 0 {
		return nil
	}
	sums, sum := make([]float64, p.groups()), 0.0
	for k := range sums {
		sum += math.Pow(float64(k+1), -p.Zipf)
		sums[k] = sum
	}
	return sums
}

// group is the prefix that request i starts with; −1 = a prefix of its own.
func (p *Plan) group(class, i int) int {
	pre := p.classes[class].Prefix
	if pre == nil || pre.state() == Cold {
		return -1
	}
	src := p.rand(streamGroup, uint64(i))
	if sums := p.popular[class]; sums != nil {
		return sort.SearchFloat64s(sums, src.Float64()*sums[len(sums)-1])
	}
	return src.IntN(pre.groups())
}

// Priming gives one request for each group of each warm prefix: the prefix and a suffix that no
// other request has, one token to write. Sent before the warm-up, they leave the prefix resident.
func (p *Plan) Priming(yield func(Request) bool) {
	n := 0
	for c, class := range p.classes {
		pre := class.Prefix
		if pre == nil || pre.state() != Warm {
			continue
		}
		tokens := pre.of(class.Input.most())
		for g := range pre.groups() {
			blocks := p.fill(nil, tokens, blockPrefix, uint64(c), uint64(g), 0)
			blocks = p.fill(blocks, BlockTokens, blockPrime, uint64(c), uint64(g))
			n++
			if !yield(Request{Index: -n, Class: class.Name, Input: tokens + BlockTokens, Output: 1, Blocks: blocks}) {
				return
			}
		}
	}
}

// HasPrefix says whether the row, or any class of it, has a prefix of that state. Prompts of a trace
// share what they share, and those of a tiling row their contexts.
func (w Workload) HasPrefix(state string) bool {
	if w.Trace != nil || w.Tile != nil {
		return state == Shared
	}
	for _, c := range w.Classes() {
		if c.Prefix != nil && c.Prefix.state() == state {
			return true
		}
	}
	return false
}

// WarmTokens is how many tokens of any prompt of a class (class empty: the row's) a warm cache holds
// for certain: the whole blocks of a primed prefix.
func (w Workload) WarmTokens(class string) int {
	for _, c := range w.Classes() {
		if c.Name == class && c.Prefix != nil && c.Prefix.state() == Warm {
			return c.Prefix.of(c.Input.Least()) / BlockTokens * BlockTokens
		}
	}
	return 0
}
