package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// A party differs if each quartile of its latencies lies far above each of the others'. Smaller differences are
// normal: requests that share a queue or a batch are late together, up to twice as long to the end of a row.
const (
	farAbove     = 2
	leastInParty = 8   // requests
	immaterialMs = 0.1 // a difference below it is none
)

type parting struct {
	of      func(*record.Record) *int // number of the request's party; nil = none
	parties int
	metrics []string
}

type difference struct {
	party       int
	metric      string
	own, others stats.Interval // lower and upper quartile
}

// text is "ttft lies far above the others': quartiles 310 to 350 ms, theirs 95 to 110 ms".
func (d difference) text() string {
	return fmt.Sprintf("%s lies far above the others': quartiles %s to %s ms, theirs %s to %s ms", d.metric,
		unit.Brief(d.own.Lo, 3), unit.Brief(d.own.Hi, 3), unit.Brief(d.others.Lo, 3), unit.Brief(d.others.Hi, 3))
}

// most is the largest part of the difference in a latency, in ms.
func (d difference) most() float64 { return d.own.Hi - d.others.Lo }

func (e *Measured) apart(p parting) (out []difference, possible bool) {
	found := map[int]bool{}
	for _, metric := range p.metrics {
		values := map[int][]float64{} // by party
		for r := range record.Completed(e.Records) {
			if ms, ok := r.Latency(metric, e.Spec.Streams()); ok && p.of(r) != nil {
				values[*p.of(r)] = append(values[*p.of(r)], ms)
			}
		}
		for party := range p.parties {
			var others []float64
			for k, v := range values {
				if k != party {
					others = append(others, v...)
				}
			}
			if min(len(values[party]), len(others)) < leastInParty {
				continue
			}
			possible = true
			d := difference{party: party, metric: metric, own: quartiles(values[party]), others: quartiles(others)}
			if !found[party] && d.own.Lo > farAbove*d.others.Hi && d.own.Lo-d.others.Hi > immaterialMs {
				found[party], out = true, append(out, d)
			}
		}
	}
	return out, possible
}

func quartiles(values []float64) stats.Interval {
	sorted := slices.Sorted(slices.Values(values))
	return stats.Interval{Lo: stats.Quantile(sorted, 0.25), Hi: stats.Quantile(sorted, 0.75)}
}

func (e *Measured) replicaNotes() (out []record.Finding) {
	for i, r := range e.Server.Replicas {
		if len(r.Differs) == 0 {
			continue
		}
		out = append(out, caution(
			"give all replicas the same model, version and flags, or measure each alone: [target] endpoints",
			"replica %d (%s) is not the same server as the first: %s", i, r.Endpoint,
			unit.ClipBytes(strings.Join(r.Differs, "; "), 300)).as("replicas"))
	}
	return append(out, e.slowReplica()...)
}

func (e *Measured) slowReplica() (out []record.Finding) {
	if len(e.Replicas) < 2 {
		return nil
	}
	slow, _ := e.apart(parting{of: func(r *record.Record) *int { return r.Endpoint }, parties: len(e.Server.Replicas),
		metrics: []string{"ttft", "tpot", "e2e"}})
	for _, d := range slow {
		out = append(out, note("compare the replicas' hardware, flags and other load; or route fewer requests to it",
			"replica %d (%s) is slower: its %s: figures of the row pool all replicas", d.party,
			e.Server.Replicas[d.party].Endpoint, d.text()).as("replicas"))
	}
	return out
}
