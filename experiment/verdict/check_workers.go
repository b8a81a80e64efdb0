package verdict

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// A difference between workers below either is no finding, however certain.
const (
	immaterialMs    = 0.1
	immaterialShare = 0.01 // of the other workers' median
)

// Where nothing is found, as with too few requests or streams, a worker differs if each quartile of its latencies lies
// far above each of the others'. Streams in step can have a place behind others to the end of a row, and wait up to twice as
// long.
const (
	farAbove      = 2
	leastInWorker = 8 // requests
)

// checkWorkers compares the row's load workers. Arrivals are dealt to them at random, so that a difference is of the
// way between a worker and the server, or of the worker's machine.
func checkWorkers(e *Measured) checkResult {
	if len(e.Workers) == 0 {
		return unasked
	}
	p := e.workersParting()
	out := passed()
	add := func(d difference, text string) {
		f := caution("look for a slow network card, another zone, or other work on its machine; or run without that worker",
			"%s", text).touching(e.ofWorker(d))
		if out.severity != "" {
			f.problem = out.problem + "; " + f.problem
			f = f.touching(out.effects)
		}
		out = f
	}
	all, possible := e.differing(p)
	for _, d := range all {
		if math.Abs(d.by) >= max(immaterialMs, immaterialShare*d.others) {
			add(d, e.differenceText(d))
		}
	}
	if len(all) > 0 {
		return out
	}
	if !possible {
		out = noData
	}
	for k := range e.Workers {
		if d, text, is := e.apart(p, k); is {
			add(d, text)
		}
	}
	return out
}

// apart reports whether a worker's latencies lie far above the others'.
func (e *Measured) apart(p parting, worker int) (d difference, text string, is bool) {
	d = difference{party: worker, metric: p.metrics[0]}
	var own, others []float64
	for r := range record.Completed(e.Records) {
		ms, ok := r.Latency(d.metric, e.Spec.Streams())
		switch k := p.of(r); {
		case !ok || k == nil:
		case *k == worker:
			own = append(own, ms)
		default:
			others = append(others, ms)
		}
	}
	if min(len(own), len(others)) < leastInWorker {
		return d, "", false
	}
	slices.Sort(own)
	slices.Sort(others)
	low, high := stats.Quantile(own, 0.25), stats.Quantile(own, 0.75)
	from, to := stats.Quantile(others, 0.25), stats.Quantile(others, 0.75)
	d.by, d.others = stats.Quantile(own, 0.5)-stats.Quantile(others, 0.5), stats.Quantile(others, 0.5)
	d.within = stats.Interval{Lo: low - to, Hi: high - from}
	text = fmt.Sprintf("%s: %s lies far above the other workers': quartiles %s to %s ms, theirs %s to %s ms", e.workerName(worker), d.metric,
		unit.Brief(low, 3), unit.Brief(high, 3), unit.Brief(from, 3), unit.Brief(to, 3))
	return d, text, low > farAbove*to && low-to > immaterialMs
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
	own := onlyOf(d.party, func(*record.Record) float64 { return most })
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
