package verdict

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/metric"
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
	return append(exactly(record.Inflated, most, own, betweenIt),
		e.exactly(record.Inflated, decode, lastToken)...)
}

// perWorker makes a check of the client for every load worker; the worst decides and is named.
func perWorker(check func(*Measured) checkResult) func(*Measured) checkResult {
	return func(e *Measured) checkResult {
		if len(e.Workers) == 0 {
			return check(e)
		}
		return e.worst(check)
	}
}

func (e *Measured) worst(check func(*Measured) checkResult) checkResult {
	out := noData
	all := true // workers with requests can be checked
	var found []int
	var effects []effect
	worst := -1
	for k, own := range e.views {
		if own == nil {
			continue
		}
		f := check(own)
		all = all && f.possible
		if f.severity == "" {
			continue
		}
		found = append(found, k)
		for _, x := range own.bounded(f.effects) {
			ofRow := !metric.IsLatency(x.Metric) // the same for every worker
			if !ofRow || !slices.ContainsFunc(effects, func(y effect) bool { return y.Metric == x.Metric }) {
				effects = append(effects, x)
			}
		}
		if worst < 0 || worse(f, out) {
			worst, out = k, f
		}
	}
	if worst < 0 {
		if all && len(e.views) > 0 {
			return passed()
		}
		return noData
	}
	out.problem = e.workerName(worst) + ": " + out.problem
	var others []string
	for _, k := range found {
		if k != worst {
			others = append(others, fmt.Sprintf("worker %d", k))
		}
	}
	if len(others) > 0 {
		out.problem += "; also " + unit.Some(others)
	}
	out.effects = effects
	return out
}

func worse(a, b checkResult) bool {
	if a.severity != b.severity {
		return slices.Index(bySeverity, a.severity) > slices.Index(bySeverity, b.severity)
	}
	return largest(a.effects) > largest(b.effects)
}

var bySeverity = []record.Severity{"", record.Note, record.Caution, record.Invalid}

func largest(effects []effect) (most float64) {
	for _, x := range effects {
		if x.Bound == nil {
			return math.Inf(1)
		}
		most = max(most, *x.Bound)
	}
	return most
}

func (e *Measured) view(w *record.Worker) *Measured {
	records := filter(e.Records, func(r *record.Record) bool { return r.Worker != nil && *r.Worker == w.Worker })
	if len(records) == 0 {
		return nil
	}
	row := *e.Row
	row.Workers, row.Client, row.Clock, row.Connections, row.Host, row.Selftest = nil, w.Client, w.Clock, w.Connections, w.Load, w.Selftest
	row.Summary = record.Summarize(records, e.Window, record.ModeOf(&e.Spec), e.Spec.SLO.PerRequest(), 0)
	own := &Measured{Row: &row, Records: records, whole: e}
	own.disturbed.paused = pausesOf(w.Client)
	return own
}

func (e *Measured) viewWorkers() {
	e.Workers, e.views = slices.Clone(e.Workers), nil
	for i := range e.Workers {
		own := e.view(&e.Workers[i])
		if own != nil {
			own.Selftest = own.Selftest.For(clientLoad(&own.Summary))
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

func (e *Measured) bounded(effects []effect) (out []effect) {
	n := 0
	for _, r := range e.Records {
		if r.Phase == record.PhaseWindow {
			n++
		}
	}
	number := *e.Records[0].Worker
	for _, x := range effects {
		switch {
		case !metric.IsLatency(x.Metric): // of the whole row's load
		case x.own != nil:
			x.own = onlyOf(number, x.own)
		case x.share != nil:
			x.share = onlyOf(number, x.share)
		case x.Unit == record.UnitMs && x.Bound != nil:
			most := *x.Bound
			x.own = onlyOf(number, func(*record.Record) float64 { return most })
		case x.Unit == record.UnitRequests && x.Bound != nil:
			x.Bound = new(min(*x.Bound, float64(n)))
		default:
			x.Unit, x.Bound = record.UnitRequests, new(float64(n))
		}
		out = append(out, x)
	}
	return out
}

// checkStart finds workers whose zero is uncertain beside a regular gap of arrivals, or that were late to the start.
func checkStart(e *Measured) checkResult {
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
	if gap, regular := e.regularGap(); regular && float64(skewed.StartSkewUs) > skewedShare*gap {
		ms := float64(skewed.StartSkewUs) / record.UsPerMs
		out = note("place the workers nearer to the leader, or lower the rate",
			"%s: its start is uncertain by ±%s ms, %s %% of the gap between arrivals",
			e.workerName(skewed.Worker), unit.Brief(ms, 2), unit.Brief(100*float64(skewed.StartSkewUs)/gap, 2)).
			touching(inMs(record.Unknown, 2*ms, firstToken, lastToken))
	}
	if late.StartLateUs > 0 {
		out = out.and(note("make the warm-up longer than that",
			"%s was ready %s ms after the common start: its first requests left late (client lag)",
			e.workerName(late.Worker), unit.Brief(float64(late.StartLateUs)/record.UsPerMs, 3)))
	}
	return out
}

const skewedShare = 0.1

// regularGap is the mean time between arrivals, µs, of a process whose regularity a skew spoils.
func (e *Measured) regularGap() (us float64, regular bool) {
	if !e.Spec.Timed() || e.Spec.ReplaysTrace() {
		return 0, false
	}
	a := e.Spec.Arrival
	return 1e6 / float64(e.Spec.Rate), a.Process == "constant" || a.Process == "bursts" || a.Gaps == "constant"
}

// uneven: answers of different lengths alone bring some percent.
const uneven = 0.25

func checkParts(e *Measured) checkResult {
	if len(e.Workers) == 0 || e.Spec.Requests == 0 {
		return unasked
	}
	counted, beside := 0, 0
	for _, r := range e.Records {
		switch {
		case r.Phase == record.PhaseWindow:
			counted++
		case e.Window.HasBeside(r):
			beside++
		}
	}
	// up to one per request in flight is at the edge
	if float64(beside) <= max(float64(e.Spec.Concurrency), uneven*float64(counted)) {
		return passed()
	}
	return caution(`write duration = "60s" in place of requests: then all workers end at one time`,
		"workers were not equally fast: %s requests beside the %s that count arrived in the window; percentiles weigh the workers alike, the load did not",
		unit.Count(beside), unit.Count(counted)).
		touching(unbounded(record.Unknown, firstToken, lastToken, betweenIt))
}

// checkCap finds requests that waited for their worker's part of a cap while another worker could have sent them.
func checkCap(e *Measured) checkResult {
	if len(e.Workers) < 2 || e.Spec.Closed() || e.Spec.Concurrency == 0 {
		return unasked
	}
	waited, n := e.count(func(r *record.Record) bool { return capWait(r) > 0 })
	switch {
	case n == 0:
		return noData
	case float64(waited) <= tolerated*float64(n):
		return passed()
	}
	return caution("run this row without --workers, or raise concurrency: only waits under the cap differ",
		"%d of %d requests waited up to %s under the cap of their worker, while another worker may have been below its own",
		waited, n, unit.Format(e.most(capWait), "ms")).
		touching(e.exactly(record.Inflated, capWait, fromArrival, []string{"cap_wait"}))
}

func capWait(r *record.Record) float64 {
	ms, _ := r.Latency("cap_wait", true)
	return ms
}
