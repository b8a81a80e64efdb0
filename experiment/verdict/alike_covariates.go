package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// queueing is the state of the server that each request found.
type queueing struct {
	waiting map[*record.Record]int // requests without a first token when it was sent
	tokens  map[*record.Record]int // their prompt tokens that are not cached
	running map[*record.Record]int // requests in flight
	place   map[*record.Record]int // among the requests that arrived with it

	largestBurst int
}

// together is the largest distance of arrivals that are one burst, µs: of times that were rounded.
const together = 1

func (e *Measured) queueing() *queueing {
	q := &queueing{waiting: map[*record.Record]int{}, tokens: map[*record.Record]int{}, running: map[*record.Record]int{}, place: map[*record.Record]int{}}
	sent := filter(e.Records, func(r *record.Record) bool { return !r.Sent.IsZero() })
	slices.SortStableFunc(sent, bySending)
	first, ended := slices.Clone(sent), slices.Clone(sent)
	slices.SortFunc(first, func(a, b *record.Record) int { return cmp.Compare(leftQueue(a), leftQueue(b)) })
	slices.SortFunc(ended, func(a, b *record.Record) int { return cmp.Compare(a.End.Us(), b.End.Us()) })
	began, gone, ahead := 0, 0, 0
	for i, r := range sent {
		for ; began < len(first) && leftQueue(first[began]) <= r.Sent.Us(); began++ {
			ahead -= newTokens(first[began])
		}
		for ; gone < len(ended) && ended[gone].End.Us() <= r.Sent.Us(); gone++ {
		}
		q.waiting[r], q.tokens[r], q.running[r] = max(0, i-began), max(0, ahead), max(0, i-gone)
		ahead += newTokens(r)
	}
	if e.Spec.Rate > 0 {
		q.findPlaces(sent)
	}
	return q
}

func (q *queueing) findPlaces(sent []*record.Record) {
	slices.SortStableFunc(sent, func(a, b *record.Record) int {
		return cmp.Compare(a.Arrival.Us(), b.Arrival.Us())
	})
	for i, r := range sent {
		if i > 0 && r.Arrival.Us()-sent[i-1].Arrival.Us() <= together {
			q.place[r] = q.place[sent[i-1]] + 1
		}
		q.largestBurst = max(q.largestBurst, q.place[r]+1)
	}
}

// leftQueue is when the server began to answer, or gave up, µs.
func leftQueue(r *record.Record) int64 {
	if us, ok := r.First.Get(); ok {
		return us
	}
	return r.End.Us()
}

// newTokens are those that the server must prefill.
func newTokens(r *record.Record) int {
	n := r.PromptRequested
	if r.PromptTokens != nil {
		n = *r.PromptTokens
	}
	if r.CachedTokens != nil {
		n -= *r.CachedTokens
	}
	return max(0, n)
}

// Places that each have a covariate: with parties that take turns, a server that works in batches gives each party
// places of its own.
const (
	mostWaiting = 16 // in the queue; those behind are one
	mostPlaces  = 64 // in a burst; a larger burst can't be compared
)

// covariates are what explains latencies of requests that are alike but for their party.
func (q *queueing) covariates(p parting, metric string, requests []*record.Record, values []float64, size int) (out []stats.Covariate) {
	number := func(of func(i int, r *record.Record) float64) {
		column := make([]float64, len(requests))
		for i, r := range requests {
			column[i] = of(i, r)
		}
		out = append(out, stats.Covariate{Of: column})
	}
	number(func(i int, _ *record.Record) float64 { return float64(i % size) })
	number(func(_ int, r *record.Record) float64 { return float64(newTokens(r)) })
	number(func(_ int, r *record.Record) float64 { return float64(newTokens(r)) * float64(newTokens(r)) })
	if metric != "ttft_from_send" && metric != "ttft" {
		number(func(_ int, r *record.Record) float64 { return float64(r.OutputTokens) })
	}
	kinds(requests, p.servers, number)
	exact := func(of map[*record.Record]int, most int) {
		largest := 0
		for _, r := range requests {
			largest = max(largest, of[r])
		}
		for k := range min(largest, most) {
			number(func(_ int, r *record.Record) float64 { return indicator(min(of[r], most) == k+1) })
		}
	}
	exact(q.place, mostPlaces)
	if p.servers {
		return out
	}
	out = append(out, neighbour(metric, requests, values, -1), neighbour(metric, requests, values, 1))
	exact(q.waiting, mostWaiting)
	for _, of := range []map[*record.Record]int{q.waiting, q.tokens, q.running} {
		number(func(_ int, r *record.Record) float64 { return float64(of[r]) })
	}
	return out
}

// neighbour is what the request sent before, or after, says about a latency: how long after this request was sent the
// other's first token came, which a queue keeps in order; of other metrics, the other's latency.
func neighbour(metric string, requests []*record.Record, values []float64, step int) stats.Covariate {
	c := stats.Covariate{Of: make([]float64, len(requests)), From: make([]int, len(requests))}
	for i, r := range requests {
		k := min(max(i+step, 0), len(requests)-1)
		if c.From[i] = k; k == i {
			k, c.From[i] = i-step, i-step
		}
		c.Of[i] = values[k]
		if metric == "ttft_from_send" {
			c.Of[i] = float64(requests[k].First.Us()-r.Sent.Us()) / record.UsPerMs
			if c.Of[i] < 0 {
				c.Of[i], c.From[i] = 0, -1
			}
		}
	}
	return c
}

// kinds are indicators of what makes requests unlike: class, model, replica, and whether they follow a turn.
func kinds(requests []*record.Record, ofReplicas bool, number func(func(int, *record.Record) float64)) {
	kind := func(r *record.Record) string {
		endpoint := -1
		if r.Endpoint != nil && !ofReplicas {
			endpoint = *r.Endpoint
		}
		return fmt.Sprintf("%s/%s/%d/%t", r.Class, r.Model, endpoint, r.Turn != nil && *r.Turn > 0)
	}
	own := make([]string, len(requests))
	n := map[string]int{}
	for i, r := range requests {
		own[i] = kind(r)
		n[own[i]]++
	}
	names := slices.Sorted(maps.Keys(n))
	for _, name := range names[min(1, len(names)):] {
		number(func(i int, _ *record.Record) float64 { return indicator(own[i] == name) })
	}
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
