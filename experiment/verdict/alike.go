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
	others float64        // median of the others, ms
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
	shift *stats.Shift
}

// mostDifferent is the most certain of all comparisons; not ok: none is certain.
func mostDifferent(all []comparison, parties int, slowOnly bool) (d difference, ok bool) {
	ps := make([]float64, len(all))
	for i, c := range all {
		if ps[i] = c.shift.P; slowOnly && c.shift.Difference <= 0 {
			ps[i] = math.Max(ps[i], 1)
		}
	}
	looks := 0
	best, least := -1, familyError
	for i, x := range stats.Holm(ps) {
		if !math.IsNaN(x) {
			looks++
		}
		if x < least || x == least && best >= 0 && math.Abs(all[i].shift.Difference) > math.Abs(all[best].shift.Difference) {
			best, least = i, x
		}
	}
	if best < 0 {
		return d, false
	}
	if d := all[best]; parties == 2 && d.shift.Difference < 0 { // of two, the slow one is named
		for i, c := range all {
			if c.metric == d.metric && c.party != d.party {
				best = i
			}
		}
	}
	d = all[best].difference
	d.by, d.looks = all[best].shift.Difference, looks
	d.within = all[best].shift.Interval(1 - familyError/float64(looks))
	return d, true
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
		if every := 1 + len(requests)/max(mostCompared, 2*size*len(left)); every > 1 {
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
	values := make([]float64, len(requests))
	var sessions []int
	for i, r := range requests {
		values[i], _ = r.Latency(metric, e.Spec.Streams())
		if p.byFactor {
			values[i] = math.Log(values[i])
		}
		if r.Session != nil && e.Spec.HasConversations() {
			sessions = append(sessions, *r.Session)
		}
	}
	if len(sessions) < len(requests) {
		sessions = nil
	}
	aligned := stats.NewAligned(values, size, queue.covariates(p, metric, requests, values, size)...)
	if aligned == nil {
		return nil
	}
	for _, k := range left {
		member := make([]bool, len(requests))
		var others []float64
		for i, r := range requests {
			if member[i] = *p.of(r) == k; !member[i] {
				ms, _ := r.Latency(metric, e.Spec.Streams())
				others = append(others, ms)
			}
		}
		slices.Sort(others)
		out = append(out, comparison{difference{party: k, metric: metric, others: stats.Quantile(others, 0.5)}, aligned.Shift(member, sessions)})
	}
	return out
}

// bySending is the order in which requests were sent.
func bySending(a, b *record.Record) int {
	return cmp.Or(cmp.Compare(a.Sent.Us(), b.Sent.Us()), cmp.Compare(a.I, b.I))
}
