package verdict

import (
	"fmt"
	"math"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Limits of what the sending may differ from the process that was asked for. Each is looked at on its own, so each leaves a
// row of the true process alone but for one in many thousand.
const (
	// fewestArrivals carry a judgement of their process.
	fewestArrivals = 50
	// farRate is in standard errors of the number of arrivals, and beyond a per cent of it.
	farRate = 4.5
	// farGaps is how many times the distance of one true sample in a hundred the gaps may have.
	farGaps = 1.5
	// farIndex is in standard errors of the index of dispersion, whose distribution leans to the right.
	farIndex = 6
	// evenGaps is how much the gaps of constant arrivals may vary, as a share of their mean.
	evenGaps = 0.1
)

// observe describes the sending as an arrival process; nil where the row has none. Under a cap requests wait, as the row asked,
// and in a conversation for the answer before: there it is of the intended arrivals of what begins one. The times of a trace are
// of no process.
func (e *Measured) observeArrivals() *workload.Observed {
	if e.Spec.Rate == 0 || e.Spec.Rate.IsInf() || e.Spec.Cold() || e.Spec.Replays() {
		return nil
	}
	var times []time.Duration
	for _, r := range e.Records {
		at := r.Sent
		if e.Spec.Concurrency > 0 {
			at = r.At
		}
		if us, ok := at.Get(); ok && !e.follows(r) {
			times = append(times, time.Duration(us)*time.Microsecond)
		}
	}
	o := e.Spec.Observe(times, time.Duration(e.Window.StartUs)*time.Microsecond, time.Duration(e.Window.EndUs)*time.Microsecond)
	return &o
}

// follows says that a request is a later turn of a conversation; the turns of a trace arrive when it says.
func (e *Measured) follows(r *record.Record) bool {
	return r.Turn != nil && *r.Turn > 0 && e.Spec.Trace == nil
}

// fewTogether is the share of a trace's requests that may have the time of the one before: more, and the clock of the log has
// put them together.
const fewTogether = 0.05

// checkSteps asks whether the times of a trace were rounded, so that a replay sends in bursts what came apart.
func checkSteps(h workload.Head) checkResult {
	if step := time.Duration(h.StepS * float64(time.Second)); step > 0 && h.SameTime > fewTogether {
		return failed(fmt.Sprintf("jitter = %q spreads them over the step", step),
			"the trace's times are in steps of %v: %s %% of the requests arrive together with the one before", step, unit.Brief(100*h.SameTime, 3))
	}
	return passed()
}

// checkArrivals holds what was sent against the process that was asked for.
func checkArrivals(e *Measured) checkResult {
	if e.Spec.Replays() {
		return checkSteps(e.Spec.Trace.Head)
	}
	o := e.Arrivals
	if o == nil || o.Arrivals < fewestArrivals || o.AskedPerS == 0 {
		return noData
	}
	if text := strange(o); text != "" {
		return failed("use a larger client machine; a short window can hold an odd stretch of a random process: make duration longer, or change seed", "%s", text)
	}
	return passed()
}

// strange says in what the arrivals are not those of their process; empty = in nothing.
func strange(o *workload.Observed) string {
	// A count of arrivals varies by the CV of the gaps times its root, where each gap begins anew.
	off, chance := math.Abs(o.RatePerS/o.AskedPerS-1), max(o.GapCVAsked, 0.05)/math.Sqrt(float64(o.Arrivals))
	switch {
	case o.GapCVAsked == 0 && o.GapCV > evenGaps:
		return fmt.Sprintf("constant arrivals were asked for, and the gaps vary by %.0f %% of their mean", 100*o.GapCV)
	case off > max(0.01, farRate*chance):
		return fmt.Sprintf("%s requests/s were sent, %s were asked for", unit.Brief(o.RatePerS, 4), unit.Brief(o.AskedPerS, 4))
	case o.Gaps != nil && o.Gaps.Distance > farGaps*o.Gaps.Limit:
		return fmt.Sprintf("the gaps are not those of the process: their distribution is off by %s, where chance makes %s once in a hundred", unit.Brief(o.Gaps.Distance, 2), unit.Brief(o.Gaps.Limit, 2))
	}
	for _, d := range o.Dispersion {
		if d.Expected != nil && o.GapCVAsked > 0 && math.Abs(d.Index-*d.Expected) > farIndex*d.StdError*max(1, *d.Expected) {
			return fmt.Sprintf("in windows of %s s the number of arrivals has an index of dispersion of %s, the process %s", unit.Brief(d.WindowS, 3), unit.Brief(d.Index, 3), unit.Brief(*d.Expected, 3))
		}
	}
	return ""
}
