package series

import (
	"fmt"
	"math"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// NextProbe is a search's next probe, after rows; t is their twin, nil = none. It ends when its answer is not above the
// load to beat; 0 = none.
func NextProbe(k *experiment.Search, rows []*record.Row, t *Twin, beat float64) (next experiment.Probe, more bool) {
	if len(rows) >= k.MaxProbes() || futile(rows) || k.Misses() != "" && len(rows) > 0 {
		return next, false
	}
	pace := k.Pace()
	pace.Beat = beat
	if len(rows) > 0 && k.Goal == experiment.GoalSLO {
		pace.Fewest = fewest(&rows[0].Spec)
	}
	shown := probes(k, rows)
	if k.Gentle && len(rows) > 0 {
		step, more := t.gentleStep(k, rows, shown)
		return probeOf(step), more
	}
	known, _ := bracket(k, shown, t)
	known.Best = nil // a line between two loads is no place to look again and again
	if t != nil {    // a twin says where to look before its answer is one
		known.Best = t.best(k)
		if known.Best != nil && (t.misleads(shown, *known.Best) || t.nearFull(*known.Best) != "") {
			known.Best = nil
		}
	}
	step, more := k.Algorithm().Next(shown, pace, known)
	return probeOf(step), more
}

// fewest is the number of arrivals in which each limit of requests can have a verdict.
func fewest(s *experiment.Spec) (arrivals float64) {
	add := func(limits []experiment.Limit, share float64) {
		for _, l := range limits {
			p, ok := l.P()
			if l.Metric == metric.ErrorRate {
				p, ok = 1-l.Value, l.Value > 0
			}
			if ok && share > 0 {
				n := float64(stats.MinSamples(p, s.SLO.At())) / share
				arrivals = max(arrivals, n/s.RequestsPerArrival())
			}
		}
	}
	add(s.SLO.Limits, 1)
	weights := 0.0
	for _, c := range s.Mix {
		weights += c.Weight
	}
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			add(s.ClassSLO(c).Limits, c.Weight/weights)
		}
	}
	return arrivals
}

func probeOf(s stats.Step) experiment.Probe {
	seconds := func(x float64) workload.Span {
		return workload.Span((time.Duration(x * float64(time.Second))).Round(time.Second / 10))
	}
	return experiment.Probe{Load: s.Load, Warmup: seconds(s.Warmup), Window: seconds(s.Window)}
}

// misleads reports whether the probes show a higher limit than a twin that is no answer: one that is rejected, or of
// one load, which takes what ran there for all that can run.
func (t *Twin) misleads(shown []stats.Probe, best float64) bool {
	const (
		stuck  = 0.9 // of a rejected twin's limit, reached by a probe within the limits
		higher = 1.5 // times a load whose figures are half of the limits: the least next one
	)
	return t.answer.Rejected != "" && leansUpTo(shown, 0) >= stuck*best ||
		t.loads() == 1 && best < higher*leansUpTo(shown, math.Ln2)
}

// leansUpTo is the highest load, if the figures of all probes are within the limits by a margin of the logarithm; 0 =
// they are not.
func leansUpTo(shown []stats.Probe, margin float64) (load float64) {
	for _, p := range shown {
		if !(p.Log <= -margin) {
			return 0
		}
		load = max(load, p.Load)
	}
	return load
}

// futile: the last probes told nothing, for a reason that more of them do not heal.
func futile(rows []*record.Row) bool {
	const most = 4
	return len(rows) >= most && !slices.ContainsFunc(rows[len(rows)-most:], func(r *record.Row) bool {
		v, _ := verdict.OfRows(r)
		return disturbed(r) == "" && (v != stats.Undecided || OpenedBy(r.Findings, r.SLO...) == nil)
	})
}

func probes(k *experiment.Search, rows []*record.Row) []stats.Probe {
	out := make([]stats.Probe, len(rows))
	for i, r := range rows {
		out[i] = probe(k, r)
	}
	return out
}

func highest(k *experiment.Search, rows []*record.Row) (load float64) {
	for _, r := range rows {
		load = max(load, k.LoadOf(&r.Spec))
	}
	return load
}

func probe(k *experiment.Search, r *record.Row) stats.Probe {
	p := stats.Probe{Load: k.LoadOf(&r.Spec), Spent: r.Took().Seconds(), Log: math.NaN(), Counted: r.Spec.Requests > 0}
	if disturbed(r) != "" || r.ServerLost { // a server that is gone says nothing about a load
		return p
	}
	if k.Goal == experiment.GoalSaturation {
		p.Verdict, p.Log = saturated(r), math.Log(keepsUp/completed(r)) // above 0 the server is behind
	} else {
		byLimits(&p, r)
	}
	flow := flowOf(r)
	if p.Verdict != stats.Fail {
		p.Stay, p.Window = flow.Stay, flow.Window
	}
	const long = 20 // requests' times in the server: a shorter window of an open loop shows no queue that grows slowly
	if p.Verdict == stats.Pass && r.Spec.Open() && flow.Window < long*flow.Stay {
		p.Verdict = stats.Undecided
	}
	return p
}

// byLimits is the verdict of the limits that a higher load exceeds.
func byLimits(p *stats.Probe, r *record.Row) {
	own := *r
	own.SLO = slices.DeleteFunc(slices.Clone(r.SLO),
		func(v record.Verdict) bool { return experiment.Limit{Key: v.Metric}.EasierByLoad() })
	var need int
	if p.Verdict, need = verdict.OfRows(&own); need > 0 {
		perS := p.Load * r.Spec.RequestsPerArrival()
		if r.Spec.Closed() {
			perS = float64(r.Summary.Requests.Planned) / max(r.Summary.DurationS, 1e-9)
		}
		p.Need = float64(r.Summary.Requests.Planned+need) / perS
	}
	if p.Verdict == stats.Pass && !r.Valid() {
		p.Verdict = stats.Undecided
	}
	for _, v := range own.SLO {
		if v.Value == nil || *v.Value <= 0 || v.Limit <= 0 {
			continue
		}
		if x := math.Log(*v.Value / v.Limit); !(x <= p.Log) {
			p.Log = x
		}
	}
}

func flowOf(r *record.Row) stats.Flow {
	f := stats.Flow{Arrived: float64(r.Summary.Requests.Planned), Window: r.Summary.DurationS}
	f.Ended = f.Arrived
	if r.Little != nil {
		f.Ended, f.Stay = r.Little.RequestsS*f.Window, r.Little.MeanMs/1000
	}
	return f
}

func disturbed(r *record.Row) string {
	for _, f := range r.Findings {
		if f.Severity == record.Invalid && f.Code != failedRequests {
			return f.Text
		}
	}
	return ""
}

func saturated(r *record.Row) stats.Verdict {
	// In a closed loop concurrency bounds the queue; a row that reaches its concurrency late had a slow client.
	if _, grows := (&Point{Rows: []*record.Row{r}}).queue(); grows && r.Spec.Open() {
		return stats.Fail
	}
	v, flow := keptUp(r), flowOf(r)
	if f := flow.Stay / max(flow.Window, 1e-9); v == stats.Fail && r.Little != nil && r.Spec.Open() &&
		flow.Ended >= (1-2*f)*flow.Arrived {
		return stats.Undecided // what is missing is as much as an empty server takes in
	}
	return v
}

func Overshoots(r *record.Row) bool {
	if r.Spec.Search == nil {
		return false
	}
	v, _ := verdict.OfRows(r)
	if r.Spec.Search.Goal == experiment.GoalSaturation {
		v = saturated(r)
	}
	return v != stats.Pass || disturbed(r) != ""
}

// completed is the share of the offered requests that the server completed in the window; NaN: none was offered.
func completed(r *record.Row) float64 {
	n := float64(r.Summary.Requests.Stayed())
	if n == 0 || r.Summary.DurationS <= 0 {
		return math.NaN()
	}
	return r.Summary.Throughput.RequestsPerS * r.Summary.DurationS / n
}

func keptUp(r *record.Row) stats.Verdict {
	switch share := completed(r); {
	case math.IsNaN(share):
		return stats.Undecided
	case share >= keepsUp:
		return stats.Pass
	case 1-share < 2/math.Sqrt(float64(r.Summary.Requests.Stayed())):
		return stats.Undecided
	}
	return stats.Fail
}

// SearchResult is the answer of the probes so far; again: they are evaluated anew, and no more can run.
func SearchResult(k *experiment.Search, s *experiment.Spec, rows []*record.Row, t *Twin, beat float64,
	again bool) record.Found {
	_, others := experiment.LoadAxis(s)
	f := record.Found{Name: s.Name, Others: others, Variant: s.Variant, Search: *k, Probes: len(rows)}
	var took time.Duration
	for _, r := range rows {
		took += r.Took()
	}
	f.TookS = took.Seconds()
	close := true
	if len(rows) > 0 {
		shown := probes(k, rows)
		if f.Bracket, close = bracket(k, shown, t); f.Best != nil {
			f.Counted = new(k.Algorithm().Between(shown))
		}
		f.Passed, f.ConfirmS = confirmed(k, shown, &f)
	}
	_, more := NextProbe(k, rows, t, beat)
	if k.Gentle {
		f.ConfirmS, close, f.ProbedUpTo = 0, !more && f.Best != nil, highest(k, rows)
	}
	f.State = state(&f, len(rows) > 0 && close, more, again)
	if f.High != nil && *f.High <= beat {
		f.State = "beaten"
	}
	label := (&experiment.Spec{Name: f.Name, Point: f.Others}).Label()
	text := foundText(&f, rows)
	if k.Gentle && (f.State == "found" || f.State == "none") {
		text += t.beyondText(&f)
	}
	f.Text = fmt.Sprintf("%s: %s (%s)", label, text, effort(&f))
	return f
}

const nearLow = 0.9 // of the lower end: a PASS from there confirms it

// Confirmed are searches with the PASSes that their probes have in a report: of the twin, too.
func Confirmed(found []record.Found, rows []record.Row) []record.Found {
	found = slices.Clone(found)
	for i := range found {
		f := &found[i]
		for j := range rows {
			load := loadOf(&rows[j].Spec)
			if v, _ := verdict.OfRows(&rows[j]); v == stats.Pass && rows[j].Valid() && f.Probed(&rows[j].Spec) &&
				f.Search.Goal == experiment.GoalSLO && (f.Passed == nil || load > *f.Passed) {
				f.Passed = &load
			}
		}
		if f.Passed != nil && f.Low != nil && *f.Passed >= nearLow**f.Low {
			f.ConfirmS = 0
		}
	}
	return found
}

// Likely is where the answer of a search lies by what its probes lean to, without any verdict.
func Likely(k *experiment.Search, rows []*record.Row) stats.Bracket {
	return k.Algorithm().Likely(probes(k, rows))
}

// confirmed is the highest load that passed, and the budget that a verdict at the lower end takes; 0 = it has one.
func confirmed(k *experiment.Search, shown []stats.Probe, f *record.Found) (passed *float64, budget float64) {
	for _, p := range shown {
		if p.Verdict == stats.Pass && (passed == nil || p.Load > *passed) {
			passed = new(p.Load)
		}
	}
	const share = 0.5 // of a budget that is left for the last probe
	if k.Goal == experiment.GoalSLO && f.Low != nil && (passed == nil || *passed < nearLow**f.Low) {
		step := k.Algorithm().Confirming(shown, k.Pace(), *f.Low)
		budget = max((step.Warmup+step.Window)/share, 1.5*f.TookS)
	}
	return passed, budget
}

// bracket is what the probes leave possible, and whether it is as close as the tolerance: by the twin if it is
// accepted, else by the verdicts.
func bracket(k *experiment.Search, probes []stats.Probe, t *Twin) (b stats.Bracket, close bool) {
	s := k.Algorithm()
	b = s.Between(probes)
	if own, why := t.bracket(k, b); why == "" {
		b = own
	}
	return b, b.Low != nil && *b.Low == s.Max || b.High != nil && *b.High == s.Min || b.Low != nil && b.High != nil &&
		s.Close(*b.Low, *b.High)
}

func state(f *record.Found, close, more, again bool) string {
	k := &f.Search
	switch {
	case f.Low != nil && *f.Low == k.Max:
		return "above"
	case f.High != nil && *f.High == k.Min, k.Misses() != "" && f.Low == nil && f.Probes > 0:
		return "below"
	case f.Probes == 0, more && !again && !close:
		return "searching"
	case more && again && !close:
		return "unprobed"
	case f.Low == nil && f.High == nil, k.Gentle && !close:
		return "none"
	case !close:
		return "budget"
	}
	return "found"
}
