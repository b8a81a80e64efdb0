// Package compare decides whether results differ: two sets of runs (Compare), with a gate for nightly jobs,
// or the runs of many nights (History), with the nights at which a figure changed.
//
// Compare works in this order: differences that make figures incomparable are refused (Difference); points
// are matched by their specs; each figure is tested over its runs, never over repeats or requests as if they
// were independent (stats.CompareRuns); the gated figures share one risk of a false alarm (Holm); then each
// gets a verdict: better, worse, no change, or inconclusive with the number of runs that it needs. History
// groups runs, follows each figure from night to night and finds change-points and alarms.
//
// The package never renders: package report does.
package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report/parallel"
)

const Schema = "bench/comparison/v2"

const (
	Risk       = 0.05 // of a false alarm: over all gated figures together, or over one figure without a threshold
	Confidence = 0.95 // of shown intervals
	Power      = 0.8  // of the smallest detectable change
)

type Run struct {
	Name string
	// its rows never change here; without Records the variance within a row is that of its summary
	record.Run
	// Whole are Records with the gaps of tokens; nil: there are none.
	Whole     func(*record.Row) ([]*record.Record, error)
	Gate      *GateRecord // its gate.json; nil: none, or not read
	GateError string      // why its gate.json is unreadable
	Headline  *Headline   // for the list of runs; nil: not needed
}

// Side is the runs of one side, in order of time. Rows of one point in one run are its repeats.
type Side struct {
	Name string
	Runs []Run
}

func (s *Side) gpuSeconds() *float64 {
	if len(s.Runs) == 0 {
		return nil
	}
	sum := 0.0
	for i := range s.Runs {
		m := &s.Runs[i].Manifest
		t := m.Time()
		if t == nil || m.Target.GPUs == 0 {
			return nil
		}
		sum += *m.GPUSeconds(t.AnswerS)
	}
	return &sum
}

// noChange is the largest change that counts as none, for figures without a threshold.
const noChange = 0.05

type Options struct {
	Gate  experiment.Gate // empty: nothing is gated
	Allow []string        // keys of intended differences, which are not refused

	UndecidedPasses bool // the gate passes although a figure is UNDECIDED

	// Nights are comparable runs before new, in order of time, with those of base: they show the spread between runs.
	// nil: base alone does.
	Nights []Run
	// Machine are other runs of this machine and server, of any matrix: they show the spread of runs if there are too
	// few nights.
	Machine []Run
	spreads map[string]stats.RunSpread // of these, by figure
	// Paired: the same repeat of both sides ran side by side, as parts of one run.
	Paired bool
}

// shareSpread is assumed between the error rates of runs, as a share of their mean.
const shareSpread = 0.5

type Comparison struct {
	Schema   string   `json:"schema"`
	Base     string   `json:"base"`
	New      string   `json:"new"`
	BaseRuns []RunRef `json:"base_runs"` // that are compared
	NewRuns  []RunRef `json:"new_runs"`
	// with those of base_runs: they show the spread between runs
	Nights      int          `json:"nights,omitempty"`
	Paired      bool         `json:"paired,omitempty"`
	LeftOut     []LeftOut    `json:"base_left_out,omitempty"`
	Differences []Difference `json:"differences"` // between the sides as a whole
	// a difference makes the figures incomparable: no point is tested
	Refused bool `json:"refused"`
	// WithoutRecords are rows whose file of requests is missing, as "run: row"; absent = none. Their spread is
	// estimated from their summaries.
	WithoutRecords []string `json:"rows_without_records,omitempty"`
	// Altered are files that were changed after their run, or cannot be read, as "run: file"; absent = none.
	Altered []string `json:"altered_files,omitempty"`
	// GPU-seconds to the answer of all runs of a side; absent = not recorded, or GPUs not specified.
	BaseGPUSeconds *float64 `json:"base_gpu_seconds,omitempty"`
	NewGPUSeconds  *float64 `json:"new_gpu_seconds,omitempty"`
	Points         []Point  `json:"points"`
	// Searches are the answers of searches that both sides made; absent = none.
	Searches []SearchAnswer `json:"searches,omitempty"`
	Missing  []string       `json:"only_in_base"`
	Added    []string       `json:"only_in_new"`
	// Unmeasured are the points of only_in_base that new's matrix has, each with the reason why new has no
	// row of it.
	Unmeasured map[string]string `json:"unmeasured_in_new,omitempty"`

	// Causes of latencies that are better or worse, a sentence each (bench why has them as figures); absent = none are
	// known.
	Causes []string `json:"causes,omitempty"`

	NewBase *NewBase `json:"new_base,omitempty"` // no earlier run is comparable: nothing was compared
	// why no comparable earlier run is good: nothing was compared
	NoBase string   `json:"no_base,omitempty"`
	Family int      `json:"gated_figures"` // number of figures that share the risk of a false alarm
	Gate   *Outcome `json:"gate,omitempty"`

	Sides [2]Side `json:"-"` // base and new, as compared: pages draw their curves; without runs: none
}

type RunRef struct {
	Name      string    `json:"run"`
	StartedAt time.Time `json:"started_at,omitzero"` // absent = the result lacks it
}

func refs(s Side) []RunRef {
	out := []RunRef{}
	for i := range s.Runs {
		out = append(out, RunRef{s.Runs[i].Name, s.Runs[i].Manifest.StartedAt})
	}
	return out
}

type Point struct {
	Name        string `json:"point"`
	BaseRepeats int    `json:"base_repeats"` // without invalid ones that were left out
	NewRepeats  int    `json:"new_repeats"`
	// verdicts on the SLO, the same in every run of the side; absent = no SLO, runs or SLOs that differ
	BaseSLO     stats.Verdict `json:"base_slo,omitempty"`
	NewSLO      stats.Verdict `json:"new_slo,omitempty"`
	Invalid     []Invalid     `json:"invalid"`
	LeftOut     []LeftOut     `json:"base_left_out,omitempty"`
	Cautions    []Cautions    `json:"cautions"` // of the rows that figures use
	Differences []Difference  `json:"differences"`
	// the workloads differ, or all of the sides: no metric is tested
	Refused bool `json:"refused"`
	// why requests cannot be read, so that no metric is tested; absent = they were, or are of an earlier night
	Damaged string   `json:"damaged,omitempty"`
	Metrics []Metric `json:"metrics"`           // of all requests together
	Classes []Class  `json:"classes,omitempty"` // of a mix; each compared alone

	unread string // why requests of base could not be read; empty: they were
}

type Invalid struct {
	Run     string   `json:"run"`
	Row     string   `json:"row"`
	Codes   []string `json:"codes"`         // of its invalid findings
	LeftOut bool     `json:"left_out"`      // of base, as the point has valid repeats there: no figure uses the row
	New     bool     `json:"new,omitempty"` // the row is of the new side
}

type Cautions struct {
	Run   string   `json:"run"`
	Row   string   `json:"row"`
	New   bool     `json:"new"` // the row is of the new side
	Codes []string `json:"codes"`
}

// Compare tests what changed from base to changed. It reads the records of runs that have them.
func Compare(base, changed Side, o Options) (*Comparison, error) {
	for _, key := range o.Allow {
		if !slices.Contains(Refusable, key) {
			return nil, fmt.Errorf("unknown difference %q: allow one of %s", key, strings.Join(Refusable, ", "))
		}
	}
	if o.spreads == nil {
		o.spreads = assumedSpreads(o.Machine, o.Gate)
	}
	base, left := onlyLikeNew(base, changed, o.Allow)
	c := newComparison(base, changed, o)
	c.LeftOut = left
	c.BaseGPUSeconds, c.NewGPUSeconds = base.gpuSeconds(), changed.gpuSeconds()
	c.Differences = sideDifferences(base, changed, o.Allow)
	c.Refused = slices.ContainsFunc(c.Differences, Difference.refuses)
	for _, run := range slices.Concat(base.Runs, changed.Runs) {
		for _, row := range run.WithoutRecords {
			c.WithoutRecords = append(c.WithoutRecords, run.Name+": "+row)
		}
		for _, file := range run.Altered {
			c.Altered = append(c.Altered, run.Name+": "+file)
		}
	}
	pairs, missing, added := match(base, changed, o.Nights)
	if len(o.Nights) > 0 {
		var left []LeftOut
		var changedPoints []string
		pairs, left, changedPoints = withoutChangedPoints(pairs, o.Allow)
		c.LeftOut, added = append(c.LeftOut, left...), append(added, changedPoints...)
	}
	c.Missing, c.Added = append(c.Missing, missing...), append(c.Added, added...)
	c.Unmeasured = unmeasured(changed, c.Missing)
	c.Searches = searches(base, changed, c.Refused)
	c.Points = newPoints(pairs, c.Refused, o)
	for _, p := range c.Points {
		if p.unread != "" {
			c.WithoutRecords = append(c.WithoutRecords, p.unread)
		}
	}
	c.setVerdicts()
	if len(o.Gate.Thresholds) > 0 {
		c.Gate = c.outcome(o)
	}
	return c, nil
}

func newComparison(base, changed Side, o Options) *Comparison {
	return &Comparison{Schema: Schema, Base: base.Name, New: changed.Name, BaseRuns: refs(base), NewRuns: refs(changed),
		Nights: len(o.Nights), Paired: o.Paired, Differences: []Difference{}, Points: []Point{}, Missing: []string{},
		Added: []string{}, Sides: [2]Side{base, changed}}
}

func newPoints(pairs []pair, refused bool, o Options) []Point {
	out := make([]Point, len(pairs))
	parallel.Do(len(pairs), func(i int) int64 { return pairs[i].recordBytes() }, func(i int) {
		out[i] = newPoint(pairs[i], refused, o)
	})
	return out
}

func newPoint(p pair, refused bool, o Options) Point {
	p, left := p.onlyLikeNew(o.Allow)
	point := Point{Name: p.name, LeftOut: left, Invalid: p.invalid(), Metrics: []Metric{}}
	p.base = withoutInvalid(p.base)
	point.Cautions = p.cautions()
	point.BaseRepeats, point.NewRepeats = len(p.base), len(p.changed)
	point.BaseSLO, point.NewSLO = p.sloVerdicts()
	point.Differences = p.differences(o.Allow)
	point.Refused = refused || slices.ContainsFunc(point.Differences, Difference.refuses)
	if !point.Refused {
		var wasNot, isNot error
		if p.base, wasNot = load(p.base); wasNot != nil && len(p.nights) > 0 {
			point.unread, wasNot = wasNot.Error(), nil // one bad night must not end the job
		}
		p.changed, isNot = load(p.changed)
		if err := cmp.Or(isNot, wasNot); err != nil {
			point.Damaged = err.Error()
		}
		p.nights = p.likeBase()
	}
	point.Metrics = p.metrics("", o)
	if point.Refused || point.Damaged != "" {
		for i := range point.Metrics {
			m := &point.Metrics[i]
			m.refused, m.gone = cmp.Or(point.Damaged, "not comparable"), cmp.Or(point.Damaged, m.gone)
		}
		return point
	}
	for _, name := range p.classes() {
		point.Classes = append(point.Classes, Class{name, p.ofClass(name).metrics(name, o)})
	}
	return point
}

// setVerdicts counts the gated figures first, as they share the risk of a false alarm.
func (c *Comparison) setVerdicts() {
	c.each(func(m *Metric) {
		if m.Threshold != nil && m.refused == "" {
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
	c.each(func(m *Metric) { m.judge(m.level(c.Family)) })
}

// each calls f for every figure, and for those of a point's classes after its own.
func (c *Comparison) each(f func(*Metric)) {
	for i := range c.Points {
		c.Points[i].Each(func(_ string, m *Metric) { f(m) })
	}
}

// Each calls f for every figure of all requests, whose class is empty, then for those of each class.
func (p *Point) Each(f func(class string, m *Metric)) {
	for i := range p.Metrics {
		f("", &p.Metrics[i])
	}
	for _, class := range p.Classes {
		for i := range class.Metrics {
			f(class.Name, &class.Metrics[i])
		}
	}
}
