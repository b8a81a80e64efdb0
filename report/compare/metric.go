package compare

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Verdict says what became of a figure.
type Verdict string

// The verdicts. Same is within a stated margin; CantTell says what it would take.
const (
	Better   Verdict = "better"
	Worse    Verdict = "worse"
	Same     Verdict = "same"
	CantTell Verdict = "can't tell"
)

// Tests by which a figure can be judged.
const (
	ByRanks   = "mann-whitney"
	ByRepeats = "repeats"
)

// Metric is one figure of one point on both sides. Changes are shares of base (0.05: 5 % more), those of error_rate changes
// of the share itself.
type Metric struct {
	Name       string         `json:"metric"`
	Unit       string         `json:"unit"`
	Base       *float64       `json:"base"` // median over the repeats; null: none has it
	New        *float64       `json:"new"`
	Values     [2][]float64   `json:"repeats"` // base's and new's, one each
	Change     *float64       `json:"change"`  // by ranks the Hodges–Lehmann shift, else between geometric means; null: none, see why
	CI95       stats.Interval `json:"change_ci95"`
	Test       string         `json:"test,omitempty"`
	P          *float64       `json:"p"`           // null: no test was possible
	Adjusted   *float64       `json:"p_adjusted"`  // over all gated figures, by Holm; as p where it is not gated
	Detectable *float64       `json:"detectable"`  // the smallest change that data like these show in four cases of five; null: none
	Verdict    Verdict        `json:"verdict"`     // at 5 %
	Within     float64        `json:"same_within"` // of a verdict "same": the farthest that the interval lets the change be
	Need       int            `json:"need_repeats"`
	Why        string         `json:"why"`

	Threshold *experiment.Threshold `json:"threshold,omitempty"` // of the gate
	Gate      stats.Verdict         `json:"gate,omitempty"`

	figure        figure
	base, changed []stats.Repeat // on the scale of comparison
	refused       string         // why it is not compared
}

// metrics are the figures that a side has.
func (p pair) metrics(o Options) []Metric {
	out := []Metric{}
	for _, f := range figures(o.Gate) {
		if m, ok := p.metric(f, o); ok {
			out = append(out, m)
		}
	}
	return out
}

// metric takes a figure from both sides; false where neither has it.
func (p pair) metric(f figure, o Options) (Metric, bool) {
	m := Metric{Name: f.name, Unit: f.unit, Threshold: f.threshold, figure: f, CI95: stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
	m.Values[0], m.base = f.repeats(p.base)
	m.Values[1], m.changed = f.repeats(p.changed)
	m.Base, m.New = median(m.Values[0]), median(m.Values[1])
	switch {
	case m.Base == nil && m.New == nil:
		return Metric{}, false
	case m.New == nil:
		m.refused = "only base has it"
	case m.Base == nil:
		m.refused = "only new has it"
	default:
		m.refused = or(f.definitions(p, o), f.unfit(m.Values))
	}
	if m.refused == "" {
		m.refused = f.unbounded(p)
	}
	return m, true
}

// repeats are the values of the samples that have the figure, as they are and on the scale of comparison.
func (f figure) repeats(samples []sample) (values []float64, scaled []stats.Repeat) {
	values = []float64{}
	for _, s := range samples {
		if x, ok := f.of(s.row); ok {
			values = append(values, x)
			scaled = append(scaled, stats.Repeat{Value: f.scale(x), Within: f.within(s.row, s.window)})
		}
	}
	return values, scaled
}

func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := stats.Quantile(slices.Sorted(slices.Values(values)), 0.5)
	return &m
}

// definitions refuses to hold two tools' different readings of a metric against each other.
func (f figure) definitions(p pair, o Options) string {
	if slices.Contains(o.Allow, "definitions") {
		return ""
	}
	meaning := func(s sample) string { return or(s.run.Definitions[f.definition], "as in docs/metrics.md") }
	first := meaning(p.base[0])
	for _, s := range slices.Concat(p.base, p.changed) {
		if other := meaning(s); other != first {
			return fmt.Sprintf("it does not mean the same: %s: %s; %s: %s", p.base[0].run.Name, first, s.run.Name, other)
		}
	}
	return ""
}

// unfit says why values can't be compared by their ratio.
func (f figure) unfit(values [2][]float64) string {
	if f.absolute() {
		return ""
	}
	for _, x := range slices.Concat(values[0], values[1]) {
		if !(x > 0) {
			return "it is 0 in a repeat: there is no ratio"
		}
	}
	return ""
}

// unbounded says that a percentile rests on too few requests to be one.
func (f figure) unbounded(p pair) string {
	share, ok := experiment.Limit{Stat: f.stat}.P()
	if !ok {
		return ""
	}
	for _, s := range slices.Concat(p.base, p.changed) {
		latency := s.row.Summary.Latency(f.metric)
		if latency != nil && stats.GradeOf(latency.N, share) == stats.NoBound {
			return fmt.Sprintf("%s of n=%d has no bound: a repeat needs %d requests", f.stat, latency.N, stats.MinSamples(share, confidence))
		}
	}
	return ""
}

// level is the risk of a false alarm that the first of a family of so many gated figures may take.
func (m *Metric) level(family int) float64 {
	if m.Threshold == nil || family < 2 {
		return risk
	}
	return risk / float64(family)
}

// testable says that there are repeats to test by.
func (m *Metric) testable() bool { return m.refused == "" && len(m.base)+len(m.changed) > 2 }

// test finds the change, its interval and its p: by ranks, which assume nothing of the distribution, where there are repeats
// enough for ranks to reach the level at all, else by the repeats' spread. A share is not judged by ranks: those of five repeats
// without a failure on either side are all equal, whether a repeat has sixty requests or six thousand.
func (m *Metric) test(level float64) {
	if m.refused != "" {
		return
	}
	c := stats.Compare(m.base, m.changed)
	difference, within := c.Difference, c.Interval(confidence)
	if m.testable() {
		m.Test, m.P = ByRepeats, &c.P
		if d := c.Detectable(level, power); !math.IsInf(d, 0) {
			m.Detectable = new(m.figure.change(d))
		}
	}
	if !m.figure.absolute() && stats.LeastRankP(len(m.base), len(m.changed)) <= level {
		was, is := scaled(m.base), scaled(m.changed)
		_, p := stats.MannWhitney(was, is)
		difference, within = stats.HodgesLehmann(was, is, confidence)
		m.Test, m.P = ByRanks, &p
	}
	m.Change = new(m.figure.change(difference))
	m.CI95 = stats.Interval{Lo: m.figure.change(within.Lo), Hi: m.figure.change(within.Hi)}
}

func scaled(rs []stats.Repeat) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = r.Value
	}
	return out
}

// worse is a change of a figure, turned so that more is worse.
func worse(figure string, change float64) float64 {
	if experiment.MoreIsBetter(figure) {
		return -change
	}
	return change
}

// judge gives the verdict; same is the margin of figures that are not gated.
func (m *Metric) judge(same, level float64) {
	margin := same
	if m.figure.absolute() {
		margin = same / 5 // of all requests, 1 % where other figures may change by 5 %
	}
	if m.Threshold != nil {
		margin = m.Threshold.Worse
	}
	farthest := max(-m.CI95.Lo, m.CI95.Hi)
	switch {
	case m.refused != "":
		m.Verdict, m.Why = CantTell, m.refused
	case m.P == nil:
		m.Verdict, m.Why = CantTell, "one repeat a side: how far repeats differ by themselves is not known"
		m.Need = max(leastRepeats, m.need(margin, level))
	case *m.Adjusted <= risk && worse(m.Name, *m.Change) > 0:
		m.Verdict = Worse
	case *m.Adjusted <= risk && *m.Change != 0:
		m.Verdict = Better
	case farthest <= margin:
		m.Verdict, m.Within = Same, farthest
	default:
		m.Verdict, m.Need = CantTell, m.need(margin, level)
		m.Why = "the interval holds both no change and more than the margin"
		if *m.P <= risk {
			m.Why = fmt.Sprintf("by itself it is a change (p=%s), among all gated figures it can be chance (p=%s)", unit.Digits(*m.P), unit.Digits(*m.Adjusted))
		}
		if m.Need == 0 {
			m.Why += "; repeats differ too much for a thousand of them to tell"
		}
	}
}

// leastRepeats are worth to be asked for where there is one.
const leastRepeats = 4

// need is how many repeats a side would show a change of the margin; more than there are, as these did not.
func (m *Metric) need(margin, level float64) int {
	difference := margin
	if !m.figure.absolute() {
		difference = math.Log1p(margin)
	}
	n := stats.RepeatsFor(difference, stats.Compare(m.base, m.changed).Spread, level, power)
	if n == 0 {
		return 0
	}
	return max(n, min(len(m.base), len(m.changed))+1)
}
