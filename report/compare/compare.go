// Package compare says whether results differ: two sets of them (Compare), with a gate for a job that must say "slower, by this
// much, for certain" or stay quiet, or many over time (History), with the nights on which something changed.
//
// The steps are: what would make figures incomparable is found first and refused (Difference); points are matched by their
// specs; each figure is judged by its repeats, not by its requests as if they were independent (stats.Compare); the figures of
// the gate share one risk of a false alarm (Holm); and only then is there a verdict. "Can't tell" is one, with what it would
// take. Everything here is data; package report renders it.
package compare

import (
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Schema is of a Comparison as JSON.
const Schema = "bench/comparison/v1"

// Risks of a verdict.
const (
	risk       = 0.05 // of a false alarm: over all gated figures together, or over one that is only described
	confidence = 0.95 // of shown intervals
	power      = 0.8  // with which a difference that is called detectable would have shown
)

// Run is one run as it is compared, of ours or of another tool.
type Run struct {
	Name     string
	Manifest record.Manifest
	Rows     []record.Row // without those that are no longer in the matrix; the caller's

	// Records gives the requests of a row; nil = there are none, and what chance does inside of a row is taken from its summary.
	Records func(*record.Row) ([]*record.Record, error)

	// Definitions says what another tool means by a metric (ttft, itl, …); one that is not in it is that of docs/metrics.md.
	Definitions map[string]string
}

// Side is what one argument of the command named. Rows of the same point in several runs are its repeats.
type Side struct {
	Name string
	Runs []Run
}

// Options of a comparison.
type Options struct {
	Gate  experiment.Gate // empty: nothing is gated
	Allow []string        // keys of differences that are meant, and not refused
	Same  float64         // figures that differ by no more are the same; 0 = 0.05
	// UndecidedPasses lets a gate pass where the data can't tell.
	UndecidedPasses bool
}

// Comparison is the whole answer.
type Comparison struct {
	Schema      string       `json:"schema"`
	Base        string       `json:"base"`
	New         string       `json:"new"`
	Differences []Difference `json:"differences"` // between the sides as a whole
	Refused     bool         `json:"refused"`     // one of them makes the figures incomparable: there are no points
	Points      []Point      `json:"points"`
	Missing     []string     `json:"only_in_base"`
	Added       []string     `json:"only_in_new"`
	Family      int          `json:"gated_figures"` // that share the risk of a false alarm
	Gate        *Outcome     `json:"gate,omitempty"`
}

// Point is one point that both sides have.
type Point struct {
	Name        string       `json:"point"`
	BaseRepeats int          `json:"base_repeats"` // those that were left out are not among them
	NewRepeats  int          `json:"new_repeats"`
	Invalid     []Invalid    `json:"not_valid"`
	Differences []Difference `json:"differences"`
	Refused     bool         `json:"refused"`           // the workloads differ: there are no figures
	Metrics     []Metric     `json:"metrics"`           // of all requests together
	Classes     []Class      `json:"classes,omitempty"` // of a mix, each apart
}

// Invalid is a row with failed checks.
type Invalid struct {
	Run     string   `json:"run"`
	Row     string   `json:"row"`
	Failed  []string `json:"failed"`
	LeftOut bool     `json:"left_out"` // of base, which has valid repeats of the point without it: nothing rests on it
}

// Compare judges what changed from base to changed. It reads the records of rows where a Run has them.
func Compare(base, changed Side, o Options) (*Comparison, error) {
	if o.Same == 0 {
		o.Same = 0.05
	}
	for _, key := range o.Allow {
		if !slices.Contains(Refusable, key) {
			return nil, fmt.Errorf("nothing to allow is called %q", key)
		}
	}
	c := &Comparison{Schema: Schema, Base: base.Name, New: changed.Name, Points: []Point{}, Missing: []string{}, Added: []string{}}
	c.Differences = sideDifferences(base, changed, o.Allow)
	c.Refused = slices.ContainsFunc(c.Differences, Difference.refuses)
	if !c.Refused {
		pairs, missing, added := match(base, changed)
		c.Missing, c.Added = append(c.Missing, missing...), append(c.Added, added...)
		for _, p := range pairs {
			point, err := newPoint(p, o)
			if err != nil {
				return nil, err
			}
			c.Points = append(c.Points, point)
		}
		c.judge(o)
	}
	if len(o.Gate.Thresholds) > 0 {
		c.Gate = c.outcome(o)
	}
	return c, nil
}

func newPoint(p pair, o Options) (Point, error) {
	point := Point{Name: p.name, Invalid: p.invalid(), Metrics: []Metric{}}
	p.base = sound(p.base)
	point.BaseRepeats, point.NewRepeats = len(p.base), len(p.changed)
	point.Differences = p.differences(o.Allow)
	point.Refused = slices.ContainsFunc(point.Differences, Difference.refuses)
	if point.Refused {
		return point, nil
	}
	var err error
	if p.base, err = load(p.base); err != nil {
		return Point{}, err
	}
	if p.changed, err = load(p.changed); err != nil {
		return Point{}, err
	}
	point.Metrics = p.metrics(o)
	for _, name := range p.classes() {
		point.Classes = append(point.Classes, Class{name, p.class(name).metrics(o)})
	}
	return point, nil
}

// judge gives every figure its verdict, once it is known how many of them are gated and so share the risk of a false alarm.
func (c *Comparison) judge(o Options) {
	c.each(func(m *Metric) {
		if m.Threshold != nil && m.testable() {
			c.Family++
		}
	})
	var gated []*Metric
	var p []float64
	c.each(func(m *Metric) {
		m.test(m.level(c.Family))
		m.Adjusted = m.P
		if m.Threshold != nil && m.P != nil {
			gated, p = append(gated, m), append(p, *m.P)
		}
	})
	for i, adjusted := range stats.Holm(p) {
		gated[i].Adjusted = &adjusted
	}
	c.each(func(m *Metric) { m.judge(o.Same, m.level(c.Family)) })
}

// each calls f for every figure, those of a point's classes behind its own.
func (c *Comparison) each(f func(*Metric)) {
	for i := range c.Points {
		for j := range c.Points[i].Metrics {
			f(&c.Points[i].Metrics[j])
		}
		for _, class := range c.Points[i].Classes {
			for j := range class.Metrics {
				f(&class.Metrics[j])
			}
		}
	}
}
