package workload

import "time"

// Hits counts the prompt tokens of some requests that a prefix cache could hit.
type Hits struct {
	Requests     int   `json:"requests"`
	PromptTokens int64 `json:"prompt_tokens"`
	HitTokens    int64 `json:"hit_tokens"`
}

// Rate is the share of prompt tokens that the cache could hit; 0 without requests.
func (h Hits) Rate() float64 { return float64(h.HitTokens) / float64(max(h.PromptTokens, 1)) }

// Add counts one request.
func (h *Hits) Add(r *Request, hit int) {
	h.Requests++
	h.PromptTokens += int64(r.Input)
	h.HitTokens += int64(hit)
}

// Serve passes the priming requests and then those of All through a pool, and yields each of the latter with
// the number of its prompt tokens that were found. It is endless unless the plan has a trace.
func (p *Plan) Serve(pool *Pool, workers int, takes time.Duration) func(yield func(Request, int) bool) {
	return func(yield func(Request, int) bool) {
		for r := range p.Priming {
			pool.Serve(&r, p.Answer(&r))
		}
		for r := range p.All(workers, takes) {
			if !yield(r, pool.Serve(&r, p.Answer(&r))) {
				return
			}
		}
	}
}

// Answer is the blocks that stand for the server's answer to a request, with the requested output length.
func (p *Plan) Answer(r *Request) []Block {
	owner, turn := uint64(r.Index), uint64(0)
	if r.Turns > 0 {
		owner, turn = uint64(r.Session), uint64(r.Turn)
	}
	return p.fill(nil, r.Output, blockAnswer, hash64(r.Class), owner, turn)
}
