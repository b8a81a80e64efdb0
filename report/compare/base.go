package compare

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

type Candidate struct {
	Name string
	Read func() (Run, *GateRecord, error) // with its gate.json; nil: none
}

const (
	mostRead    = 200 // latest candidates that are read
	mostEarlier = 60  // runs before those of base: their spread needs no more
	mostListed  = 10  // candidates to list if none is good
)

// Base is the runs that new is compared with: comparable, finished, and not FAILed by the gate.
type Base struct {
	Name    string
	Runs    []Run // in order of time
	Earlier []Run // further ones before them, in order of time
	LeftOut []LeftOut
	New     *NewBase // no earlier run is comparable; nil: one is

	none  string       // why no comparable run is good; empty: one is, or none is comparable
	gates []GateRecord // of comparable runs, the latest first
}

// NewBase says that no earlier run is comparable with new: later runs are compared with this one.
type NewBase struct {
	Latest  string       `json:"latest_run,omitempty"` // the latest of the earlier runs; absent = new is the first
	Changed []Difference `json:"changed"`              // from that run; none if no point is in both
}

func (b *NewBase) String() string {
	switch why := refusals(b.Changed); {
	case b.Latest == "":
		return "new base: the first run here"
	case why == "":
		return fmt.Sprintf("new base: no point of %s is in new", b.Latest)
	default:
		return fmt.Sprintf("new base: since %s changed: %s", b.Latest, why)
	}
}

// ChooseBase picks up to n good runs, back to the latest accepted one. Candidates come the latest first.
func ChooseBase(changed Run, candidates []Candidate, n int, allow []string) *Base {
	b := &Base{Name: fmt.Sprintf("last-good:%d", n)}
	read := readCandidates(changed, candidates, n, allow)
	b.choose(read, n)
	slices.Reverse(b.Runs)
	slices.Reverse(b.Earlier)
	if len(b.Runs) == 0 {
		b.explain(read, changed)
	}
	return b
}

func (b *Base) choose(all []earlierRun, n int) {
	var next *GateRecord // of the comparable run after the candidate
	for i := range all {
		e := &all[i]
		why := e.unread
		if e.unlike != nil {
			why = cmp.Or(refusals(e.unlike.Changed), "no point in common with new")
		} else if why == "" {
			why = notGood(&e.run, e.gate, next)
			if next = e.gate; e.gate != nil {
				b.gates = append(b.gates, *e.gate)
			}
		}
		switch {
		case why != "" && len(b.Runs) < n:
			b.LeftOut = append(b.LeftOut, LeftOut{Run: e.name, Why: why})
		case why != "":
		case len(b.Runs) < n:
			b.Runs = append(b.Runs, e.run)
		case len(b.Earlier) < mostEarlier:
			e.run.Records = nil
			b.Earlier = append(b.Earlier, e.run)
		}
	}
}

func (b *Base) explain(all []earlierRun, changed Run) {
	var first *NewBase // against the latest run that was read
	comparable, unread := false, ""
	for i := range all {
		e := &all[i]
		comparable = comparable || e.unlike == nil && e.unread == ""
		first, unread = cmp.Or(first, e.unlike), cmp.Or(unread, e.unread)
	}
	switch {
	case len(changed.Rows) == 0:
		b.none, b.LeftOut = "no row of new finished", nil
	case comparable:
		b.none = "no earlier run is good: " + b.LeftOut[0].Run + ": " + b.LeftOut[0].Why
		if more := len(b.LeftOut) - 1; more > 0 {
			b.none += fmt.Sprintf("; and %s more", unit.Count(more))
		}
		b.LeftOut = b.LeftOut[:min(len(b.LeftOut), mostListed)]
	case unread != "":
		b.none = "an earlier run cannot be read: " + unread
	default:
		b.New, b.LeftOut = cmp.Or(first, &NewBase{Changed: []Difference{}}), nil
	}
}

// notGood is why a comparable run is no base; empty: it is one.
func notGood(r *Run, gate, next *GateRecord) string {
	planned, finished, valid := 0, 0, 0
	for _, p := range r.Manifest.Plan {
		if p.State != record.StateRemoved && p.State != record.StateSkipped {
			planned++
		}
	}
	for i := range r.Rows {
		if !r.Rows[i].AllFailed() {
			finished++
		}
		if r.Rows[i].Valid() {
			valid++
		}
	}
	switch {
	case r.Manifest.Predicted != nil:
		return "it is a prediction"
	case gate != nil && gate.Accepted:
	case gate != nil && gate.Verdict == stats.Fail:
		return "its gate was FAIL"
	case gate != nil && gate.RegressedSince != "":
		return "its gate did not decide the regression since " + gate.RegressedSince
	case gate != nil && len(gate.Beyond) > 0:
		return "its repeats scatter, and a figure is worse by more than its threshold"
	case gate != nil && gate.Disturbed && (next == nil || !next.Disturbed): // else the server is so now
		return "its repeats scatter far more than earlier ones"
	case 2*finished < planned:
		return fmt.Sprintf("%s of %s rows finished", unit.Count(finished), unit.Count(planned))
	case valid == 0:
		return "every row is invalid"
	}
	return ""
}

// Compare passes the gate without a base if new begins one; knownPasses: known regressions do not fail it.
func (b *Base) Compare(changed Run, o Options, knownPasses bool) (*Comparison, error) {
	side := Side{Name: changed.Name, Runs: []Run{changed}}
	if len(b.Runs) == 0 {
		return b.without(side, o), nil
	}
	o.Earlier = b.Earlier
	base, left := withoutChangedPoints(Side{Name: b.Name, Runs: b.Runs}, side, o.Allow)
	c, err := Compare(base, side, o)
	if err != nil {
		return nil, err
	}
	c.LeftOut = slices.Concat(b.LeftOut, left, c.LeftOut)
	c.markKnown(b.gates, knownPasses)
	return c, nil
}

func (b *Base) without(changed Side, o Options) *Comparison {
	c := newComparison(Side{Name: b.Name}, changed, o)
	c.LeftOut, c.NewBase, c.NoBase = b.LeftOut, b.New, b.none
	switch {
	case len(o.Gate.Thresholds) == 0:
	case b.New != nil:
		c.Gate = &Outcome{Verdict: stats.Pass, Passes: true, Cases: []Case{}, UndecidedPasses: o.UndecidedPasses}
	default:
		c.Gate = &Outcome{Verdict: stats.Undecided, Passes: o.UndecidedPasses, UndecidedPasses: o.UndecidedPasses,
			Cases: []Case{{Verdict: stats.Undecided, Why: b.none}}}
	}
	return c
}
