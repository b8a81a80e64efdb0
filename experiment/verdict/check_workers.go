package verdict

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// A difference between workers below both is no finding, however certain.
const (
	immaterialMs    = 0.1
	immaterialShare = 0.01 // of the other workers' median
)

// checkWorkers compares the row's load workers. Their requests are random samples of the same load, so that a
// difference is of the way between a worker and the server, or of the worker's machine.
func checkWorkers(e *Measured) checkResult {
	if len(e.Workers) == 0 {
		return unasked
	}
	all, possible := e.differing(e.workersParting())
	if !possible {
		return noData
	}
	out := passed()
	for _, d := range all {
		if math.Abs(d.by) < immaterialMs && math.Abs(d.by) < immaterialShare*d.others {
			continue
		}
		f := caution("look for a slow network card, another zone, or other work on its machine; or run without that worker",
			"%s", e.differenceText(d)).touching(e.ofWorker(d))
		if out.severity != "" {
			f.problem = out.problem + "; " + f.problem
			f = f.touching(out.effects)
		}
		out = f
	}
	return out
}

func (e *Measured) workersParting() parting {
	p := parting{of: func(r *record.Record) *int { return r.Worker }, parties: len(e.Workers), metrics: []string{"ttft_from_send", "tpot"}}
	if !e.Spec.Streams() {
		p.metrics = []string{"e2e_from_send"}
	}
	return p
}

func (e *Measured) differenceText(d difference) string {
	ms, lo, hi, word := d.by, d.within.Lo, d.within.Hi, "longer"
	if d.by < 0 {
		ms, lo, hi, word = -d.by, -d.within.Hi, -d.within.Lo, "shorter"
	}
	return fmt.Sprintf("%s: %s is %s ms (%s %%) %s than of the other workers, interval %s to %s ms (99 %% over %d comparisons)",
		e.workerName(d.party), d.metric, unit.Brief(ms, 2), unit.Brief(100*ms/d.others, 2), word, unit.Brief(lo, 2), unit.Brief(hi, 2), d.looks)
}

// workerName is "worker 2 (host-b)".
func (e *Measured) workerName(k int) string {
	name := fmt.Sprintf("worker %d", k)
	if host := e.Workers[k].Host; host != "" {
		name += fmt.Sprintf(" (%s)", unit.ClipBytes(host, 60))
	}
	return name
}

// ofWorker are the effects of a worker's difference: on its own requests, by at most the far end of the interval.
func (e *Measured) ofWorker(d difference) []effect {
	most, direction := d.within.Hi, record.Inflated
	if d.by < 0 {
		most, direction = -d.within.Lo, record.Lowered
	}
	own := func(r *record.Record) float64 {
		if r.Worker == nil || *r.Worker != d.party {
			return 0
		}
		return most
	}
	if d.metric != "tpot" {
		return exactly(direction, most, own, firstToken, lastToken)
	}
	decode := func(r *record.Record) float64 { return own(r) * float64(max(0, r.OutputTokens-1)) }
	longest := 0.0
	for r := range record.Completed(e.Records) {
		longest = max(longest, decode(r))
	}
	return append(exactly(direction, most, own, betweenIt), exactly(direction, longest, decode, lastToken)...)
}
