package workload

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"bench/experiment/prompts"
)

// BlockTokens is the number of tokens in a block of a prompt: vLLM's default KV block size, so that blocks that the
// plan shares can also be shared in the cache. The last block of a prefix or a prompt may be shorter.
const BlockTokens = 16

// Block is a run of tokens, determined by its number and length.
type Block struct {
	ID     uint64
	Tokens int
}

type Request struct {
	Index  int             // position in the plan, later turns of conversations included
	Class  string          // name of its class; empty without a mix
	At     time.Duration   // intended arrival from the start of the load; 0 in a closed loop and for later turns
	Input  int             // prompt tokens; 0 = a real prompt, whose tokens the server counts
	Output int             // requested output tokens
	Blocks []Block         // the prompt; nil for a real one
	Prompt *prompts.Prompt // the real prompt, or the next user turn of its conversation; nil = synthetic
	Model  string          // name of the model, of its class or drawn from adapters; empty = the target's
	Images *Images         // in the prompt, whose Input includes their tokens; nil = none
	Own    int             // tokens at the end of the prompt that no other request of the plan has; 0 = unknown

	// LeaveAfter is when the user leaves, since the request was sent, if the answer has not ended before; 0: the user
	// stays.
	LeaveAfter time.Duration

	Session int           // number of the conversation, equal to that of its arrival
	Turn    int           // 0 = the first
	Turns   int           // turns of the whole conversation; 0 = the request belongs to none
	Think   time.Duration // from the end of the previous turn to the intended arrival of this one
	Context int           // prompt tokens from earlier prompts and answers of the conversation
	// Reasoning is the number of the answer's tokens that no later turn sends back, once it is known; 0 = none.
	Reasoning int
	Graph     *Graph // of a trace's session; nil = a chain: each turn waits for the one before
}

func (r *Request) InSession() bool { return r.Turns > 0 || r.Session > 0 }

// Plan is the schedule and all prompts, as a function of (seed, salt, index): the same on any machine and any number of
// cores. Each dimension has its own random stream, so that a change of one leaves the others unchanged.
type Plan struct {
	w Workload
	drawn
	schedule
	replicas Replicas // that share the requests
	thought  Thought  // nil = no answer has reasoning

	real   realPrompts
	index  int     // of the next request, the turns of all earlier conversations included
	replay *replay // nil = the plan has no trace
}

// seeds decide all that is drawn. The parts of a plan have copies, as of the workload: after NewPlan neither changes.
type seeds struct{ seed, salt uint64 }

// drawn are the classes of a plan, and what an arrival draws of them.
type drawn struct {
	seeds
	classes  []Class
	popular  [][]float64 // by class: running sum of the popularity of its prefix groups; nil = equal
	adapters [][]float64 // by class: running sum of the popularity of its adapters; nil = equal
	total    float64     // sum of the classes' weights
}

// NewPlan makes the plan of a workload that passed Check. Plans with equal salts have equal prompts; each run
// uses another salt, so that its prompts are not in the server's cache.
func NewPlan(w Workload, seed uint64, salt string) *Plan {
	s := seeds{seed, hash64(salt)}
	p := &Plan{w: w, drawn: drawn{seeds: s, classes: w.Classes()}, schedule: schedule{own: s, process: processOf(&w)}}
	p.real.samples, p.real.drawn = make([]*prompts.Sample, len(p.classes)), make([]int, len(p.classes))
	for i, c := range p.classes {
		p.total += c.Weight
		p.popular = append(p.popular, c.Prefix.popularity())
		p.adapters = append(p.adapters, c.Adapters.popularity())
		if c.Prompts != nil {
			p.real.samples[i] = c.Prompts.Sample(func(epoch uint64) *rand.Rand {
				return s.rand(mix(streamPrompt, uint64(i)), epoch)
			})
		}
	}
	if w.Trace != nil {
		p.replay = &replay{of: w.Trace, seeds: s}
	}
	if w.Timed() {
		p.next.at = p.time(0)
	}
	return p
}

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
	streamJitter
	streamQuestion
	streamModel
	streamLeave
	streamBegin
	streamPrompt
	streamReplica
	streamShare
)

func (s seeds) rand(stream, index uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(s.seed, stream), index))
}

// turn is the stream of a turn of a conversation.
func (s seeds) turn(stream uint64, session, turn int) *rand.Rand {
	return s.rand(mix(stream, uint64(turn)), uint64(session))
}

// Next returns the requests in order of arrival. Of a conversation it returns the first turn; Later
// returns the others. It is not safe for concurrent use.
func (p *Plan) Next() Request {
	if p.replay != nil {
		return p.replayed()
	}
	r := p.request(p.next.arrival)
	r.At, r.Index = p.next.at, p.index
	p.next = p.after(p.next)
	p.index += max(r.Turns, 1)
	return r
}

func (p *Plan) request(i int) Request {
	class := p.class(i)
	c := &p.classes[class]
	r := Request{Class: c.Name, Model: p.model(class, i), LeaveAfter: p.leaves(class, i, 0)}
	if c.Prompts != nil {
		p.drawPrompt(&r, class, i)
		return r
	}
	r.Input, r.Output = p.lengths(c, i)
	if p.w.Tile != nil {
		r.Blocks = p.w.Tile.blocks(p.seeds, i, r.Input)
		return r
	}
	r.Images = c.Images
	if c.Session != nil {
		r.Session, r.Turns = i, c.Session.Turns.Draw(p.rand(streamTurns, uint64(i)))
	}
	group := p.group(class, i)
	r.Blocks = p.blocks(class, uint64(i), r.Input, group)
	if r.Turns <= 1 {
		r.Own = r.Input
		if group >= 0 {
			r.Own -= c.Prefix.sharedTokens(r.Input)
		}
	}
	r.Input += r.ImageTokens()
	return r
}

func (p *drawn) lengths(c *Class, i int) (input, output int) {
	if c.Pairs != nil {
		k := p.rand(streamInput, uint64(i)).IntN(len(c.Input.samples()))
		return c.Input.samples()[k], c.Output.samples()[k]
	}
	return c.Input.Draw(p.rand(streamInput, uint64(i))), c.Output.Draw(p.rand(streamOutput, uint64(i)))
}

func (p *drawn) class(i int) int {
	if len(p.classes) == 1 {
		return 0
	}
	x := p.rand(streamClass, uint64(i)).Float64() * p.total
	for i := range p.classes {
		if x -= p.classes[i].Weight; x < 0 {
			return i
		}
	}
	return len(p.classes) - 1
}

const (
	blockFresh = iota + 1
	blockPrefix
	blockPrime
	blockAnswer
	blockUser
	blockTrace
	blockContext
	blockQuestion
	blockReal      = iota + 3 // a gap: the numbers decide the words of prompts
	blockReasoning = iota + 3
)

// blocks is the prompt of a request: the prefix of its group (or its own prefix), then fresh blocks. A cold
// request has its block boundaries at the same places as a warm one, so that lengths and shapes agree.
func (p *drawn) blocks(class int, index uint64, input, group int) []Block {
	out := make([]Block, 0, input/BlockTokens+2)
	rest := input
	if pre := p.classes[class].Prefix; pre != nil {
		kind, owner := uint64(blockPrefix), uint64(group)
		if group < 0 {
			kind, owner = blockFresh, index
		}
		n := pre.sharedTokens(input)
		out = p.fill(out, n, kind, uint64(class), owner, 0)
		rest -= n
	}
	return p.fill(out, rest, blockFresh, uint64(class), index, 1)
}

// fill appends blocks with n tokens in total; the parts determine their numbers.
func (s seeds) fill(out []Block, n int, parts ...uint64) []Block {
	base := s.blockBase(parts)
	for i := uint64(0); n > 0; i++ {
		t := min(n, BlockTokens)
		out = append(out, Block{ID: mix(base, i), Tokens: t})
		n -= t
	}
	return out
}

func (s seeds) blockBase(parts []uint64) uint64 {
	base := mix(mix(s.seed, streamBlock), s.salt)
	for _, part := range parts {
		base = mix(base, part)
	}
	return base
}

// mix is SplitMix64's finalizer over two words (Steele, Lea & Flood 2014): a cheap hash whose outputs for
// neighbouring inputs are unrelated.
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
