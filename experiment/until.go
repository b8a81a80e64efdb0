package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/load"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// A row with until = "decided" is looked at while it runs, and ends when its SLO is decided. It is looked at after
// doubling numbers of requests, of which each look spends a part of the risk of one (stats.Looks), and always at the first n
// by arrival, when all of these are over: the fast ones alone would be a better server than there is.

// Values of the key until.
const (
	untilDecided = "decided"
	untilStopped = "stopped" // the row has no end of its own
)

// Endless says that the row ends when it is told to, and not before.
func (s *Spec) Endless() bool { return s.Until == untilStopped }

// A window so long, or of so many requests, does not keep its records in memory while it runs.
const (
	spoolsFrom         = load.Span(30 * time.Minute)
	spoolsFromRequests = 100_000
)

// Spools says that the records are read again from where they were written, at the end, since there may be very many of them.
func (s *Spec) Spools() bool {
	return s.Endless() || s.Duration >= spoolsFrom || max(float64(s.Requests), s.InWindow()) >= spoolsFromRequests
}

// checkUntil refuses what could never be decided, or not while it runs.
func (s *Spec) checkUntil(bad func(key, problem, hint string)) {
	switch {
	case s.Until == "":
	case s.Endless():
		s.checkEndless(bad)
	case s.Until != untilDecided:
		bad("until", fmt.Sprintf("unknown until %q", s.Until), `write until = "decided" or "stopped", or leave it out`)
	case !s.decidable():
		bad("until", "there is no limit that more requests could decide", `write [slo] and below it ttft_p95 = "1s"; a throughput or a price is judged at the end`)
	case s.Rate.IsInf():
		bad("until", "all requests are sent at once: none is left to save", "write a finite rate, or leave until out")
	case s.Session != nil || s.Cold():
		bad("until", "until looks at the first requests by arrival, and here the answers decide who comes first", "leave it out; requests or duration end the row")
	}
}

// checkEndless refuses what such a row can't have.
func (s *Spec) checkEndless(bad func(key, problem, hint string)) {
	if s.Rate > 0 || s.Session != nil || s.Cold() {
		bad("until", `until = "stopped" is for closed loops of single requests`, "write concurrency = 8, and remove rate, session and kind")
	}
}

// decidable says whether more requests can decide any limit of the row or of a class of it.
func (s *Spec) decidable() bool {
	if slices.ContainsFunc(s.SLO.Limits, Limit.looksAt) {
		return true
	}
	return slices.ContainsFunc(s.Mix, func(c workload.Class) bool {
		return len(c.SLO) > 0 && slices.ContainsFunc(s.classSLO(c).Limits, Limit.looksAt)
	})
}

// looksAt says whether more requests can decide a limit. A throughput or a price is one figure of the whole window, and that
// nothing ever fails no number of requests proves: such limits are judged at the end, and do not keep a row going.
func (l Limit) looksAt() bool {
	return l.Stat != "" || l.Metric == "error_rate" && l.Value > 0 && l.Value < 1
}

// question is a limit that looks can decide, and the requests that it is about.
type question struct {
	limit Limit
	class string // empty: of the row, but for classes that have a limit of their own in its place
	about func(*Record) bool
}

func (s *Spec) questions() []question {
	var out []question
	add := func(class string, limits []Limit, about func(key string) func(*Record) bool) {
		for _, l := range limits {
			if l.looksAt() {
				out = append(out, question{l, class, about(l.Key)})
			}
		}
	}
	add("", s.SLO.Limits, func(key string) func(*Record) bool {
		return func(r *Record) bool { return !s.overrides(r.Class, key) }
	})
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			add(c.Name, s.classSLO(c).Limits, func(string) func(*Record) bool {
				return func(r *Record) bool { return r.Class == c.Name }
			})
		}
	}
	return out
}

// judgeAtLooks decides a limit by the first look that can. window is the row's, by arrival; where it ends between two looks
// there is a last one.
func (v *Verdict) judgeAtLooks(q question, window []*Record, stream bool) {
	looks := stats.Looks{Risk: 1 - confidence}
	for k := 1; ; k++ {
		n := min(looks.At(k), len(window))
		own := slices.DeleteFunc(slices.Clone(window[:n]), func(r *Record) bool { return !q.about(r) })
		v.lookAt(q.limit, own, stream, looks.Confidence(k))
		if v.Verdict != string(stats.Undecided) || n == len(window) {
			v.Why += fmt.Sprintf("; look %d, after %s requests", k, Count(n))
			return
		}
	}
}

// lookAgain puts the decisions of the looks in the place of verdicts that take the whole window at once.
func (e *evidence) lookAgain() {
	if e.Spec.Until != untilDecided {
		return
	}
	window := slices.DeleteFunc(slices.Clone(e.records), func(r *Record) bool { return r.Phase != PhaseWindow })
	byArrival(window)
	if len(window) == 0 || slices.ContainsFunc(window, func(r *Record) bool { return r.Outcome == "cancelled" }) {
		return
	}
	for _, q := range e.Spec.questions() {
		for i := range e.SLO {
			v := &e.SLO[i]
			buffers := (q.limit.Metric == "itl" || q.limit.Metric == "tpot") && mostlyBuffered(window)
			if v.Class == q.class && v.Metric == q.limit.Key && !buffers {
				v.judgeAtLooks(q, window, e.Spec.Streams())
			}
		}
	}
}

// lookAt decides a limit for the requests of one look, with the confidence of that look.
func (v *Verdict) lookAt(l Limit, window []*Record, stream bool, confidence float64) {
	v.Value, v.Need = nil, 0
	values, failed := l.values(window, stream)
	switch {
	case len(values) == 0:
		v.undecided(notMeasured)
		return
	case l.Stat == "mean" && failed > 0:
		v.Verdict, v.Why = string(stats.Fail), fmt.Sprintf("%d requests failed and rank as infinite: the mean has no value", failed)
		return
	case l.Stat == "mean":
		v.decideMean(values, l.Value, confidence)
		return
	}
	p, limit := 1-l.Value, 0.5 // of error_rate: failed or not
	if l.Stat != "" {
		p, _ = l.P()
		limit = l.Value
	}
	verdict, time := stats.DecideInOrder(values, limit, p, confidence)
	n, over := len(values), overLimit(values, limit)
	if l.Metric == "itl" {
		// As in judgeGaps: in requests, as many as the share of the gaps over the limit is worth.
		over, time = int(math.Ceil(stat.Mean(values, nil)*float64(n)-1e-9)), stats.OverrunTime(values, 1-p)
		verdict = stats.DecideDependent(n, over, time, p, confidence)
	}
	v.Verdict, v.Observed = string(verdict), n
	switch l.Metric {
	case "itl":
	case "error_rate":
		rate := float64(over) / float64(n)
		v.Value = &rate
	default:
		v.quote(values, failed, p)
	}
	v.Why = fmt.Sprintf("%d of %d over the limit, %s %% allowed", over, n, Brief((1-p)*100, 3))
	if time > 1 {
		v.Why += fmt.Sprintf("; they depend on each other, and are worth %d", int(float64(n)/time))
	}
	if v.Verdict != string(stats.Undecided) {
		return
	}
	if _, need := stats.Decide(int(float64(n)/time), int(float64(over)/time), p, confidence); need > 0 {
		v.Need = int(math.Ceil(float64(need) * time))
		v.Why += fmt.Sprintf("; need %d more requests", v.Need)
	}
}

// values is what a limit is about, of each request: its latency in ms, +∞ where it failed; 1 or 0 for error_rate; for
// itl the share of its gaps over the limit, 1 where it failed.
func (l Limit) values(window []*Record, stream bool) (values []float64, failed int) {
	switch l.Metric {
	case "error_rate":
		for _, r := range window {
			x := 0.0
			if !r.OK() {
				x, failed = 1, failed+1
			}
			values = append(values, x)
		}
		return values, failed
	case "itl":
		for _, r := range window {
			switch {
			case !r.OK():
				values, failed = append(values, 1), failed+1
			case r.Gaps.Len() > 0:
				values = append(values, r.overGaps(l.Value))
			}
		}
		return values, failed
	}
	return ranked(l.Metric, window, stream)
}

// overGaps is the share of a request's gaps that are longer than so many ms.
func (r *Record) overGaps(ms float64) float64 {
	over := 0
	for us := range r.Gaps.All() {
		if float64(us)/usPerMs > ms {
			over++
		}
	}
	return float64(over) / float64(r.Gaps.Len())
}

// looking decides while a row runs whether its SLO is decided.
type looking struct {
	spec  *Spec
	ended map[int]*Record // those that are over, but for the first ones
	first int             // how many requests are over, counted from the first without a gap
	seen  []*Record       // of these, those of the window
	next  int             // the look to come, from 1
}

// newLooking is a sequential test before its first request.
func newLooking(spec *Spec) *looking { return &looking{spec: spec, ended: map[int]*Record{}, next: 1} }

// over takes a request that is over, and reports whether the row is decided.
func (k *looking) over(r *Record) bool {
	k.ended[r.I] = r
	for {
		r, ok := k.ended[k.first]
		if !ok {
			return false
		}
		delete(k.ended, k.first)
		k.first++
		if r.Phase != PhaseWindow {
			continue
		}
		k.seen = append(k.seen, r)
		if len(k.seen) < (stats.Looks{}).At(k.next) {
			continue
		}
		if k.next++; k.spec.decided(k.seen) {
			return true
		}
	}
}

// decided says whether every limit that looks can decide is decided, by this one or one before.
func (s *Spec) decided(window []*Record) bool {
	for _, q := range s.questions() {
		var v Verdict
		if v.judgeAtLooks(q, window, s.Streams()); v.Verdict == string(stats.Undecided) {
			return false
		}
	}
	return true
}
