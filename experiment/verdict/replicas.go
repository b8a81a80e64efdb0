package verdict

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// muchSlower is the smallest factor between a replica and the others that is a finding, at the near end of its interval.
const muchSlower = 1.1

// replicaNotes are about replicas that are not the same: by what they report, and by their latencies.
func (e *Measured) replicaNotes() (out []record.Finding) {
	for i, r := range e.Server.Replicas {
		if len(r.Differs) == 0 {
			continue
		}
		out = append(out, record.Finding{Code: "replicas_differ", Severity: record.Caution,
			Text: fmt.Sprintf("replica %d (%s) is not the same server as the first: %s", i, r.Endpoint, unit.ClipBytes(strings.Join(r.Differs, "; "), 300)),
			Hint: "give all replicas the same model, version and flags, or measure each alone: [target] endpoints"})
	}
	return append(out, e.slowReplica()...)
}

// slowReplica finds the replica whose latency is most certainly above the others'. Their queues are their own, so that
// the wait in them is a part of the difference.
func (e *Measured) slowReplica() []record.Finding {
	if len(e.Replicas) < 2 {
		return nil
	}
	all, _ := e.differing(parting{of: func(r *record.Record) *int { return r.Endpoint }, parties: len(e.Server.Replicas),
		metrics: []string{"ttft", "tpot", "e2e"}, byFactor: true, servers: true})
	for _, d := range all {
		least := muchSlower
		if d.dependent {
			least = farAbove
		}
		if !(math.Exp(d.within.Lo) > least) {
			continue
		}
		factor := func(x float64) string { return unit.Brief(math.Exp(x), 3) }
		return []record.Finding{{Code: "replica_slow", Severity: record.Note,
			Text: fmt.Sprintf("replica %d (%s) is slower: its %s is %s times the others' (interval %s to %s, 99 %% over %d comparisons): figures of the row pool all replicas",
				d.party, e.Server.Replicas[d.party].Endpoint, d.metric, factor(d.by), factor(d.within.Lo), factor(d.within.Hi), d.looks),
			Hint: "compare the replicas' hardware, flags and other load; or route fewer requests to it"}}
	}
	return nil
}
