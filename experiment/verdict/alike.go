package verdict

import (
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

	dependent bool // the interval is too narrow: a queue makes the latencies of the whole row alike
}

const (
	// familyError is the share of rows with parties that are alike in which a difference is found: a sweep has many rows.
	familyError = 0.01
	// leastStratum requests that follow each other are compared. More parties need more.
	leastStratum = 16
	perParty     = 4
	// leastZ is below the critical value of any family.
	leastZ = 2.5
	// almost is the share of the slow party's z at which a fast one lies nearly as far.
	almost = 0.9
	// mostCompared requests, taken evenly from the window in whole strata, bound the time of a comparison.
	mostCompared = 20_000
)

// differing compares every party with the others in every metric: at most one row in a hundred whose parties are alike
// has a difference. The party that stands out most is named, and another only if it differs from the rest in the same
// direction: one slow party makes the others fast. It is not possible if the first metric has too few requests.
func (e *Measured) differing(p parting) (out []difference, possible bool) {
	var series []*compared
	for i, metric := range p.metrics {
		c := e.compared(p, metric)
		if c == nil && i == 0 {
			return nil, false
		}
		if c != nil {
			series = append(series, c)
		}
	}
	named := map[int]bool{}
	for p.parties-len(named) > 1 {
		c, party, critical := mostDifferent(series, p, named)
		if c == nil {
			break
		}
		d := difference{party: party, metric: c.metric, looks: len(series) * (p.parties - len(named)), dependent: c.dependent}
		d.by = c.where(party, 0, named)
		d.within = stats.Interval{Lo: c.where(party, critical, named), Hi: c.where(party, -critical, named)}
		d.others = c.ofOthers(party, named)
		if len(out) > 0 && (d.by > 0) != (out[0].by > 0) {
			break
		}
		named[party] = true
		out = append(out, d)
	}
	return out, true
}

// mostDifferent is the party, of those not yet named, that lies farthest from the others beside what chance does to
// parties that are alike; nil: none lies farther than that. Of two that lie as far, the slow one is named.
func mostDifferent(series []*compared, p parting, named map[int]bool) (most *compared, party int, critical float64) {
	scores := make([][]float64, len(series))
	farthest, certain := 0.0, 0.0
	for i, c := range series {
		scores[i] = c.scores(-1, 0, named)
		for k, z := range c.dealt.Z(scores[i]) {
			if named[k] || z < 0 && p.servers {
				continue
			}
			far := math.Abs(z)
			if z < 0 {
				far *= almost
			}
			if far > farthest {
				most, party, farthest, certain = c, k, far, math.Abs(z)
			}
		}
	}
	if certain < leastZ {
		return nil, 0, 0
	}
	if critical = stats.Critical(dealings(series), scores, familyError, p.servers); certain <= critical {
		return nil, 0, 0
	}
	return most, party, critical
}

func dealings(series []*compared) (out []*stats.Dealt) {
	for _, c := range series {
		out = append(out, c.dealt)
	}
	return out
}

// compared is the values of one metric.
type compared struct {
	metric  string
	dealt   *stats.Dealt
	values  []float64 // ms, or logarithms
	parties []int     // of the values
	units   []int     // of the values, as dealt
	aligned *stats.Aligned

	dependent bool // successive blocks are not independent
}

// compared is nil if there are too few requests.
func (e *Measured) compared(p parting, metric string) *compared {
	requests := filter(e.Records, func(r *record.Record) bool {
		ms, ok := r.Latency(metric, e.Spec.Streams())
		return r.Phase == record.PhaseWindow && r.OK() && p.of(r) != nil && ok && (ms > 0 || !p.byFactor)
	})
	slices.SortFunc(requests, bySending)
	size := min(max(leastStratum, perParty*p.parties), max(leastStratum, len(requests)/leastStratum))
	if every := 1 + len(requests)/max(mostCompared, 2*leastStratum*p.parties); every > 1 {
		kept := requests[:0]
		for i, r := range requests {
			if i/size%every == 0 {
				kept = append(kept, r)
			}
		}
		requests = kept
	}
	c := &compared{metric: metric}
	for _, r := range requests {
		ms, _ := r.Latency(metric, e.Spec.Streams())
		if p.byFactor {
			ms = math.Log(ms)
		}
		c.values, c.parties = append(c.values, ms), append(c.parties, *p.of(r))
	}
	if c.dealt, c.units = e.dealing(p, requests); c.dealt == nil {
		return nil
	}
	if c.aligned = stats.NewAligned(c.values, size, e.explaining(p, metric, requests, size)...); c.aligned == nil {
		return nil
	}
	for p.servers && !c.dependent && c.dealt.Dependence(c.scores(-1, 0, nil)) > mostDependence {
		dealt, units := batches(p, requests, len(c.dealt.Blocks)/2)
		if c.dependent = dealt == nil; !c.dependent {
			c.dealt, c.units = dealt, units
		}
	}
	return c
}

// scores are the units' mean ranks, with a shift taken off one party's values and without the parties named.
func (c *compared) scores(party int, shift float64, named map[int]bool) []float64 {
	x := slices.Clone(c.aligned.Residuals)
	for i, k := range c.parties {
		switch {
		case named[k] && k != party:
			x[i] = math.NaN()
		case k == party:
			x[i] -= shift
		}
	}
	n := c.dealt.Units()
	sums, counts := make([]float64, n), make([]float64, n)
	for i, rank := range c.aligned.Ranks(x) {
		if !math.IsNaN(rank) {
			sums[c.units[i]] += rank
			counts[c.units[i]]++
		}
	}
	for u := range sums {
		sums[u] /= counts[u] // NaN: no value
	}
	return sums
}

// where is the shift of a party at which its z has a value: 0 is how far it lies from the others, as Hodges and Lehmann
// estimate it. z falls as the shift grows.
func (c *compared) where(party int, value float64, named map[int]bool) float64 {
	most := 2 * (slices.Max(c.aligned.Residuals) - slices.Min(c.aligned.Residuals))
	low, high := -most, most
	for range 40 {
		mid := (low + high) / 2
		if c.dealt.Z(c.scores(party, mid, named))[party] > value {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// ofOthers is the median of the other parties' values.
func (c *compared) ofOthers(party int, named map[int]bool) float64 {
	var others []float64
	for i, x := range c.values {
		if k := c.parties[i]; k != party && !named[k] {
			others = append(others, x)
		}
	}
	slices.Sort(others)
	return stats.Quantile(others, 0.5)
}
