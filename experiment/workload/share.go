package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Share is the part of a plan that one of several workers sends. Every worker makes the whole plan, so that none needs a
// message while the load runs. Arrivals are dealt in turn, and a conversation is one arrival. Under a concurrency they are
// dealt to its slots, and the slots to the workers: a worker with more slots gets as much more of the arrivals.
//
// The zero value is the whole plan.
type Share struct {
	Worker int // number of the worker, from 0
	Of     int // number of workers; 0 = the share is the whole plan
	Slots  int // concurrency of the whole row; 0 = no cap
}

// Owns reports whether an arrival, counted from 0, is in the share.
func (s Share) Owns(arrival int) bool {
	if s.Of == 0 {
		return true
	}
	if s.Slots > 0 {
		arrival %= s.Slots
	}
	return arrival%s.Of == s.Worker
}

// Concurrency is the share's part of the slots. Those of all workers sum to Slots.
func (s Share) Concurrency() int { return s.own(s.Slots) }

// own is the number of i < n that the worker gets if they are dealt in turn.
func (s Share) own(n int) int {
	if s.Of == 0 {
		return n
	}
	return (n - s.Worker + s.Of - 1) / s.Of
}

// Among is the number of the first n arrivals that are in the share.
func (s Share) Among(n int) int {
	if s.Of == 0 || s.Slots == 0 {
		return s.own(n)
	}
	return n/s.Slots*s.Concurrency() + s.own(n%s.Slots)
}

// Idle reports whether the share of a load is empty, as where workers outnumber the slots.
func (s Share) Idle() bool { return s.Slots > 0 && s.Concurrency() == 0 }

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
		add(uint64(r.Index), uint64(r.At), uint64(r.Input), uint64(r.Output), uint64(r.Session), uint64(r.Turns), hash64(r.Class), hash64(r.Model),
			uint64(r.LeaveAfter), uint64(r.LeaveAfterTokens), math.Float64bits(r.Think.Seconds()))
		for _, b := range r.Blocks {
			add(b.ID, uint64(b.Tokens))
		}
		if r.Prompt != nil {
			add(hash64(r.Prompt.Hash))
		}
		for i := range r.Texts {
			add(uint64(r.Texts[i].Input))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
