package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Verdict is the result of comparing one figure.
type Verdict string

const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoChange     Verdict = "no change"    // the interval of the change lies within the margin
	Inconclusive Verdict = "inconclusive" // Metric.Need repeats would decide
)

// Values of Metric.Test.
const (
	ByRanks   = "mann-whitney"
	ByRepeats = "repeats"
)

// Metric is one figure of one point on both sides. Changes are relative to base (0.05: 5 % more); those of
// error_rate are differences of the share.
type Metric struct {
	Name               string         `json:"metric"`
	Unit               string         `json:"unit"`
	Base               *float64       `json:"base"` // median over the repeats; null: no repeat has it
	New                *float64       `json:"new"`
	Values             [2][]float64   `json:"repeats"` // the values of base, then those of new
	Change             *float64       `json:"change"`  // Hodges–Lehmann shift for mann-whitney, else between geometric means; null: not compared, see why
	CI95               stats.Interval `json:"change_ci95"`
	Test               string         `json:"test,omitempty"`
	P                  *float64       `json:"p"`                                 // null: no test was possible
	Adjusted           *float64       `json:"p_adjusted"`                        // by Holm, over all gated figures; p itself for a figure without a threshold
	SmallestDetectable *float64       `json:"smallest_detectable_change"`        // with a power of 80 %; null: unknown
	Verdict            Verdict        `json:"verdict"`                           // at a risk of 5 %
	NoChangeWithin     float64        `json:"no_change_within"`                  // for "no change": the end of the interval that is farthest from 0
	Margin             float64        `json:"margin,omitempty"`                  // the change that matters: the gate's threshold, else the margin of all figures
	NeedRepeats        int            `json:"need_repeats"`                      // per side, to detect a change of the margin, for "inconclusive"; 0: unknown, or more than a thousand
	NeedForChange      int            `json:"need_repeats_for_change,omitempty"` // the same for a change as large as the one shown; 0 also if that is within the margin
	Why                string         `json:"why"`

	Threshold *experiment.Threshold `json:"threshold,omitempty"` // of the gate
	Gate      stats.Verdict         `json:"gate,omitempty"`

	figure        figure
	base, changed []stats.Repeat // on the scale of comparison
	refused       string         // why it is not compared; empty: it is
}

// metrics are the figures that base or new has.
func (p pair) metrics(o Options) []Metric {
	out := []Metric{}
	for _, f := range figures(o.Gate) {
		if m, ok := p.metric(f, o); ok {
			out = append(out, m)
		}
	}
	return out
}

// metric is a figure of both sides; ok is false if neither has it.
func (p pair) metric(f figure, o Options) (m Metric, ok bool) {
	m = Metric{Name: f.name, Unit: f.unit, Threshold: f.threshold, figure: f, CI95: stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
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
		m.refused = cmp.Or(f.definitions(p, o), f.noRatio(m.Values))
	}
	if m.refused == "" {
		m.refused = f.tooFew(p)
	}
	return m, true
}

// repeats are the values of the samples that have the figure, as measured and on the scale of comparison.
func (f figure) repeats(samples []sample) (values []float64, scaled []stats.Repeat) {
	values = []float64{}
	for i := range samples {
		s := &samples[i]
		if x, ok := f.of(s.row); ok {
			values = append(values, x)
			scaled = append(scaled, stats.Repeat{Value: f.scale(x), Within: f.within(s)})
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

// definitions is an error text if two runs define the metric differently and Options.Allow does not permit
// that.
func (f figure) definitions(p pair, o Options) string {
	if slices.Contains(o.Allow, "definitions") {
		return ""
	}
	meaning := func(s sample) string { return cmp.Or(s.run.Definitions[f.definition], "as in docs/metrics.md") }
	first := meaning(p.base[0])
	for _, s := range slices.Concat(p.base, p.changed) {
		if other := meaning(s); other != first {
			return fmt.Sprintf("metric definitions differ: %s: %s; %s: %s", p.base[0].run.Name, first, s.run.Name, other)
		}
	}
	return ""
}

// noRatio is why values can't be compared by their ratio; empty: they can.
func (f figure) noRatio(values [2][]float64) string {
	if f.absolute() {
		return ""
	}
	for _, x := range slices.Concat(values[0], values[1]) {
		if !(x > 0) {
			return "the value of a repeat is 0: no ratio"
		}
	}
	return ""
}

// tooFew is an error text if a percentile has too few requests for an upper bound.
func (f figure) tooFew(p pair) string {
	share, ok := experiment.Limit{Stat: f.stat}.P()
	if !ok {
		return ""
	}
	for _, s := range slices.Concat(p.base, p.changed) {
		latency := s.row.Summary.Latency(f.metric)
		if latency != nil && latency.N < stats.MinSamples(share, confidence) {
			return fmt.Sprintf("n=%[2]d is too small for %[1]s: a repeat needs %[3]d requests", f.stat, latency.N, stats.MinSamples(share, confidence))
		}
	}
	return ""
}

// level is the significance level of a figure: Holm's first step for one of `family` gated figures.
func (m *Metric) level(family int) float64 {
	if m.Threshold == nil || family < 2 {
		return risk
	}
	return risk / float64(family)
}

// testable reports whether one side has repeats.
func (m *Metric) testable() bool { return m.refused == "" && len(m.base)+len(m.changed) > 2 }

// test computes the change, its interval and p. It uses ranks, which assume no distribution, if enough
// repeats exist for a rank test to reach the level; else the spread of the repeats. Ranks do not suit a
// share: five repeats a side without a failure have equal ranks, whether a repeat has sixty requests or six
// thousand.
func (m *Metric) test(level float64) {
	if m.refused != "" {
		return
	}
	c := stats.Compare(m.base, m.changed)
	difference, within := c.Difference, c.Interval(confidence)
	if m.testable() {
		m.Test, m.P = ByRepeats, &c.P
		if d := c.Detectable(level, power); !math.IsInf(d, 0) {
			m.SmallestDetectable = new(m.figure.change(d))
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

// worse is a change with its sign turned so that above 0 is worse.
func worse(figure string, change float64) float64 {
	if experiment.MoreIsBetter(figure) {
		return -change
	}
	return change
}

// judge sets the verdict; same is the margin of figures without a threshold.
func (m *Metric) judge(same, level float64) {
	margin := same
	if m.figure.absolute() {
		margin = same / 5 // 1 % of all requests if other figures may change by 5 %
	}
	if m.Threshold != nil {
		margin = m.Threshold.Worse
	}
	m.Margin = margin
	farthest := max(-m.CI95.Lo, m.CI95.Hi)
	switch {
	case m.refused != "":
		m.Verdict, m.Why = Inconclusive, m.refused
	case m.P == nil:
		m.Verdict, m.Why = Inconclusive, "one repeat per side: the spread between repeats is unknown"
		m.NeedRepeats = max(leastRepeats, m.need(m.distance(margin), level))
	case *m.Adjusted <= risk && worse(m.Name, *m.Change) > 0:
		m.Verdict = Worse
	case *m.Adjusted <= risk && *m.Change != 0:
		m.Verdict = Better
	case farthest <= margin:
		m.Verdict, m.NoChangeWithin = NoChange, farthest
	default:
		m.Verdict, m.NeedRepeats = Inconclusive, m.need(m.distance(margin), level)
		m.Why = "the interval includes 0 and more than the margin"
		if *m.P <= risk {
			m.Why = fmt.Sprintf("significant alone (p=%s), but not among all gated figures (p=%s)", unit.Digits(*m.P), unit.Digits(*m.Adjusted))
		}
		if m.NeedRepeats == 0 {
			m.Why += "; the spread is so large that a thousand repeats would not decide"
		}
	}
	if m.Verdict == Inconclusive && m.refused == "" && m.Change != nil && math.Abs(*m.Change) > margin {
		m.NeedForChange = max(leastRepeats, m.need(math.Abs(m.distance(*m.Change)), level))
	}
}

// leastRepeats is the smallest number of repeats to ask for if a side has one.
const leastRepeats = 4

// distance is a change on the scale of comparison.
func (m *Metric) distance(change float64) float64 {
	if m.figure.absolute() {
		return change
	}
	return math.Log1p(change)
}

// need is the number of repeats per side that detects a distance; 0 if a thousand do not. It exceeds the present
// number, which did not suffice.
func (m *Metric) need(distance, level float64) int {
	n := stats.RepeatsFor(distance, stats.Compare(m.base, m.changed).Spread, level, power)
	if n == 0 {
		return 0
	}
	return max(n, min(len(m.base), len(m.changed))+1)
}
