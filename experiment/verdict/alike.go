package verdict

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// parting divides a row's requests among parties that should be alike: workers, or replicas.
type parting struct {
	of      func(*record.Record) *int // number of the request's party; nil = none
	parties int
	metrics []string
	// byFactor compares logarithms. Otherwise a difference is in ms.
	byFactor bool
	// servers: the parties are servers. Each has a queue of its own, in which the wait is a part of the difference, and
	// only slow ones are looked for.
	servers bool
}

// difference is how far a party's latency lies from the others'.
type difference struct {
	party  int
	metric string
	by     float64        // ms, or a logarithm
	within stats.Interval // with the other comparisons right in 99 % of rows
	others float64        // median of the others, in the same unit
	looks  int            // comparisons
}

const (
	// familyError is the share of rows with parties that are alike in which a difference is found: a sweep has many rows.
	familyError = 0.01
	// leastStratum requests that follow each other are compared. More parties need more.
	leastStratum = 16
	perParty     = 4
	// mostCompared requests, taken evenly from the window in whole strata, bound the time of a comparison.
	mostCompared = 20_000
)

// differing compares every party with the others in every metric: at most one row in a hundred whose parties are
// alike has a difference (Holm). A party that differs is left out, and the rest compared again, so that a slow one does
// not make the others fast. The most certain difference comes first. It is not possible if no party has enough requests,
// or each has places of its own in bursts.
func (e *Measured) differing(p parting) (out []difference, possible bool) {
	left := make([]int, p.parties)
	for i := range left {
		left[i] = i
	}
	for len(left) > 1 {
		all := e.compare(p, left)
		possible = possible || slices.ContainsFunc(all, func(c comparison) bool { return !math.IsNaN(c.shift.P) })
		d, ok := mostDifferent(all, len(left), p.servers)
		if !ok {
			break
		}
		out = append(out, d)
		left = slices.DeleteFunc(left, func(k int) bool { return k == d.party })
	}
	return out, possible
}

// comparison is one party and metric.
type comparison struct {
	difference
	shift   *stats.Shift
	values  []float64
	parties []int // of the values
}

// ofOthers is the median of the other parties' values.
func (c *comparison) ofOthers() float64 {
	var others []float64
	for i, x := range c.values {
		if c.parties[i] != c.party {
			others = append(others, x)
		}
	}
	slices.Sort(others)
	return stats.Quantile(others, 0.5)
}

// mostDifferent is the most certain of all comparisons; not ok: none is certain.
func mostDifferent(all []comparison, parties int, slowOnly bool) (d difference, ok bool) {
	ps := make([]float64, len(all))
	for i, c := range all {
		if ps[i] = c.shift.P; slowOnly && !c.shift.Above {
			ps[i] = math.Max(ps[i], 1)
		}
	}
	adjusted := stats.Holm(ps)
	order, looks := []int{}, 0
	for i, x := range adjusted {
		if !math.IsNaN(x) {
			looks++
		}
		if x < familyError {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, k int) int {
		return cmp.Or(cmp.Compare(adjusted[i], adjusted[k]), cmp.Compare(math.Abs(all[k].shift.Difference()), math.Abs(all[i].shift.Difference())))
	})
	for _, i := range order {
		if c := all[i]; parties == 2 && !c.shift.Above { // of two, the slow one is named
			i = slices.IndexFunc(all, func(x comparison) bool { return x.metric == c.metric && x.party != c.party })
		}
		d = all[i].difference
		d.by, d.looks = all[i].shift.Difference(), looks
		d.within = all[i].shift.Interval(1 - familyError/float64(looks))
		if d.within.Lo > 0 || d.within.Hi < 0 { // the variance beside the shift can be larger than without it
			d.others = all[i].ofOthers()
			return d, true
		}
	}
	return d, false
}

// compare tests every party that is left, in every metric.
func (e *Measured) compare(p parting, left []int) (out []comparison) {
	queue := e.queueing()
	if queue.largestBurst > mostPlaces {
		return nil
	}
	for _, metric := range p.metrics {
		var requests []*record.Record
		for r := range record.Completed(e.Records) {
			if k := p.of(r); k != nil && slices.Contains(left, *k) {
				if ms, ok := r.Latency(metric, e.Spec.Streams()); ok && (ms > 0 || !p.byFactor) {
					requests = append(requests, r)
				}
			}
		}
		slices.SortFunc(requests, bySending)
		size := min(max(leastStratum, perParty*len(left)), max(leastStratum, len(requests)/leastStratum))
		if every := 1 + len(requests)/max(mostCompared, 2*leastStratum*len(left)); every > 1 {
			kept := requests[:0]
			for i, r := range requests {
				if i/size%every == 0 {
					kept = append(kept, r)
				}
			}
			requests = kept
		}
		out = append(out, e.compareMetric(p, metric, left, requests, size, queue)...)
	}
	return out
}

func (e *Measured) compareMetric(p parting, metric string, left []int, requests []*record.Record, size int, queue *queueing) (out []comparison) {
	values, parties := make([]float64, len(requests)), make([]int, len(requests))
	for i, r := range requests {
		values[i], _ = r.Latency(metric, e.Spec.Streams())
		if p.byFactor {
			values[i] = math.Log(values[i])
		}
		parties[i] = *p.of(r)
	}
	aligned := stats.NewAligned(values, size, queue.covariates(p, metric, requests, values, size)...)
	if aligned == nil {
		return nil
	}
	streams := e.streams(p, requests)
	for _, k := range left {
		out = append(out, comparison{difference{party: k, metric: metric}, aligned.Shift(k, parties, streams), values, parties})
	}
	return out
}

// streams numbers what keeps its properties from request to request: a conversation, or in a closed loop a stream of
// requests, each sent when the one before ended. Streams in step keep their places in the server's batches to the end.
// nil: the requests have neither.
func (e *Measured) streams(p parting, requests []*record.Record) (out []int) {
	switch {
	case e.Spec.HasConversations():
		for _, r := range requests {
			if r.Session == nil {
				return nil
			}
			out = append(out, *r.Session)
		}
	case e.Spec.Rate == 0 && !p.servers:
		of := map[*record.Record]int{}
		for k := range p.parties {
			own := filter(e.Records, func(r *record.Record) bool {
				party := p.of(r)
				return party != nil && *party == k && !r.Arrival.IsZero()
			})
			numberStreams(own, of)
		}
		for _, r := range requests {
			out = append(out, of[r])
		}
	}
	return out
}

// numberStreams gives each request the stream of the request that ended last before it arrived.
func numberStreams(requests []*record.Record, of map[*record.Record]int) {
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
		of[r], ends[best] = best, r.End.Us()
	}
}

// bySending is the order in which requests were sent.
func bySending(a, b *record.Record) int {
	return cmp.Or(cmp.Compare(a.Sent.Us(), b.Sent.Us()), cmp.Compare(a.I, b.I))
}
