package workload

import "time"

// Serve passes the priming requests and then those of All through a pool, and yields each of the latter with
// the number of its prompt tokens that were found. It is endless unless the plan has a trace.
func (p *Plan) Serve(pool *Pool, workers int, takes time.Duration) func(yield func(Request, int) bool) {
	return func(yield func(Request, int) bool) {
		p.prime(pool)
		for r := range p.All(workers, takes) {
			if !yield(r, p.serve(pool, &r, p.Replica(&r))) {
				return
			}
		}
	}
}

// Answer is the blocks that stand for the part of the server's answer to a request that a later turn sends back: with
// the requested output length, without the reasoning.
func (p *Plan) Answer(r *Request) []Block { return p.fillAnswer(nil, r, r.sentBack(), blockAnswer) }

// written is the blocks that stand for all that the server writes: Answer behind its reasoning.
func (p *Plan) written(r *Request) []Block {
	reasoning := p.fillAnswer(nil, r, r.Output-r.sentBack(), blockReasoning)
	return p.fillAnswer(reasoning, r, r.sentBack(), blockAnswer)
}

func (p *Plan) fillAnswer(dst []Block, r *Request, tokens int, kind uint64) []Block {
	owner, turn := uint64(r.Index), uint64(0)
	if r.Turns > 0 {
		owner, turn = uint64(r.Session), uint64(r.Turn)
	}
	return p.fill(dst, tokens, kind, hash64(r.Class), owner, turn)
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
