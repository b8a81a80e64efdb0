package compare

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// level is the significance level of a figure: Holm's first step for one of `family` gated figures.
func (m *Metric) level(family int) float64 {
	if m.Threshold == nil || family < 2 {
		return Risk
	}
	return Risk / float64(family)
}

// test computes the change, its interval and p, by Student's t over runs.
func (m *Metric) test(level float64) {
	if m.refused != "" {
		return
	}
	m.Test, m.contrast = ByRuns, stats.CompareRuns(m.base, m.changed, m.nights, m.runSpread)
	if m.paired[0] != nil {
		m.Test, m.contrast = ByPairs, stats.ComparePairs(m.paired[0], m.paired[1])
	}
	c := m.contrast
	m.Spread = &Spread{c.Source, m.figure.Change(c.Spread)}
	if d := c.Detectable(level, Power); !math.IsInf(d, 0) && !math.IsNaN(d) {
		m.SmallestDetectable = new(m.figure.Change(d))
	}
	m.Change, m.CI95 = new(m.figure.Change(c.Difference)), m.figure.Changes(c.Interval(Confidence))
	m.within = m.figure.Changes(c.Interval(2*Confidence - 1))
	if at := max(WorseBy(m.Name, m.within.Lo), WorseBy(m.Name, m.within.Hi)); !m.Neutral && !math.IsInf(at, 0) {
		m.NoWorseThan = &at
	}
	if !math.IsNaN(c.P) {
		m.P = &c.P
	}
}

// WorseBy is a change of a figure with its sign turned so that above 0 is worse.
func WorseBy(figure string, change float64) float64 {
	if metric.MoreIsBetter(figure) {
		return -change
	}
	return change
}

func (m *Metric) judge(level float64) {
	margin := noChange
	switch {
	case m.Threshold != nil:
		margin = m.Threshold.Worse
	case m.figure.absolute():
		margin = noChange / 5 // 1 % of all requests if other figures may change by 5 %
	}
	m.Margin = margin
	switch {
	case m.refused != "":
		m.Verdict, m.Why = Inconclusive, m.refused
		return
	case m.P == nil:
		m.Verdict, m.Why = Inconclusive, "one pair: the spread between pairs is unknown"
	default:
		m.decide(margin, level)
	}
	if m.Verdict == Inconclusive && m.Change != nil && math.Abs(*m.Change) > margin {
		m.NeedForChange = m.need(math.Abs(m.figure.Distance(*m.Change)), level)
	}
}

func (m *Metric) decide(margin, level float64) {
	farthest := max(-m.within.Lo, m.within.Hi)
	switch m.Verdict = m.figure.Judge(*m.Change, *m.Adjusted, farthest, margin); m.Verdict {
	case Changed:
		m.Why = NoDirection
	case NoChange:
		m.NoChangeWithin = farthest
	case Inconclusive:
		m.NeedRuns = m.need(m.figure.Distance(margin), level)
		m.Why = "the interval includes 0 and more than the margin"
		assumed := []string{stats.SpreadOfMachine, stats.SpreadOfRepeats, stats.SpreadAssumed}
		if m.Spread != nil && slices.Contains(assumed, m.Spread.Source) && m.Spread.SD > 0 {
			m.Why = "too few runs to show their spread; " + m.Spread.Words()
		}
		if *m.P <= Risk {
			m.Why = fmt.Sprintf("significant alone (p=%s), but not among all gated figures (p=%s)", unit.Digits(*m.P),
				unit.Digits(*m.Adjusted))
		}
		if m.NeedRuns == 0 {
			m.Why += "; the spread is so large that a thousand runs would not decide"
		}
	}
}

const NoDirection = "neither more nor less is better" // why a figure is only Changed

const leastRuns = 3

// need is 0 if a thousand do not detect it. It exceeds the present number, which did not suffice.
func (m *Metric) need(distance, level float64) int {
	n, now := stats.RunsFor(distance, m.contrast.Spread, level, Power), min(len(m.base), len(m.changed))
	if m.Test == ByPairs {
		n, now = stats.PairsFor(distance, m.contrast.Spread, level, Power), len(m.paired[0])
	}
	if n == 0 {
		return 0
	}
	return max(n, now+1, leastRuns)
}
