package verdict

import (
	"fmt"
	"maps"
	"slices"

	"bench/experiment/record"
)

// newTokens are the prompt tokens that the server must prefill. A server can report more cached tokens than the prompt has.
func newTokens(r *record.Record) int { return max(0, int(computed(r))) }

// explaining is what makes latencies of requests unlike, whoever sent them. It contains no time of an answer: a slow
// party's answers would explain its own difference.
func (e *Measured) explaining(p parting, metric string, requests []*record.Record, size int) (out [][]float64) {
	number := func(of func(i int, r *record.Record) float64) {
		column := make([]float64, len(requests))
		for i, r := range requests {
			column[i] = of(i, r)
		}
		out = append(out, column)
	}
	number(func(i int, _ *record.Record) float64 { return float64(i % size) })
	number(func(_ int, r *record.Record) float64 { return float64(newTokens(r)) })
	number(func(_ int, r *record.Record) float64 { return float64(newTokens(r)) * float64(newTokens(r)) })
	if metric != "ttft_from_send" && metric != "ttft" {
		number(func(_ int, r *record.Record) float64 { return float64(r.OutputTokens) })
	}
	if e.Spec.Rate > 0 && !p.servers { // a queue
		ahead := 0
		number(func(_ int, r *record.Record) float64 { return float64(r.Arrival.Us()) })
		number(func(_ int, r *record.Record) float64 { ahead += newTokens(r); return float64(ahead) })
	}
	kinds(requests, p.servers, number)
	return out
}

// kinds are indicators of what makes requests unlike: class, model, replica, and whether they follow a turn.
func kinds(requests []*record.Record, ofReplicas bool, number func(func(int, *record.Record) float64)) {
	own := make([]string, len(requests))
	n := map[string]int{}
	for i, r := range requests {
		endpoint := -1
		if r.Endpoint != nil && !ofReplicas {
			endpoint = *r.Endpoint
		}
		own[i] = fmt.Sprintf("%s/%s/%d/%t", r.Class, r.Model, endpoint, r.Turn != nil && *r.Turn > 0)
		n[own[i]]++
	}
	names := slices.Sorted(maps.Keys(n))
	for _, name := range names[min(1, len(names)):] {
		number(func(i int, _ *record.Record) float64 {
			if own[i] == name {
				return 1
			}
			return 0
		})
	}
}
