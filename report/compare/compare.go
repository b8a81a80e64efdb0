// Package compare decides whether results differ: two sets of runs (Compare), with a gate for nightly jobs,
// or the runs of many nights (History), with the nights at which a figure changed.
//
// Compare works in this order: differences that make figures incomparable are refused (Difference); points
// are matched by their specs; each figure is tested over its repeats, never over its requests as if they were
// independent (stats.Compare); the gated figures share one risk of a false alarm (Holm); then each gets a
// verdict: better, worse, no change, or inconclusive with the number of repeats that it needs. History groups
// runs, follows each figure from night to night and finds change-points and alarms.
//
// The package never renders: package report does.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report/parallel"
)

// Schema is the schema name in a Comparison's JSON.
const Schema = "bench/comparison/v1"

const (
	risk       = 0.05 // of a false alarm: over all gated figures together, or over one figure without a threshold
	confidence = 0.95 // of shown intervals
	power      = 0.8  // of the smallest detectable change
)

// Run is one run of bench or of another tool.
type Run struct {
	Name     string
	Manifest record.Manifest
	Rows     []record.Row // without rows that were removed from the matrix; never changed here

	// Records reads the requests of a row, which may lack their gaps. If it is nil, the variance within a row is
	// estimated from its summary.
	Records func(*record.Row) ([]*record.Record, error)

	// Definitions holds another tool's definition of a metric (ttft, itl, …); a missing one is that of
	// docs/metrics.md.
	Definitions map[string]string

	WithoutRecords []string // rows of a run of bench whose file of requests is missing
}

// Side is the runs of one side. Rows of the same point in several runs are its repeats.
type Side struct {
	Name string
	Runs []Run
}

// gpuSeconds is what the answers of the side took; nil: a run lacks its time or its number of GPUs.
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

// Options of a comparison.
type Options struct {
	Gate   experiment.Gate // empty: nothing is gated
	Allow  []string        // keys of intended differences, which are not refused
	Margin float64         // largest change that counts as none, for figures without a threshold; 0 = 0.05

	UndecidedPasses bool // the gate passes although a figure is UNDECIDED
}

// Comparison is what Compare finds.
type Comparison struct {
	Schema      string       `json:"schema"`
	Base        string       `json:"base"`
	New         string       `json:"new"`
	LeftOut     []LeftOut    `json:"base_left_out,omitempty"`
	Differences []Difference `json:"differences"` // between the sides as a whole
	Refused     bool         `json:"refused"`     // a difference makes the figures incomparable: Points is empty
	// WithoutRecords are rows whose file of requests is missing, as "run: row"; absent = none. Their spread is
	// estimated from their summaries.
	WithoutRecords []string `json:"rows_without_records,omitempty"`
	// GPU-seconds to the answer of all runs of a side; absent = not recorded, or GPUs not specified.
	BaseGPUSeconds *float64 `json:"base_gpu_seconds,omitempty"`
	NewGPUSeconds  *float64 `json:"new_gpu_seconds,omitempty"`
	Points         []Point  `json:"points"`
	Missing        []string `json:"only_in_base"`
	Added          []string `json:"only_in_new"`
	// Skipped are points of only_in_base that the new side skipped, each with the reason.
	Skipped map[string]string `json:"skipped_in_new,omitempty"`
	Family  int               `json:"gated_figures"` // number of figures that share the risk of a false alarm
	Gate    *Outcome          `json:"gate,omitempty"`
}

// Point is one point that both sides have.
type Point struct {
	Name        string       `json:"point"`
	BaseRepeats int          `json:"base_repeats"` // without invalid ones that were left out
	NewRepeats  int          `json:"new_repeats"`
	Invalid     []Invalid    `json:"invalid"`
	LeftOut     []LeftOut    `json:"base_left_out,omitempty"`
	Cautions    []Cautions   `json:"cautions"` // of the rows that figures use
	Differences []Difference `json:"differences"`
	Refused     bool         `json:"refused"`           // the workloads differ: Metrics is empty
	Metrics     []Metric     `json:"metrics"`           // of all requests together
	Classes     []Class      `json:"classes,omitempty"` // of a mix; each compared alone
}

// Invalid is a row with invalid findings.
type Invalid struct {
	Run     string   `json:"run"`
	Row     string   `json:"row"`
	Codes   []string `json:"codes"`    // of its invalid findings
	LeftOut bool     `json:"left_out"` // of base, as the point has valid repeats there: no figure uses the row
}

// Cautions are the codes of a row's cautions.
type Cautions struct {
	Run   string   `json:"run"`
	Row   string   `json:"row"`
	New   bool     `json:"new"` // the row is of the new side
	Codes []string `json:"codes"`
}

// Compare tests what changed from base to changed. It reads the records of runs that have them.
func Compare(base, changed Side, o Options) (*Comparison, error) {
	if o.Margin == 0 {
		o.Margin = 0.05
	}
	for _, key := range o.Allow {
		if !slices.Contains(Refusable, key) {
			return nil, fmt.Errorf("unknown difference %q: allow one of %s", key, strings.Join(Refusable, ", "))
		}
	}
	c := &Comparison{Schema: Schema, Base: base.Name, New: changed.Name, Points: []Point{}, Missing: []string{}, Added: []string{}}
	base, c.LeftOut = onlyLikeNew(base, changed, o.Allow)
	c.BaseGPUSeconds, c.NewGPUSeconds = base.gpuSeconds(), changed.gpuSeconds()
	c.Differences = sideDifferences(base, changed, o.Allow)
	c.Refused = slices.ContainsFunc(c.Differences, Difference.refuses)
	for _, run := range slices.Concat(base.Runs, changed.Runs) {
		for _, row := range run.WithoutRecords {
			c.WithoutRecords = append(c.WithoutRecords, run.Name+": "+row)
		}
	}
	if !c.Refused {
		pairs, missing, added := match(base, changed)
		c.Missing, c.Added = append(c.Missing, missing...), append(c.Added, added...)
		c.Skipped = skipped(changed, c.Missing)
		var err error
		if c.Points, err = newPoints(pairs, o); err != nil {
			return nil, err
		}
		c.judge(o)
	}
	if len(o.Gate.Thresholds) > 0 {
		c.Gate = c.outcome(o)
	}
	return c, nil
}

// newPoints are the points of pairs, in their order.
func newPoints(pairs []pair, o Options) ([]Point, error) {
	out, failed := make([]Point, len(pairs)), make([]error, len(pairs))
	parallel.Do(len(pairs), func(i int) int64 { return pairs[i].recordBytes() }, func(i int) {
		out[i], failed[i] = newPoint(pairs[i], o)
	})
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newPoint(p pair, o Options) (Point, error) {
	p, left := p.onlyLikeNew(o.Allow)
	point := Point{Name: p.name, LeftOut: left, Invalid: p.invalid(), Metrics: []Metric{}}
	p.base = withoutInvalid(p.base)
	point.Cautions = p.cautions()
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

// judge gives every figure its verdict. It counts the gated figures first, as they share the risk of a false
// alarm.
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
	c.each(func(m *Metric) { m.judge(o.Margin, m.level(c.Family)) })
}

// each calls f for every figure, and for those of a point's classes after its own.
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
