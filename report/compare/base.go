package compare

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

type Candidate struct {
	Name string
	Read func() (Run, error) // with its gate.json
}

// DefaultBase is the number of runs of a base.
const DefaultBase = 5

const (
	mostRead   = 200 // latest candidates that are read
	mostNights = 60  // comparable runs that are used: a level that is older is over
	mostListed = 10  // candidates to list if none is good
)

// Base is the runs that new is compared with: the latest comparable ones that are finished. A figure that differs by
// more than its threshold in one of them takes an earlier run instead.
type Base struct {
	Name    string
	Runs    []Run // in order of time
	Nights  []Run // with those before them, in order of time: they show the spread, and changes over several nights
	leftOut []LeftOut
	New     *NewBase // no earlier run is comparable; nil: one is

	none  string       // why no comparable run is good; empty: one is, or none is comparable
	gates []GateRecord // of comparable runs, the latest first
}

// NewBase says that no earlier run is comparable with new: later runs are compared with this one.
type NewBase struct {
	Latest  string       `json:"latest_run,omitempty"` // the latest of the earlier runs; absent = new is the first
	Changed []Difference `json:"changed"`              // from that run; none if no point is in both
	// Accepted: earlier runs count no more, as the level of new is accepted.
	Accepted bool `json:"accepted,omitempty"`
	// Detectable are the gated figures, with the smallest changes that the next run's gate detects.
	Detectable []Detectable `json:"detectable,omitempty"`
}

// Detectable is the smallest change of a gated figure that a comparison with one such run shows.
type Detectable struct {
	GatedFigure
	Threshold experiment.Threshold `json:"threshold"`
	Smallest  float64              `json:"smallest_detectable_change"` // with a power of 80 %
	Spread    Spread               `json:"spread"`                     // between runs, that it rests on
}

// detect compares new with itself: what is left is the spread.
func (b *NewBase) detect(changed Side, o Options) error {
	again := Side{Name: changed.Name, Runs: slices.Clone(changed.Runs)}
	for i := range again.Runs {
		again.Runs[i].Name += " again" // else they are parts of one run
		again.Runs[i].Manifest.Run += " again"
	}
	c, err := Compare(again, changed, o)
	if err != nil {
		return err
	}
	b.Detectable = c.Detectables()
	return nil
}

// Detectables are those of all gated figures that were tested.
func (c *Comparison) Detectables() (out []Detectable) {
	for i := range c.Points {
		p := &c.Points[i]
		p.Each(func(class string, m *Metric) {
			if m.Threshold != nil && m.SmallestDetectable != nil && m.Spread != nil {
				out = append(out, Detectable{GatedFigure{p.Name, class, m.Name}, *m.Threshold, *m.SmallestDetectable,
					*m.Spread})
			}
		})
	}
	return out
}

// Reason is why no earlier run is comparable.
func (b *NewBase) Reason() string {
	switch why := refusals(b.Changed); {
	case b.Accepted:
		return "the level of the run is accepted"
	case b.Latest == "":
		return "the first run here"
	case why == "":
		return fmt.Sprintf("no point of %s is in new", b.Latest)
	default:
		return fmt.Sprintf("since %s changed: %s", b.Latest, why)
	}
}

// ChooseBase picks up to n runs, back to the latest accepted one. Candidates come the latest first.
func ChooseBase(changed Run, candidates []Candidate, n int, allow []string) *Base {
	b := &Base{Name: fmt.Sprintf("last-good:%d", n)}
	if changed.Gate != nil && changed.Gate.Accepted {
		b.New = &NewBase{Changed: []Difference{}, Accepted: true}
		return b
	}
	read := readCandidates(changed, candidates, n, allow)
	b.choose(read, n)
	slices.Reverse(b.Runs)
	slices.Reverse(b.Nights)
	if len(b.Runs) == 0 {
		b.explain(read, changed)
	}
	return b
}

func (b *Base) choose(all []earlierRun, n int) {
	for i := range all {
		e := &all[i]
		why := e.unread
		if e.unlike != nil {
			why = cmp.Or(refusals(e.unlike.Changed), "no point in common with new")
		} else if why == "" {
			if e.run.Gate != nil {
				b.gates = append(b.gates, *e.run.Gate)
			}
			why = notGood(&e.run)
		}
		switch {
		case why != "" && len(b.Runs) < n:
			b.leftOut = append(b.leftOut, LeftOut{Run: e.name, Why: why})
		case why != "" || len(b.Nights) >= mostNights:
		case len(b.Runs) < n:
			b.Runs, b.Nights = append(b.Runs, e.run), append(b.Nights, e.run)
		default:
			e.run.Records = nil
			b.Nights = append(b.Nights, e.run)
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
		b.none, b.leftOut = "no row of new finished", nil
	case comparable:
		b.none = "no earlier run is good: " + b.leftOut[0].Run + ": " + b.leftOut[0].Why
		if more := len(b.leftOut) - 1; more > 0 {
			b.none += fmt.Sprintf("; and %s more", unit.Count(more))
		}
		b.leftOut = b.leftOut[:min(len(b.leftOut), mostListed)]
	case unread != "":
		b.none = "an earlier run cannot be read: " + unread
	default:
		b.New, b.leftOut = cmp.Or(first, &NewBase{Changed: []Difference{}}), nil
	}
}

// notGood is why a comparable run is no base; empty: it is one.
func notGood(r *Run) string {
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
	case r.Gate != nil && r.Gate.Accepted:
	case 2*finished < planned:
		return fmt.Sprintf("%s of %s rows finished", unit.Count(finished), unit.Count(planned))
	case valid == 0:
		return "every row is invalid"
	}
	return ""
}

// Compare passes the gate without a base if new begins one. Known regressions do not fail it, nor undecided figures.
func (b *Base) Compare(changed Run, o Options) (*Comparison, error) {
	side := Side{Name: changed.Name, Runs: []Run{changed}}
	if len(b.Runs) == 0 {
		return b.without(side, o)
	}
	o.Nights = b.Nights
	c, err := Compare(Side{Name: b.Name, Runs: b.Runs}, side, o)
	if err != nil {
		return nil, err
	}
	c.LeftOut = slices.Concat(b.leftOut, c.LeftOut)
	c.addHistory(append(slices.Clone(b.Nights), changed), b.gates, o.Gate)
	return c, nil
}

func (b *Base) without(changed Side, o Options) (*Comparison, error) {
	c := newComparison(Side{Name: b.Name}, changed, o)
	c.LeftOut, c.NewBase, c.NoBase = b.leftOut, b.New, b.none
	switch {
	case len(o.Gate.Thresholds) == 0:
	case b.New != nil:
		c.Gate = &Outcome{Verdict: stats.Pass, Passes: true, Cases: []Case{}, UndecidedPasses: o.UndecidedPasses}
		return c, c.NewBase.detect(changed, o)
	default:
		c.Gate = &Outcome{Verdict: stats.Undecided, UndecidedPasses: o.UndecidedPasses,
			Cases: []Case{{Verdict: stats.Undecided, Why: b.none, Suspected: true}}}
	}
	return c, nil
}
