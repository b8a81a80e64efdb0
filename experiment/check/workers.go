package check

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/metric"
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

// apart compares the parties by the number of a request's party; nil = none.
func apart(e *evidence, of func(*record.Record) *int, parties int, metrics ...string) (out []difference, possible bool) {
	found := map[int]bool{}
	for _, metric := range metrics {
		values := map[int][]float64{} // by party
		for r := range record.Completed(e.records) {
			if ms, ok := r.Latency(metric, e.Spec.Streams()); ok && of(r) != nil {
				values[*of(r)] = append(values[*of(r)], ms)
			}
		}
		for party := range parties {
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

func slowReplicas(e *evidence) (out []record.Finding) {
	if len(e.Replicas) < 2 {
		return nil
	}
	of := func(r *record.Record) *int { return r.Endpoint }
	slow, _ := apart(e, of, len(e.Server.Replicas), "ttft", "tpot", "e2e")
	for _, d := range slow {
		out = append(out, note("compare the replicas' hardware, flags and other load; or route fewer requests to it",
			"replica %d (%s) is slower: its %s: figures of the row pool all replicas", d.party,
			e.Server.Replicas[d.party].Endpoint, d.text()).as("replicas"))
	}
	return out
}

// checkWorkers: arrivals are dealt at random, so a difference is of the worker's machine or its way to the server.
func checkWorkers(e *evidence) result {
	if len(e.Workers) == 0 {
		return unasked
	}
	metrics := []string{"ttft_from_send", "tpot"}
	if !e.Spec.Streams() {
		metrics = []string{"e2e_from_send"}
	}
	slow, possible := apart(e, func(r *record.Record) *int { return r.Worker }, len(e.Workers), metrics...)
	if !possible {
		return noData
	}
	out := passed()
	for _, d := range slow {
		hint := "look for a slow network card, another zone, or other work on its machine; or run without that worker"
		out = out.and(caution(hint, "%s: %s", workerName(e.Row, d.party), d.text()).touching(ofWorker(e, d)))
	}
	return out
}

func workerName(r *record.Row, k int) string {
	name := fmt.Sprintf("worker %d", k)
	if host := r.Workers[k].Host; host != "" {
		name += fmt.Sprintf(" (%s)", unit.ClipBytes(host, 60))
	}
	return name
}

func ofWorker(e *evidence, d difference) []Effect {
	furthest := d.own.Hi - d.others.Lo
	own := onlyOf(d.party, func(*record.Record) float64 { return furthest })
	if d.metric != "tpot" {
		return exactly(record.Inflated, furthest, own, firstToken, lastToken)
	}
	decode := func(r *record.Record) float64 { return own(r) * float64(max(0, r.OutputTokens-1)) }
	return append(exactly(record.Inflated, furthest, own, betweenIt),
		exactly(record.Inflated, most(record.Completed(e.records), decode), decode, lastToken)...)
}

// worst makes a check for every load worker.
func worst(check func(*evidence) result) func(*evidence) result {
	return func(e *evidence) result {
		out, gravest := noData, -1
		all := len(e.views) > 0 // workers with requests can be checked
		var found []int
		var effects []Effect
		for k, own := range e.views {
			if own == nil {
				continue
			}
			f := check(own)
			all = all && f.outcome != impossible
			if f.severity == "" {
				continue
			}
			found = append(found, k)
			for _, x := range own.bounded(f.effects) {
				ofRow := !metric.IsLatency(x.Metric) // the same for every worker
				if !ofRow || !slices.ContainsFunc(effects, func(y Effect) bool { return y.Metric == x.Metric }) {
					effects = append(effects, x)
				}
			}
			if gravest < 0 || worse(f, out) {
				gravest, out = k, f
			}
		}
		switch {
		case gravest < 0 && all:
			return passed()
		case gravest < 0:
			return noData
		}
		var others []string
		for _, k := range found {
			if k != gravest {
				others = append(others, fmt.Sprintf("worker %d", k))
			}
		}
		out.problem, out.effects = workerName(e.Row, gravest)+": "+out.problem, effects
		if len(others) > 0 {
			out.problem += "; also " + unit.Some(others)
		}
		return out
	}
}

func worse(a, b result) bool {
	if a.severity != b.severity {
		return slices.Index(bySeverity, a.severity) > slices.Index(bySeverity, b.severity)
	}
	return largest(a.effects) > largest(b.effects)
}

var bySeverity = []record.Severity{"", record.Note, record.Caution, record.Invalid}

func largest(effects []Effect) (most float64) {
	for _, x := range effects {
		if x.Bound == nil {
			return math.Inf(1)
		}
		most = max(most, *x.Bound)
	}
	return most
}

func (e *evidence) view(w *record.Worker) *evidence {
	records := slices.DeleteFunc(slices.Clone(e.records),
		func(r *record.Record) bool { return r.Worker == nil || *r.Worker != w.Worker })
	if len(records) == 0 {
		return nil
	}
	row := *e.Row
	row.Workers, row.Client, row.Clock, row.Connections = nil, w.Client, w.Clock, w.Connections
	row.Host, row.Selftest = w.Load, w.Selftest
	row.Summary = record.Summarize(records, e.Window, record.ModeOf(&e.Spec), e.Spec.SLO.PerRequest(), 0)
	own := &evidence{Row: &row, records: records, whole: e}
	own.disturbed.paused = pausesOf(w.Client)
	return own
}

func (e *evidence) viewWorkers() {
	e.Workers, e.views = slices.Clone(e.Workers), nil
	for i := range e.Workers {
		own := e.view(&e.Workers[i])
		if own != nil {
			own.Selftest = own.Selftest.For(ClientLoad(&own.Summary))
			w := &e.Workers[i]
			w.Selftest, w.Sent, w.MaxInFlight = own.Selftest, own.Summary.Requests.Sent, own.Summary.Concurrency.Max
			if s := own.Summary.Lag; s != nil {
				w.LagP99 = &s.P99
			}
			if s := own.Summary.TTFTFromSend; s != nil {
				w.TTFTP50 = &s.P50
			}
		}
		e.views = append(e.views, own)
	}
}

func onlyOf(worker int, own func(*record.Record) float64) func(*record.Record) float64 {
	return func(r *record.Record) float64 {
		if r.Worker == nil || *r.Worker != worker {
			return 0
		}
		return own(r)
	}
}

func (e *evidence) bounded(effects []Effect) []Effect {
	n := float64(number(e.records, func(r *record.Record) bool { return r.Phase == record.PhaseWindow }))
	worker := *e.records[0].Worker
	return each(slices.Clone(effects), func(x *Effect) {
		switch {
		case !metric.IsLatency(x.Metric): // of the whole row's load
		case x.Own != nil:
			x.Own = onlyOf(worker, x.Own)
		case x.Share != nil:
			x.Share = onlyOf(worker, x.Share)
		case x.Unit == record.UnitMs && x.Bound != nil:
			furthest := *x.Bound
			x.Own = onlyOf(worker, func(*record.Record) float64 { return furthest })
		case x.Unit == record.UnitRequests && x.Bound != nil:
			x.Bound = new(min(*x.Bound, n))
		default:
			x.Unit, x.Bound = record.UnitRequests, new(n)
		}
	})
}

// checkStart finds workers whose zero is uncertain beside a regular gap of arrivals, or that were late to the start.
func checkStart(e *evidence) result {
	if len(e.Workers) == 0 {
		return unasked
	}
	var skewed, late record.Worker
	for _, w := range e.Workers {
		if w.StartSkewUs > skewed.StartSkewUs {
			skewed = w
		}
		if w.StartLateUs > late.StartLateUs {
			late = w
		}
	}
	out := passed()
	if gap, regular := regularGap(&e.Spec); regular && float64(skewed.StartSkewUs) > skewedShare*gap {
		ms := float64(skewed.StartSkewUs) / record.UsPerMs
		out = note("place the workers nearer to the leader, or lower the rate",
			"%s: its start is uncertain by ±%s ms, %s %% of the gap between arrivals",
			workerName(e.Row, skewed.Worker), unit.Brief(ms, 2), unit.Brief(100*float64(skewed.StartSkewUs)/gap, 2)).
			touching(inMs(record.Unknown, 2*ms, firstToken, lastToken))
	}
	if late.StartLateUs > 0 {
		out = out.and(note("make the warm-up longer than that",
			"%s was ready %s ms after the common start: its first requests left late (client lag)",
			workerName(e.Row, late.Worker), unit.Brief(float64(late.StartLateUs)/record.UsPerMs, 3)))
	}
	return out
}

const skewedShare = 0.1

// regularGap is the mean time between arrivals, µs, of a process whose regularity a skew spoils.
func regularGap(s *experiment.Spec) (us float64, regular bool) {
	if !s.Timed() || s.ReplaysTrace() {
		return 0, false
	}
	a := s.Arrival
	return 1e6 / float64(s.Rate), a.Process == "constant" || a.Process == "bursts" || a.Gaps == "constant"
}

// uneven: answers of different lengths alone bring some percent.
const uneven = 0.25

func checkParts(e *evidence) result {
	if len(e.Workers) == 0 || e.Spec.Requests == 0 {
		return unasked
	}
	counted := number(e.records, func(r *record.Record) bool { return r.Phase == record.PhaseWindow })
	beside := number(e.records, e.Window.HasBeside)
	// up to one per request in flight is at the edge
	if float64(beside) <= max(float64(e.Spec.Concurrency), uneven*float64(counted)) {
		return passed()
	}
	return caution(`write duration = "60s" in place of requests: then all workers end at one time`,
		"workers were not equally fast: %s requests beside the %s that count arrived in the window; "+
			"percentiles weigh the workers alike, the load did not",
		unit.Count(beside), unit.Count(counted)).
		touching(unbounded(record.Unknown, firstToken, lastToken, betweenIt))
}

// checkCap finds requests that waited for their worker's part of a cap while another worker could have sent them.
func checkCap(e *evidence) result {
	if len(e.Workers) < 2 || e.Spec.Closed() || e.Spec.Concurrency == 0 {
		return unasked
	}
	waited, n := e.completed(func(r *record.Record) bool { return capWait(r) > 0 })
	switch {
	case n == 0:
		return noData
	case float64(waited) <= tolerated*float64(n):
		return passed()
	}
	longest := most(record.Completed(e.records), capWait)
	return caution("run this row without --workers, or raise concurrency: only waits under the cap differ",
		"%d of %d requests waited up to %s under the cap of their worker, while another worker may have been below its own",
		waited, n, unit.Format(longest, "ms")).
		touching(exactly(record.Inflated, longest, capWait, fromArrival, []string{"cap_wait"}))
}

func capWait(r *record.Record) float64 {
	ms, _ := r.Latency("cap_wait", true)
	return ms
}
