package verdict

import (
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func (e *Measured) replicaNotes() (out []record.Finding) {
	for i, r := range e.Server.Replicas {
		if len(r.Differs) == 0 {
			continue
		}
		out = append(out, record.Finding{Code: "replicas", Severity: record.Caution,
			Text: fmt.Sprintf("replica %d (%s) is not the same server as the first: %s", i, r.Endpoint,
				unit.ClipBytes(strings.Join(r.Differs, "; "), 300)),
			Hint: "give all replicas the same model, version and flags, or measure each alone: [target] endpoints"})
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
		out = append(out, record.Finding{Code: "replicas", Severity: record.Note,
			Text: fmt.Sprintf("replica %d (%s) is slower: its %s: figures of the row pool all replicas",
				d.party, e.Server.Replicas[d.party].Endpoint, d.text()),
			Hint: "compare the replicas' hardware, flags and other load; or route fewer requests to it"})
	}
	return out
}
