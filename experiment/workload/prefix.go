package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	Cold   = "cold"   // no two requests share a block
	Shared = "shared" // groups repeat, and warm up as they come
	Warm   = "warm"   // every group is primed with other suffixes before the window
)

// Prefix defines which part of the prompts is shared, and whether the server has it cached before the window.
type Prefix struct {
	Tokens int `toml:"tokens" json:"tokens"` // of the input; 0 = derived from HitRate
	// shared part of each prompt, rounded to whole blocks; 0 = Tokens applies
	HitRate float64 `toml:"hit_rate" json:"hit_rate,omitempty"`
	Groups  int     `toml:"groups" json:"groups"` // number of different prefixes; 0 = 1
	// popularity: the k-th group is k^-zipf as frequent as the first; 0 = equal
	Zipf  float64 `toml:"zipf" json:"zipf,omitempty"`
	State string  `toml:"state" json:"state"` // cold, shared or warm; empty = shared
}

// maxRanked bounds the number of groups with a Zipf popularity, which a table holds.
const maxRanked = 1 << 20

const prefixHint = "write prefix = { tokens = 1024, groups = 4 }, or prefix = { hit_rate = 0.6, groups = 4 }"

func (p *Prefix) check(key string, input Length, bad mistakes) {
	key += "prefix."
	switch {
	case p.Tokens < 0 || p.Tokens == 0 && p.HitRate == 0:
		bad(key+"tokens", "a prefix needs at least one token", prefixHint)
	case p.Tokens > 0 && p.HitRate != 0:
		bad(key+"hit_rate", "hit_rate and tokens both set the length of the prefix", "remove tokens or hit_rate")
	case p.HitRate != 0:
		p.checkHitRate(key, input, bad)
	case input.set() && p.Tokens >= input.Least():
		hint := "input includes the prefix: make input larger or the prefix shorter"
		if input.Dist != "fixed" {
			hint = fmt.Sprintf("input includes the prefix: write min = %d in input, or make the prefix shorter",
				p.Tokens+1)
		}
		bad(key+"tokens", fmt.Sprintf("the prefix of %d tokens is not shorter than the shortest input of %d", p.Tokens,
			input.Least()), hint)
	}
	bad.unless(p.Groups >= 0, key+"groups", "write groups = 4", "the number of groups is negative")
	bad.unless(p.Zipf >= 0 && p.Zipf <= 10, key+"zipf", "write zipf = 1.0; 0 makes all groups equally popular",
		"zipf %v is not an exponent from 0 to 10", p.Zipf)
	bad.unless(p.Zipf == 0 || p.Groups <= maxRanked, key+"groups", "write fewer groups, or remove zipf",
		"with zipf, groups must be at most %d, not %d", maxRanked, p.Groups)
	bad.unless(slices.Contains([]string{"", Cold, Shared, Warm}, p.State), key+"state", "use cold, shared or warm",
		"unknown prefix state %q", p.State)
}

func (p *Prefix) checkHitRate(key string, input Length, bad func(key, problem, hint string)) {
	unbounded := (input.Dist == "normal" || input.Dist == "lognormal") && input.Max == 0
	switch {
	case !(p.HitRate > 0 && p.HitRate < 1):
		bad(key+"hit_rate", fmt.Sprintf("hit_rate %v is not between 0 and 1", p.HitRate), "write hit_rate = 0.6")
	case unbounded:
		bad(key+"hit_rate", "hit_rate requires an input with an upper bound", "write max = 8192 in input")
	case input.set() && p.sharedTokens(input.most()) == 0:
		bad(key+"hit_rate",
			fmt.Sprintf("hit_rate %v of the longest input (%d tokens) is less than one block (%d tokens)", p.HitRate,
				input.most(), BlockTokens),
			"make input longer, or hit_rate larger")
	}
}

func (p *Prefix) state() string { return cmp.Or(p.State, Shared) }

func (p *Prefix) groups() int { return max(p.Groups, 1) }

// sharedTokens is the length of the prefix of a prompt with this many input tokens. A hit rate gives whole
// blocks and leaves at least one token that no cache has.
func (p *Prefix) sharedTokens(input int) int {
	if p.HitRate == 0 {
		return min(p.Tokens, input)
	}
	blocks := int(math.Round(p.HitRate * float64(input) / BlockTokens))
	return min(blocks, (input-1)/BlockTokens) * BlockTokens
}

// popularity is the running sum of the groups' weights; nil = equal.
func (p *Prefix) popularity() []float64 {
	if p == nil {
		return nil
	}
	return zipfSums(p.Zipf, p.groups())
}

// group is the prefix group of request i; −1 = a prefix of its own.
func (p *drawn) group(class, i int) int {
	pre := p.classes[class].Prefix
	if pre == nil || pre.state() == Cold {
		return -1
	}
	return pick(p.rand(streamGroup, uint64(i)), p.popular[class], pre.groups())
}

// Priming yields one request for each group of each warm prefix: the prefix, a suffix that no other request
// has, and one output token. Sent before the warm-up, they bring the prefixes into the server's cache.
func (p *Plan) Priming(yield func(Request) bool) {
	n := 0
	for c, class := range p.classes {
		pre := class.Prefix
		if pre == nil || pre.state() != Warm {
			continue
		}
		tokens := pre.sharedTokens(class.Input.most())
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

// HasPrefix reports whether the row, or any class of it, has a prefix in that state. Rows with a trace and
// tiling rows count as shared.
func (w Workload) HasPrefix(state string) bool {
	if w.Trace != nil || w.Tile != nil {
		return state == Shared
	}
	return slices.ContainsFunc(w.Classes(), func(c Class) bool { return c.Prefix != nil && c.Prefix.state() == state })
}

// PrimedTokens is the number of tokens of the primed prefix in every prompt of a class (empty: of the row); 0 =
// the class has no warm prefix.
func (w Workload) PrimedTokens(class string) int {
	for _, c := range w.Classes() {
		if c.Name == class && c.Prefix != nil && c.Prefix.state() == Warm {
			return c.Prefix.sharedTokens(c.Input.Least())
		}
	}
	return 0
}

// WarmTokens is the number of tokens that a warm cache with blocks of blockTokens tokens holds of every prompt
// of a class: the whole blocks of its primed prefix.
func (w Workload) WarmTokens(class string, blockTokens int) int {
	return w.PrimedTokens(class) / blockTokens * blockTokens
}
