package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

const (
	minArrivals  = 50  // fewer can't be tested
	farRate      = 4.5 // standard errors of the number of arrivals, if that is also above 1 % of it
	mostCrossing = 3
	mostBehind   = 0.05 // share of the window in which a client that keeps up is behind at the window's ends
	farGaps      = 1.5  // times the distance that 1 % of true samples exceed
	farIndex     = 6    // standard errors of the index of dispersion, whose distribution is skewed to the right
	evenGaps     = 0.1  // variation of the gaps of constant arrivals, as a share of their mean
)

// observeArrivals describes the sending times as an arrival process; under a cap, and in a pause of the client, the
// intended times. nil: the row has no such process.
func (e *evidence) observeArrivals() *workload.Observed {
	if !e.Spec.Timed() || e.Spec.IsColdStart() || e.Spec.ReplaysTrace() {
		return nil
	}
	return e.observeTimes(func(r *record.Record) record.Micros {
		if e.Spec.Concurrency > 0 || during(r, e.disturbed.paused) {
			return r.Arrival
		}
		return r.Sent
	})
}

func (e *evidence) observeTimes(of func(*record.Record) record.Micros) *workload.Observed {
	var times []time.Duration
	intended := 0 // arrivals of the window
	for _, r := range e.records {
		if r.Phase == record.PhaseWindow && !follows(&e.Spec, r) {
			intended++
		}
		if us, ok := of(r).Get(); ok && !follows(&e.Spec, r) {
			times = append(times, time.Duration(us)*time.Microsecond)
		}
	}
	from, to := time.Duration(e.Window.StartUs)*time.Microsecond, time.Duration(e.Window.EndUs)*time.Microsecond
	o := e.Spec.Observe(times, from, to)
	// A row that ended early has another number or another length.
	if n, in := e.Spec.FixedArrivals(e.Spec.EffectiveLoad()); intended == n &&
		(to-from-in).Abs() <= 2*time.Microsecond {
		o.Fix()
	}
	return &o
}

func follows(s *experiment.Spec, r *record.Record) bool {
	return r.Turn != nil && *r.Turn > 0 && (s.Trace == nil || s.ReplaysSessions())
}

// mostTogether is the largest share of requests with the same time as the previous one in a trace with exact times.
const mostTogether = 0.05

func checkSteps(h workload.Head) result {
	if step := time.Duration(h.StepS * float64(time.Second)); step > 0 && h.SameTime > mostTogether {
		return caution(fmt.Sprintf("write jitter = %q to spread them over the step", step),
			"trace times are rounded to %v: %s %% of the requests arrive together with the previous one",
			step, unit.Brief(100*h.SameTime, 3)).touching(unbounded(record.Inflated, firstToken, lastToken))
	}
	return passed()
}

func checkArrivals(e *evidence) result {
	if e.Spec.ReplaysTrace() {
		return checkSteps(e.Spec.Trace.Head)
	}
	o := e.Arrivals
	if o == nil || o.Arrivals < minArrivals || o.AskedPerS == 0 || e.Summary.FailedShare() > tolerated {
		return noData // a refused connection is not sent
	}
	const hint = "use a larger client machine; chance is larger in a short window: make duration longer, or change seed"
	text, planned := arrivalsDiffer(o), func(r *record.Record) record.Micros { return r.Arrival }
	unsent := func(r *record.Record) bool { return r.Sent.IsZero() }
	switch {
	case text == "":
		return passed()
	case arrivalsDiffer(e.observeTimes(planned)) == "" && !slices.ContainsFunc(e.records, unsent) && e.keepsUp():
		return e.bunched(hint, text)
	}
	return invalid(hint, "%s", text)
}

// keepsUp reports whether the window has the requests that were due in it, or the client was behind only at its ends:
// exactly the due requests were sent between the first and the last moment at which every due one was.
func (e *evidence) keepsUp() bool {
	from, to := e.Window.StartUs, e.Window.EndUs
	inside := func(us int64) bool { return us >= from && us < to }
	var due []*record.Record
	n, more := 0, 0 // requests due in the window; sent in it, less those
	for _, r := range e.records {
		if follows(&e.Spec, r) {
			continue
		}
		due = append(due, r)
		if inside(r.Sent.Us()) {
			more++
		}
		if inside(r.Arrival.Us()) {
			n, more = n+1, more-1
		}
	}
	if math.Abs(float64(more)) <= max(mostCrossing, 0.01*float64(n)) {
		return true
	}
	slices.SortFunc(due, func(a, b *record.Record) int { return cmp.Compare(a.Arrival.Us(), b.Arrival.Us()) })
	for _, r := range due {
		if r.Arrival.Us() <= from {
			from = max(from, r.Sent.Us())
		}
	}
	for _, r := range slices.Backward(due) {
		if r.Sent.Us() >= to {
			to = min(to, r.Arrival.Us())
		}
	}
	behind := e.Window.EndUs - e.Window.StartUs - max(0, to-from)
	return float64(behind) <= mostBehind*float64(e.Window.EndUs-e.Window.StartUs)
}

// bunched: a server that never idles with work to do has at most as much more of it as was overdue at one moment, and
// a request is delayed by no more than that, whether the server works in order or shares its time. The largest lag
// bounds only the former: two of 1 s each, due at 0 s and 1 s: with the first one sent 0.5 s late it ends 1 s later.
func (e *evidence) bunched(hint, text string) result {
	overdue := float64(mostOverdue(e.records))
	ms, n := overdue*largestWork(e), float64(e.Summary.Requests.Completed)
	perToken := func(r *record.Record) float64 { return ms / float64(max(1, r.OutputTokens-1)) }
	latest := most(slices.Values(e.records), ownLag)
	return caution(hint, "requests left up to %s ms late: %s", unit.Brief(latest, 3), text).
		touching(inMs(record.Unknown, ms, firstToken, lastToken, []string{"itl"}),
			exactly(record.Unknown, ms, perToken, []string{"tpot"}),
			byFactor(record.Unknown, 1+overdue/n, throughputs), unbounded(record.Unknown, goodputs))
}

// largestWork bounds, in ms, what a server that keeps up works for its largest request: its time for a request, by
// the tokens of the largest in those of the mean one.
func largestWork(e *evidence) float64 {
	sum, most, n := 0.0, 0.0, 0.0
	for r := range record.Completed(e.records) {
		tokens := computed(r) + float64(r.OutputTokens)
		sum, most, n = sum+tokens, max(most, tokens), n+1
	}
	if sum == 0 {
		return math.Inf(1)
	}
	return most / (sum / n) * 1000 / e.Summary.Throughput.RequestsPerS
}

// mostOverdue is the largest number of requests that were ready and not yet sent at one moment.
func mostOverdue(records []*record.Record) int {
	overdue := record.OverlapOf(func(yield func(from, to int64) bool) {
		for _, r := range records {
			yield(r.Ready.Us(), r.Sent.Us())
		}
	})
	return overdue.Most()
}

func arrivalsDiffer(o *workload.Observed) string {
	// The count of a renewal process has a standard deviation of the gaps' CV times the root of the count; of a fixed
	// count, a late request may cross the window's ends.
	n := float64(o.Arrivals)
	off, chance := math.Abs(o.RatePerS/o.AskedPerS-1), farRate*max(o.GapCVAsked, 0.05)/math.Sqrt(n)
	if o.Fixed {
		chance = mostCrossing / n
	}
	switch {
	case o.GapCVAsked == 0 && o.GapCV > evenGaps:
		return fmt.Sprintf("requested constant arrivals, but the gaps vary by %.0f %% of their mean", 100*o.GapCV)
	case off > max(0.01, chance):
		return fmt.Sprintf("requested %s requests/s, sent %s", unit.Brief(o.AskedPerS, 4), unit.Brief(o.RatePerS, 4))
	case o.Gaps != nil && o.Gaps.Distance > farGaps*o.Gaps.Limit:
		return fmt.Sprintf("the distribution of the gaps differs from the process by %s; "+
			"a true process exceeds %s once in 100 windows", unit.Brief(o.Gaps.Distance, 2), unit.Brief(o.Gaps.Limit, 2))
	}
	for _, d := range o.Dispersion {
		if d.Expected != nil && o.GapCVAsked > 0 &&
			math.Abs(d.Index-*d.Expected) > farIndex*d.StdError*max(1, *d.Expected) {
			return fmt.Sprintf("over windows of %s s the arrivals' index of dispersion is %s, expected %s",
				unit.Brief(d.WindowS, 3), unit.Brief(d.Index, 3), unit.Brief(*d.Expected, 3))
		}
	}
	return ""
}

func checkRate(e *evidence) result {
	if e.AllFailed() || e.Summary.FailedShare() > tolerated || !e.Spec.Timed() || e.Summary.Requests.Stayed() < 20 ||
		e.Summary.DurationS <= 0 {
		return noData
	}
	if e2e := e.Summary.E2E; e2e != nil && float64(e.Window.StartUs-firstArrival(e))/1e3 < e2e.Min {
		return noData // the window began before the first answer can end
	}
	n := float64(e.Summary.Requests.Stayed())
	asked := n / e.Summary.DurationS
	missing := max(0.1, 2/math.Sqrt(n)) + e.disturbed.share(e.Window) // chance, of Poisson arrivals and departures
	if got := e.Summary.Throughput.RequestsPerS; got < (1-missing)*asked {
		return caution("lower the rate: above the highest sustained rate, latency grows with the length of the row",
			"the server did not sustain the rate: %s of %s requests/s completed", unit.Brief(got, 3),
			unit.Brief(asked, 3)).
			touching(unbounded(record.Lowered, firstToken, lastToken))
	}
	return passed()
}

func firstArrival(e *evidence) int64 {
	first := e.Window.StartUs
	for _, r := range e.records {
		if !r.Arrival.IsZero() {
			first = min(first, r.Arrival.Us())
		}
	}
	return first
}

func checkConcurrency(e *evidence) result {
	if e.Spec.Concurrency == 0 {
		return noData
	}
	n, c := e.Spec.Concurrency, e.Summary.Concurrency
	if !e.Spec.ReplaysSessions() && c.Max <= n && (e.Summary.Requests.Planned == 0 ||
		e.Summary.FailedShare() > tolerated) {
		return noData // requests that fail at once leave workers idle
	}
	most, what := c.Max, "requests"
	if e.Spec.ReplaysSessions() { // of which one can have several requests in flight
		most, what = e.Sessions.InFlight, "sessions"
	}
	if most > n {
		return invalid("this is a defect of bench: report it with the request records",
			"%d %s were in flight, requested %d", most, what, n)
	}
	// users think between their turns
	if e.Spec.Closed() && !e.Spec.HasConversations() && c.Mean < (0.9-e.disturbed.share(e.Window))*float64(n) {
		return caution("the client can't keep its workers busy: give it more cores, or make the answers longer",
			"mean concurrency %s, requested %d: the point counts as concurrency %[1]s", unit.Brief(c.Mean, 3),
			n).touching(e.thinned())
	}
	return passed()
}

// thinned is the effect of workers that wait for the client on the load of a closed loop; none within 2 %.
func (e *evidence) thinned() []Effect {
	if e.whole != nil {
		return e.whole.thinned()
	}
	const turnaround = 1.02
	asked, mean := float64(e.Spec.Concurrency), e.Summary.Concurrency.Mean
	if e.Spec.Open() || e.Spec.HasConversations() || mean <= 0 || asked <= turnaround*mean {
		return nil
	}
	return byFactor(record.Lowered, asked/mean, []string{record.MetricConcurrency})
}

func checkWarmup(e *evidence) result {
	const hint, text = `write warmup = "10s"`, "no warm-up: the window contains the ramp-up"
	switch {
	case e.Spec.Rate.IsInf():
		return noData
	case e.Summary.Requests.Warmup > 0:
		return passed()
	case checkSteady(e).severity != "":
		return caution(hint, text)
	}
	return note(hint, text)
}
