package verdict

import (
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// evidence is what the checks look at.
type Measured struct {
	*record.Row
	Records       []*record.Record
	Vocabulary    *workload.Vocabulary // of prompts; of several, the one with the largest overhead
	FailedPriming int                  // priming requests that failed

	Selftest *selftest.Result // of this machine; nil: none
}

// conclude derives everything that follows from the records.
func (e *Measured) Conclude(t experiment.Target, b record.RooflineSource) {
	stream := e.Spec.Streams()
	e.Summary = record.Summarize(e.Records, e.Window, stream, e.Spec.SLO.EachRequest(), t.GPUs)
	e.Lengths = record.LengthsOf(e.Records)
	e.Reuse, e.Rotations = e.CountReuse(), e.compareRotations()
	e.SLO = e.judgeRow(t)
	for _, c := range e.Spec.Mix {
		if e.Classes == nil {
			e.Classes = map[string]record.Summary{}
		}
		own := slices.DeleteFunc(slices.Clone(e.Records), func(r *record.Record) bool { return r.Class != c.Name })
		slo := e.Spec.ClassSLO(c)
		s := record.Summarize(own, e.Window, stream, slo.EachRequest(), t.GPUs)
		e.Classes[c.Name] = s
		if len(c.SLO) > 0 {
			e.SLO = append(e.SLO, Judge(slo, c.Name, own, &s, stream, t)...)
		}
	}
	e.applySequential()
	e.Summary.Goodput = e.classGoodput()
	e.Roofline, e.NoRoofline = b.Of(&e.Summary, record.ObserveDecoding(e.Records, e.Window), t)
	e.Little = record.LittlesLaw(e.Records, e.Window)
	e.Cost, e.NoCost = CostOf(e.Row, t)
	e.runChecks()
}

// judgeRow judges the row's own limits, each over the classes that do not have that limit themselves.
func (e *Measured) judgeRow(t experiment.Target) []record.Verdict {
	out := []record.Verdict{}
	for _, l := range e.Spec.SLO.Limits {
		own := e.Records
		if len(e.Spec.Mix) > 0 {
			own = slices.DeleteFunc(slices.Clone(own), func(r *record.Record) bool { return e.Spec.ClassOverrides(r.Class, l.Key) })
		}
		if len(own) == 0 && len(e.Records) > 0 {
			continue // every class has a limit of its own in place of this one
		}
		s := &e.Summary
		if len(own) < len(e.Records) && l.Metric == "error_rate" {
			part := record.Summarize(own, e.Window, e.Spec.Streams(), nil, t.GPUs)
			s = &part
		}
		out = append(out, Judge(experiment.SLO{Limits: []experiment.Limit{l}}, "", own, s, e.Spec.Streams(), t)...)
	}
	return out
}

// classGoodput is the row's goodput where classes have limits of their own: each request is held to
// those of its class.
func (e *Measured) classGoodput() *record.Goodput {
	if !slices.ContainsFunc(e.Spec.Mix, func(c workload.Class) bool { return len(c.SLO) > 0 }) {
		return e.Summary.Goodput
	}
	var sum *record.Goodput
	for _, c := range e.Spec.Mix {
		g := e.Classes[c.Name].Goodput
		if g == nil {
			continue
		}
		if sum == nil {
			sum = &record.Goodput{}
		}
		sum.RequestsPerS += g.RequestsPerS
		sum.OutputTokensPerS += g.OutputTokensPerS
		for _, l := range g.Limits {
			sum.Limits = append(sum.Limits, c.Name+": "+l)
		}
	}
	if n := e.Summary.Requests.Planned; sum != nil && n > 0 {
		sum.Share = sum.RequestsPerS * e.Window.Seconds() / float64(n)
	}
	return sum
}

// SLOOf is the SLO's outcome over rows: FAIL if any limit of any row failed, else
// UNDECIDED if any is, else PASS; empty without an SLO. need is the largest number of further
// requests that an undecided limit asks for.
func SLOOf(rows ...*record.Row) (v stats.Verdict, need int) {
	for _, r := range rows {
		for _, c := range r.SLO {
			need = max(need, c.Need)
			switch {
			case c.Verdict == string(stats.Fail) || v == stats.Fail:
				v = stats.Fail
			case c.Verdict != string(stats.Pass) || v == stats.Undecided: // an unknown word is no PASS
				v = stats.Undecided
			default:
				v = stats.Pass
			}
		}
	}
	if v != stats.Undecided {
		need = 0
	}
	return v, need
}
