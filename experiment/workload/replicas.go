package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"time"
)

type Replicas struct {
	N      int  // 0 = 1
	Sticky bool // all requests of a session go to one of them; without a session one after the other
}

func (p *Plan) Over(r Replicas) *Plan {
	p.replicas = r
	return p
}

// Replica is the index of the replica that a request goes to: by its number or, if that is sticky, its session's. A
// class with an endpoint of its own has no replicas.
func (p *Plan) Replica(r *Request) int {
	n := p.replicasOf(p.named(r.Class))
	if p.replicas.Sticky && r.InSession() {
		return p.inTurn(r.Session, n)
	}
	return p.inTurn(r.Index, n)
}

// inTurn spreads numbers over n replicas in rounds: each replica gets one of n successive numbers, and the seed draws
// with which replica a round begins. Otherwise what comes in turn too, as adapters and turns of conversations do,
// would always meet the same replica.
func (s seeds) inTurn(number, n int) int {
	begin := mix(mix(s.seed, streamReplica), uint64(number/n)) % uint64(n)
	return (number + int(begin)) % n
}

func (p *Plan) replicasOf(c *Class) int {
	if c.Endpoint != "" {
		return 1
	}
	return max(p.replicas.N, 1)
}

func (p *drawn) named(name string) *Class {
	for i := range p.classes {
		if p.classes[i].Name == name {
			return &p.classes[i]
		}
	}
	return &p.classes[0]
}

// serve passes a request through the pool of one replica. Only requests of one model on one server find each other's
// tokens: a pool holds the prompts of all, with another beginning for each.
func (p *Plan) serve(pool *Pool, r *Request, replica int) (hit int) {
	c := p.named(r.Class)
	answer := p.written(r)
	if (r.Model == "" && c.Endpoint == "" && replica == 0) || len(r.Blocks) == 0 {
		return pool.serve(r, answer)
	}
	own := *r
	own.Blocks = append([]Block{}, r.Blocks...)
	own.Blocks[0].ID = mix(mix(own.Blocks[0].ID, hash64(c.Endpoint+" "+r.Model)), uint64(replica))
	return pool.serve(&own, answer)
}

func (p *Plan) prime(pool *Pool) {
	for r := range p.Priming {
		c := p.named(r.Class)
		for _, r.Model = range c.modelsOrNone() {
			for replica := range p.replicasOf(c) {
				p.serve(pool, &r, replica)
			}
		}
	}
}

// Serve passes the priming requests and then those of All through a pool, and yields each of the latter with
// the number of its prompt tokens that were found. It is endless unless the plan has a trace.
func (p *Plan) Serve(pool *Pool, workers int, takes time.Duration) func(yield func(Request, int) bool) {
	return func(yield func(Request, int) bool) {
		p.prime(pool)
		for r := range p.all(workers, takes) {
			if !yield(r, p.serve(pool, &r, p.Replica(&r))) {
				return
			}
		}
	}
}

// Answer is the blocks that stand for the part of the server's answer to a request that a later turn sends back: with
// the requested output length, without the reasoning.
func (s seeds) Answer(r *Request) []Block { return s.fillAnswer(nil, r, r.sentBack(), blockAnswer) }

// written is the blocks that stand for all that the server writes: Answer behind its reasoning.
func (s seeds) written(r *Request) []Block {
	reasoning := s.fillAnswer(nil, r, r.Output-r.sentBack(), blockReasoning)
	return s.fillAnswer(reasoning, r, r.sentBack(), blockAnswer)
}

func (s seeds) fillAnswer(dst []Block, r *Request, tokens int, kind uint64) []Block {
	owner, turn := uint64(r.Index), uint64(0)
	if r.Turns > 0 {
		owner, turn = uint64(r.Session), uint64(r.Turn)
	}
	return s.fill(dst, tokens, kind, hash64(r.Class), owner, turn)
}

// sentBack is the number of tokens of the answer that later turns contain.
func (r *Request) sentBack() int { return max(0, r.Output-r.Reasoning) }

// Thought is the number of reasoning tokens in the answer to a request, by the request's index.
type Thought func(index int) int

// Thinking makes the plan leave the reasoning of answers out of later turns, as the client does. It returns the plan,
// which must be new.
func (p *Plan) Thinking(t Thought) *Plan {
	p.thought = t
	return p
}

// Share is the part of a plan that one of several workers sends. Every worker makes the whole plan, so that none needs
// a message while the load runs. Arrivals are dealt in rounds, and a conversation is one arrival. In a round each
// worker gets one arrival or, if they do not divide the concurrency evenly, one for each request that it may have in
// flight.
//
// The seed draws with which worker a round begins. Otherwise what comes in turn too, as bursts, periodic traces and
// waves of a server's batches do, would always meet the same worker, and a comparison of workers would find that.
//
// The zero value is the whole plan.
type Share struct {
	Worker         int    // number of the worker, from 0
	Of             int    // number of workers; 0 = the share is the whole plan
	RowConcurrency int    // of the whole row; 0 = no cap
	Seed           uint64 // of the plan
}

// Round is the number of successive arrivals that are dealt together.
func (s Share) Round() int {
	if s.RowConcurrency%s.Of != 0 {
		return s.RowConcurrency
	}
	return s.Of
}

// rotation is by how many places a round is turned.
func (s Share) rotation(round int) int {
	return int(mix(mix(s.Seed, streamShare), uint64(round)) % uint64(s.Round()))
}

// Owner is the worker of an arrival, counted from 0.
func (s Share) Owner(arrival int) int {
	width := s.Round()
	return (arrival + s.rotation(arrival/width)) % width % s.Of
}

func (s Share) Owns(arrival int) bool { return s.Of == 0 || s.Owner(arrival) == s.Worker }

// Concurrency is how many requests the share may have in flight. Over all workers it sums to RowConcurrency.
func (s Share) Concurrency() int {
	if s.Of == 0 {
		return s.RowConcurrency
	}
	return s.own(s.RowConcurrency)
}

func (s Share) own(n int) int { return (n - s.Worker + s.Of - 1) / s.Of }

// Among is the number of the first n arrivals that are in the share.
func (s Share) Among(n int) int {
	if s.Of == 0 {
		return n
	}
	width := s.Round()
	whole := n / width
	count := whole * s.own(width)
	for i := whole * width; i < n; i++ {
		if s.Owns(i) {
			count++
		}
	}
	return count
}

// Idle reports whether the share is empty: there are more workers than the concurrency.
func (s Share) Idle() bool { return s.RowConcurrency > 0 && s.Concurrency() == 0 }

// Fingerprint identifies the plan by its next n arrivals. The plan must not be used for anything else.
func (p *Plan) Fingerprint(n int) string {
	h := sha256.New()
	add := func(words ...uint64) {
		for _, w := range words {
			_ = binary.Write(h, binary.LittleEndian, w) // a hash takes everything
		}
	}
	for range n {
		if !p.More() {
			break
		}
		r := p.Next()
		add(uint64(r.Index), uint64(r.At), uint64(r.Input), uint64(r.Output), uint64(r.Session), uint64(r.Turns),
			hash64(r.Class), hash64(r.Model),
			uint64(r.LeaveAfter), math.Float64bits(r.Think.Seconds()))
		for _, b := range r.Blocks {
			add(b.ID, uint64(b.Tokens))
		}
		if r.Prompt != nil {
			add(hash64(r.Prompt.Hash))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
