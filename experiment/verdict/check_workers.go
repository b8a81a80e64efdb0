package verdict

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// checkWorkers: arrivals are dealt at random, so a difference is of the worker's machine or its way to the server.
func checkWorkers(e *Measured) checkResult {
	if len(e.Workers) == 0 {
		return unasked
	}
	p := parting{parties: len(e.Workers), metrics: []string{"ttft_from_send", "tpot"}}
	p.of = func(r *record.Record) *int { return r.Worker }
	if !e.Spec.Streams() {
		p.metrics = []string{"e2e_from_send"}
	}
	slow, possible := e.apart(p)
	if !possible {
		return noData
	}
	out := passed()
	for _, d := range slow {
		hint := "look for a slow network card, another zone, or other work on its machine; or run without that worker"
		out = out.and(caution(hint, "%s: %s", e.workerName(d.party), d.text()).touching(e.ofWorker(d)))
	}
	return out
}

func (e *Measured) workerName(k int) string {
	name := fmt.Sprintf("worker %d", k)
	if host := e.Workers[k].Host; host != "" {
		name += fmt.Sprintf(" (%s)", unit.ClipBytes(host, 60))
	}
	return name
}

func (e *Measured) ofWorker(d difference) []effect {
	most := d.most()
	own := onlyOf(d.party, func(*record.Record) float64 { return most })
	if d.metric != "tpot" {
		return exactly(record.Inflated, most, own, firstToken, lastToken)
	}
	decode := func(r *record.Record) float64 { return own(r) * float64(max(0, r.OutputTokens-1)) }
	longest := 0.0
	for r := range record.Completed(e.Records) {
		longest = max(longest, decode(r))
	}
	return append(exactly(record.Inflated, most, own, betweenIt),
		exactly(record.Inflated, longest, decode, lastToken)...)
}
