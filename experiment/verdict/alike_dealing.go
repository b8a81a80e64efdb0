package verdict

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
)

const (
	// leastRounds is the smallest number of rounds in which a party can be compared.
	leastRounds = 20
	// batches of the time, in which servers are compared: their queues make successive latencies alike.
	mostBatches, leastBatches = 40, 10
	// mostDependence is the largest correlation of successive batches.
	mostDependence = 0.1
)

// dealing is how the requests came to the parties, and each request's unit; nil: too few for a comparison.
func (e *Measured) dealing(p parting, requests []*record.Record) (*stats.Dealt, []int) {
	switch {
	case p.servers:
		return batches(p, requests, mostBatches)
	case e.Spec.Rate == 0 && e.Spec.HasConversations():
		return sessions(p, requests)
	case e.Spec.Rate == 0:
		return e.streams(p, requests)
	}
	return e.rounds(p, requests)
}

// rounds are as the plan dealt its arrivals to the workers: each round turned at random. A conversation is one arrival.
func (e *Measured) rounds(p parting, requests []*record.Record) (*stats.Dealt, []int) {
	share := e.Spec.Share(0, p.parties)
	width := share.Round()
	first, last := math.MaxInt, 0
	for _, r := range requests {
		a := arrivalOf(r)
		if share.Owner(a) != *p.of(r) {
			return nil, nil // dealt by another rule
		}
		first, last = min(first, a/width), max(last, a/width)
	}
	if len(requests) == 0 || last-first+1 < leastRounds {
		return nil, nil
	}
	d := &stats.Dealt{Parties: p.parties}
	for b := first; b <= last; b++ {
		round := make([]int, width)
		for i := range round {
			round[i] = share.Owner(b*width + i)
		}
		d.Blocks = append(d.Blocks, round)
	}
	units := make([]int, len(requests))
	for i, r := range requests {
		units[i] = arrivalOf(r) - first*width
	}
	return d, units
}

// arrivalOf is the number of the request's arrival in the plan.
func arrivalOf(r *record.Record) int {
	if r.Session != nil {
		return *r.Session
	}
	return r.I
}

// streams are the units of a closed loop: each stream sends its next request when the one before ended. In step with
// others it keeps its place in the server's batches to the end, so that a stream is one unit, and any worker's as well as
// another's.
func (e *Measured) streams(p parting, requests []*record.Record) (*stats.Dealt, []int) {
	of := map[*record.Record]int{}
	var parties []int
	for k := range p.parties {
		own := filter(e.Records, func(r *record.Record) bool {
			party := p.of(r)
			return party != nil && *party == k && !r.Arrival.IsZero()
		})
		for range numberStreams(own, len(parties), of) {
			parties = append(parties, k)
		}
	}
	if !enoughStreams(parties, p.parties) {
		return nil, nil
	}
	units := make([]int, len(requests))
	for i, r := range requests {
		units[i] = of[r]
	}
	return &stats.Dealt{Blocks: [][]int{parties}, Parties: p.parties, Permuted: true}, units
}

// sessions are conversations of a closed loop: a worker takes its next one when one ends, so that conversations of one
// round begin at different times. Each is equally likely to be any worker's.
func sessions(p parting, requests []*record.Record) (*stats.Dealt, []int) {
	number := map[int]int{}
	var parties, units []int
	for _, r := range requests {
		n, known := number[arrivalOf(r)]
		if !known {
			n = len(parties)
			number[arrivalOf(r)], parties = n, append(parties, *p.of(r))
		}
		units = append(units, n)
	}
	if !enoughStreams(parties, p.parties) {
		return nil, nil
	}
	return &stats.Dealt{Blocks: [][]int{parties}, Parties: p.parties, Permuted: true}, units
}

// enoughStreams reports whether chance puts all streams of one worker before all others' rarely enough.
func enoughStreams(of []int, workers int) bool {
	n := make([]int, workers)
	for _, k := range of {
		n[k]++
	}
	least, ways := slices.Min(n), 1.0
	for i := range least {
		ways *= float64(len(of)-i) / float64(i+1)
	}
	return ways*familyError >= 2*float64(workers)
}

// numberStreams gives each request the stream of the request that ended last before it arrived. Numbers begin at first;
// n is how many there are.
func numberStreams(requests []*record.Record, first int, of map[*record.Record]int) (n int) {
	slices.SortFunc(requests, func(a, b *record.Record) int { return cmp.Compare(a.Arrival.Us(), b.Arrival.Us()) })
	var ends []int64
	for _, r := range requests {
		best := -1
		for k, end := range ends {
			if end <= r.Arrival.Us() && (best < 0 || end > ends[best]) {
				best = k
			}
		}
		if best < 0 {
			best, ends = len(ends), append(ends, 0)
		}
		of[r], ends[best] = first+best, r.End.Us()
	}
	return len(ends)
}

// batches are at most n, of successive requests; in each, any order of the servers is as likely.
func batches(p parting, requests []*record.Record, n int) (*stats.Dealt, []int) {
	n = min(n, len(requests)/(2*p.parties))
	if n < leastBatches {
		return nil, nil
	}
	d := &stats.Dealt{Parties: p.parties, Permuted: true}
	for range n {
		batch := make([]int, p.parties)
		for k := range batch {
			batch[k] = k
		}
		d.Blocks = append(d.Blocks, batch)
	}
	units := make([]int, len(requests))
	for i, r := range requests {
		units[i] = i*n/len(requests)*p.parties + *p.of(r)
	}
	return d, units
}

// bySending is the order in which requests were sent.
func bySending(a, b *record.Record) int {
	return cmp.Or(cmp.Compare(a.Sent.Us(), b.Sent.Us()), cmp.Compare(a.I, b.I))
}
