package workload

import "time"

// Hits is how much of some prompts a cache could hold.
type Hits struct {
	Requests     int   `json:"requests"`
	PromptTokens int64 `json:"prompt_tokens"`
	HitTokens    int64 `json:"hit_tokens"`
}

// Rate is the share of the prompt tokens that a cache could hold; 0 for none.
func (h Hits) Rate() float64 { return float64(h.HitTokens) / float64(max(h.PromptTokens, 1)) }

// Add counts one request.
func (h *Hits) Add(r *Request, hit int) {
	h.Requests++
	h.PromptTokens += int64(r.Input)
	h.HitTokens += int64(hit)
}

// Serve lets the requests that prime the prefixes, and then all others in the order of All, through a pool, and
// gives each with the tokens of its prompt that were found; without end.
func (p *Plan) Serve(pool *Pool, slots int, takes time.Duration) func(yield func(Request, int) bool) {
	return func(yield func(Request, int) bool) {
		for r := range p.Priming {
			pool.Serve(&r, p.Answer(&r))
		}
		for r := range p.All(slots, takes) {
			if !yield(r, pool.Serve(&r, p.Answer(&r))) {
				return
			}
		}
	}
}

// Answer is the blocks that stand for what the server writes to a request, of the length that was
// asked for.
func (p *Plan) Answer(r *Request) []Block {
	owner, turn := uint64(r.Index), uint64(0)
	if r.Turns > 0 {
		owner, turn = uint64(r.Session), uint64(r.Turn)
	}
	return p.fill(nil, r.Output, blockAnswer, hash64(r.Class), owner, turn)
}
