package verdict

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// judgeAtLooks decides a limit at the first look that can. window is the row's, by arrival. A window that
// ends between two looks has a last look at its end.
func judgeAtLooks(v *record.Verdict, q question, window []*record.Record, stream bool) {
	looks := stats.Looks{Risk: 1 - confidence}
	for k := 1; ; k++ {
		n := min(looks.At(k), len(window))
		judgeAtLook(v, q.limit, filter(window[:n], q.about), stream, looks.Confidence(k))
		if v.Verdict != string(stats.Undecided) || n == len(window) {
			v.Why += fmt.Sprintf("; look %d, after %s requests", k, unit.Count(n))
			return
		}
	}
}

// judgeAtLook decides a limit for the requests of one look, at the confidence of that look.
func judgeAtLook(v *record.Verdict, l experiment.Limit, window []*record.Record, stream bool, confidence float64) {
	v.Value, v.Need = nil, 0
	if l.Stat == "mean" {
		judgeMean(v, l, window, stream, confidence)
		return
	}
	values, failed := limitValues(l, window, stream)
	if len(values) == 0 {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	p, limit := 1-l.Value, 0.5 // of error_rate: a value is 0 or 1
	if l.Stat != "" {
		p, _ = l.P()
		limit = l.Value
	}
	verdict, time := stats.DecideInOrder(values, limit, p, confidence)
	n, over := len(values), overLimit(values, limit)
	if l.Metric == "itl" {
		// As in judgeGaps, in requests: the share of gaps over the limit, times the requests.
		over, time = int(math.Ceil(stat.Mean(values, nil)*float64(n)-1e-9)), stats.OverrunTime(values, 1-p)
		verdict = stats.DecideDependent(n, over, time, p, confidence)
	}
	switch l.Metric {
	case "itl":
	case "error_rate":
		v.Value = new(float64(over) / float64(n))
	default:
		setPercentile(v, values, failed, p)
	}
	decide(v, verdict, overText(over, n, p))
	v.Observed = n
	if time > 1 {
		v.Why += fmt.Sprintf("; dependent, equivalent to %d independent requests", int(float64(n)/time))
	}
	if verdict == stats.Undecided {
		_, need := stats.Decide(int(float64(n)/time), int(float64(over)/time), p, confidence)
		setNeed(v, int(math.Ceil(float64(need)*time)))
	}
}

// limitValues are the values that a limit covers, one per request: its latency in ms, +∞ if it failed; 1 or 0
// for error_rate; for itl the share of its gaps over the limit, 1 if it failed.
func limitValues(l experiment.Limit, window []*record.Record, stream bool) (values []float64, failed int) {
	if l.Metric != "error_rate" && l.Metric != "itl" {
		return ranked(l.Metric, window, stream)
	}
	for _, r := range window {
		switch {
		case !r.OK():
			values, failed = append(values, 1), failed+1
		case l.Metric == "error_rate":
			values = append(values, 0)
		case r.Gaps.Len() > 0:
			values = append(values, shareOfGapsOver(r, l.Value))
		}
	}
	return values, failed
}

// shareOfGapsOver is the share of a request's gaps that are longer than ms.
func shareOfGapsOver(r *record.Record, ms float64) float64 {
	over := 0
	for us := range r.Gaps.All() {
		if float64(us)/record.UsPerMs > ms {
			over++
		}
	}
	return float64(over) / float64(r.Gaps.Len())
}

// SequentialTest decides while a row runs whether its SLO is decided. It looks at the first n requests by
// arrival, when all of them have ended, for n that double.
type SequentialTest struct {
	spec  *experiment.Spec
	ended map[int]*record.Record // ended requests after the first one that has not
	first int                    // number of requests that have ended, counted from the first without a gap
	seen  []*record.Record       // of these, the requests of the window
	next  int                    // number of the next look, from 1
}

// NewSequentialTest is a test of a row that has no request yet.
func NewSequentialTest(spec *experiment.Spec) *SequentialTest {
	return &SequentialTest{spec: spec, ended: map[int]*record.Record{}, next: 1}
}

// Add takes a request that has ended, and reports whether the row is decided.
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

// decided reports whether every decidable limit is decided, at this look or an earlier one.
func decided(s *experiment.Spec, window []*record.Record) bool {
	for _, q := range questions(s) {
		if !q.limit.Decidable() {
			continue
		}
		var v record.Verdict
		if judgeAtLooks(&v, q, window, s.Streams()); v.Verdict == string(stats.Undecided) {
			return false
		}
	}
	return true
}
