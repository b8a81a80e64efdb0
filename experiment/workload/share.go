package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

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
