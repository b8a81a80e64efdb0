package workload

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// BlockTokens is how many tokens a block of a prompt holds: vLLM's default KV block, so that
// what is shared in the plan can be shared in the cache. The last block of a prefix or a prompt
// may be shorter.
const BlockTokens = 16

// Block is a run of tokens that is the same wherever the same number and length stand.
type Block struct {
	ID     uint64
	Tokens int
}

// Request is one request of a plan.
type Request struct {
	Index  int           // its place in the plan, the later turns of conversations counted
	Class  string        // name of its class; empty without a mix
	At     time.Duration // intended arrival from the start of the load; 0 in a closed loop, and of a later turn
	Input  int           // prompt tokens
	Output int           // tokens to write
	Blocks []Block       // the prompt

	// Of a request in a conversation:
	Session int           // its number, which is that of its arrival
	Turn    int           // of this request; 0 = the first
	Turns   int           // of the whole conversation; 0 = the request is in none
	Think   time.Duration // from the end of the turn before to this one's intended arrival
	Context int           // prompt tokens that the conversation had before: earlier prompts and answers
}

// Plan is the whole schedule and every prompt, as a function of (seed, salt, index): the same on any
// machine and any number of cores. Each dimension draws from a stream of its own, so that changing
// one leaves the others as they were.
type Plan struct {
	w      Workload
	shapes []shape
	total  float64 // of the weights
	seed   uint64
	salt   uint64

	next  int           // the arrivals are a running sum: the arrival that at belongs to
	at    time.Duration // of arrival next
	index int           // of the next request: the turns of all conversations before it are counted
}

// NewPlan makes the plan of a workload that has passed its Check. The salt makes the prompts of a
// run unlike those of every other run; equal salts give equal prompts.
func NewPlan(w Workload, seed uint64, salt string) *Plan {
	p := &Plan{w: w, shapes: w.shapes(), seed: seed, salt: hash64(salt)}
	for _, s := range p.shapes {
		p.total += s.weight
	}
	return p
}

// Streams of randomness; a number is never used for anything else.
const (
	streamClass = iota + 1
	streamInput
	streamOutput
	streamGroup
	streamArrival
	streamBlock
	streamTurns
	streamUser
	streamThink
)

// rand is the stream of one dimension at one index.
func (p *Plan) rand(stream, index uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(p.seed, stream), index))
}

// Next gives the requests in their order; of a conversation it gives the first turn, and Following
// the others. It is not safe for use by several goroutines.
func (p *Plan) Next() Request {
	r := p.request(p.next)
	r.At, r.Index = p.at, p.index
	p.next++
	p.index += max(r.Turns, 1)
	p.at += p.gap(p.next)
	return r
}

// Arrivals gives the intended arrivals from the next request on, without end; the plan stays where it is.
func (p *Plan) Arrivals(yield func(time.Duration) bool) {
	at := p.at
	for i := p.next + 1; yield(at); i++ {
		at += p.gap(i)
	}
}

// gap is the time between arrival i−1 and arrival i: exactly 1/rate on average, of the process asked for.
func (p *Plan) gap(i int) time.Duration {
	if p.w.Rate == 0 || p.w.Rate.IsInf() {
		return 0
	}
	mean := float64(time.Second) / float64(p.w.Rate)
	src := p.rand(streamArrival, uint64(i))
	switch {
	case p.w.Arrival == "constant":
		// From the index, not by adding up: a sum of rounded gaps would drift from the rate.
		return time.Duration(math.Round(mean*float64(i))) - time.Duration(math.Round(mean*float64(i-1)))
	case p.w.Arrival == "gamma" && p.w.Burstiness > 0:
		g := distuv.Gamma{Alpha: p.w.Burstiness, Beta: p.w.Burstiness, Src: src}
		return time.Duration(mean * g.Rand())
	}
	return time.Duration(mean * src.ExpFloat64())
}

func (p *Plan) request(i int) Request {
	class := p.class(i)
	s := p.shapes[class]
	input := s.input.Draw(p.rand(streamInput, uint64(i)))
	r := Request{
		Class: s.name, Input: input,
		Output: s.output.Draw(p.rand(streamOutput, uint64(i))),
	}
	if s.session != nil {
		r.Session, r.Turns = i, s.session.Turns.Draw(p.rand(streamTurns, uint64(i)))
	}
	r.Blocks = p.blocks(class, uint64(i), input, p.group(s.prefix, i))
	return r
}

func (p *Plan) class(i int) int {
	if len(p.shapes) == 1 {
		return 0
	}
	x := p.rand(streamClass, uint64(i)).Float64() * p.total
	for c, s := range p.shapes {
		if x -= s.weight; x < 0 {
			return c
		}
	}
	return len(p.shapes) - 1
}

// group is the prefix that request i starts with; −1 = a prefix of its own.
func (p *Plan) group(pre *Prefix, i int) int {
	if pre == nil || pre.state() == Cold {
		return -1
	}
	return p.rand(streamGroup, uint64(i)).IntN(max(pre.Groups, 1))
}

// Kinds of blocks, which keep the numbers of different things apart.
const (
	blockFresh = iota + 1
	blockPrefix
	blockPrime
	blockAnswer
	blockUser
)

// blocks is the prompt of a request: the prefix of its group (or of its own), then fresh blocks.
// A cold request cuts its blocks at the same places as a warm one, so that lengths and shapes agree.
func (p *Plan) blocks(class int, index uint64, input, group int) []Block {
	out := make([]Block, 0, input/BlockTokens+2)
	rest := input
	if pre := p.shapes[class].prefix; pre != nil {
		kind, owner := uint64(blockPrefix), uint64(group)
		if group < 0 {
			kind, owner = blockFresh, index
		}
		n := min(pre.Tokens, input)
		out = p.fill(out, n, kind, uint64(class), owner, 0)
		rest -= n
	}
	return p.fill(out, rest, blockFresh, uint64(class), index, 1)
}

// fill appends blocks that hold n tokens, numbered by what they belong to.
func (p *Plan) fill(out []Block, n int, parts ...uint64) []Block {
	base := mix(mix(p.seed, streamBlock), p.salt)
	for _, part := range parts {
		base = mix(base, part)
	}
	for i := uint64(0); n > 0; i++ {
		t := min(n, BlockTokens)
		out = append(out, Block{ID: mix(base, i), Tokens: t})
		n -= t
	}
	return out
}

// Priming gives one request for each group of each warm prefix: the prefix and a suffix that no
// other request has, one token to write. Sent before the warm-up, they leave the prefix resident.
func (p *Plan) Priming() []Request {
	var out []Request
	for c, s := range p.shapes {
		if s.prefix == nil || s.prefix.state() != Warm {
			continue
		}
		for g := range max(s.prefix.Groups, 1) {
			blocks := p.fill(nil, s.prefix.Tokens, blockPrefix, uint64(c), uint64(g), 0)
			blocks = p.fill(blocks, BlockTokens, blockPrime, uint64(c), uint64(g))
			out = append(out, Request{Index: -1 - len(out), Class: s.name, Input: s.prefix.Tokens + BlockTokens, Output: 1, Blocks: blocks})
		}
	}
	return out
}

// mix is SplitMix64's finalizer over two words (Steele, Lea & Flood 2014): a cheap hash whose
// outputs for neighbouring inputs have nothing in common.
func mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func hash64(s string) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
	h.Write([]byte(s))
	return h.Sum64()
}
