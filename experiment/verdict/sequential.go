package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// question is a limit that looks can decide, and the requests that it is about.
type question struct {
	limit experiment.Limit
	class string // empty: of the row, but for classes that have a limit of their own in its place
	about func(*record.Record) bool
}

func questions(s *experiment.Spec) []question {
	var out []question
	add := func(class string, limits []experiment.Limit, about func(key string) func(*record.Record) bool) {
		for _, l := range limits {
			if l.Decidable() {
				out = append(out, question{l, class, about(l.Key)})
			}
		}
	}
	add("", s.SLO.Limits, func(key string) func(*record.Record) bool {
		return func(r *record.Record) bool { return !s.ClassOverrides(r.Class, key) }
	})
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			add(c.Name, s.ClassSLO(c).Limits, func(string) func(*record.Record) bool {
				return func(r *record.Record) bool { return r.Class == c.Name }
			})
		}
	}
	return out
}

// judgeAtLooks decides a limit by the first look that can. window is the row's, by arrival; where it ends between two looks
// there is a last one.
func judgeAtLooks(v *record.Verdict, q question, window []*record.Record, stream bool) {
	looks := stats.Looks{Risk: 1 - confidence}
	for k := 1; ; k++ {
		n := min(looks.At(k), len(window))
		own := slices.DeleteFunc(slices.Clone(window[:n]), func(r *record.Record) bool { return !q.about(r) })
		lookAt(v, q.limit, own, stream, looks.Confidence(k))
		if v.Verdict != string(stats.Undecided) || n == len(window) {
			v.Why += fmt.Sprintf("; look %d, after %s requests", k, unit.Count(n))
			return
		}
	}
}

// lookAgain puts the decisions of the looks in the place of verdicts that take the whole window at once.
func (e *Measured) applySequential() {
	if e.Spec.Until != experiment.UntilDecided {
		return
	}
	window := slices.DeleteFunc(slices.Clone(e.Records), func(r *record.Record) bool { return r.Phase != record.PhaseWindow })
	record.SortByArrival(window)
	if len(window) == 0 || slices.ContainsFunc(window, func(r *record.Record) bool { return r.Outcome == "cancelled" }) {
		return
	}
	for _, q := range questions(&e.Spec) {
		for i := range e.SLO {
			v := &e.SLO[i]
			buffers := (q.limit.Metric == "itl" || q.limit.Metric == "tpot") && mostlyBuffered(window)
			if v.Class == q.class && v.Metric == q.limit.Key && !buffers {
				judgeAtLooks(v, q, window, e.Spec.Streams())
			}
		}
	}
}

// lookAt decides a limit for the requests of one look, with the confidence of that look.
func lookAt(v *record.Verdict, l experiment.Limit, window []*record.Record, stream bool, confidence float64) {
	v.Value, v.Need = nil, 0
	values, failed := limitValues(l, window, stream)
	switch {
	case len(values) == 0:
		undecided(v, notMeasured)
		return
	case l.Stat == "mean" && failed > 0:
		v.Verdict, v.Why = string(stats.Fail), fmt.Sprintf("%d requests failed and rank as infinite: the mean has no value", failed)
		return
	case l.Stat == "mean":
		decideMean(v, values, l.Value, confidence)
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
		quote(v, values, failed, p)
	}
	v.Why = fmt.Sprintf("%d of %d over the limit, %s %% allowed", over, n, unit.Brief((1-p)*100, 3))
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
func limitValues(l experiment.Limit, window []*record.Record, stream bool) (values []float64, failed int) {
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
				values = append(values, shareOfGapsOver(r, l.Value))
			}
		}
		return values, failed
	}
	return ranked(l.Metric, window, stream)
}

// overGaps is the share of a request's gaps that are longer than so many ms.
func shareOfGapsOver(r *record.Record, ms float64) float64 {
	over := 0
	for us := range r.Gaps.All() {
		if float64(us)/record.UsPerMs > ms {
			over++
		}
	}
	return float64(over) / float64(r.Gaps.Len())
}

// looking decides while a row runs whether its SLO is decided.
type SequentialTest struct {
	spec  *experiment.Spec
	ended map[int]*record.Record // those that are over, but for the first ones
	first int                    // how many requests are over, counted from the first without a gap
	seen  []*record.Record       // of these, those of the window
	next  int                    // the look to come, from 1
}

// newLooking is a sequential test before its first request.
func NewSequentialTest(spec *experiment.Spec) *SequentialTest {
	return &SequentialTest{spec: spec, ended: map[int]*record.Record{}, next: 1}
}

// over takes a request that is over, and reports whether the row is decided.
func (k *SequentialTest) Add(r *record.Record) bool {
	k.ended[r.I] = r
	for {
		r, ok := k.ended[k.first]
		if !ok {
			return false
		}
		delete(k.ended, k.first)
		k.first++
		if r.Phase != record.PhaseWindow {
			continue
		}
		k.seen = append(k.seen, r)
		if len(k.seen) < (stats.Looks{}).At(k.next) {
			continue
		}
		if k.next++; decided(k.spec, k.seen) {
			return true
		}
	}
}

// decided says whether every limit that looks can decide is decided, by this one or one before.
func decided(s *experiment.Spec, window []*record.Record) bool {
	for _, q := range questions(s) {
		var v record.Verdict
		if judgeAtLooks(&v, q, window, s.Streams()); v.Verdict == string(stats.Undecided) {
			return false
		}
	}
	return true
}
