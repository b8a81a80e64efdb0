package report

import (
	"cmp"
	"regexp"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/report/compare"
)

// excess is the change over the gate's threshold, else over the smallest change that matters; below 0: better.
func (l *ForestLine) excess() float64 { return l.At / cmp.Or(l.Limit, l.Metric.Margin, 1) }

// lean is the probability that the figure is worse, or better, as it seems: one-sided.
func (l *ForestLine) lean() float64 {
	if l.At == 0 {
		return 0
	}
	return 1 - l.chance/2
}

func (l *ForestLine) leans() bool { return l.lean() >= verdict.Leaning }

func (l *ForestLine) leanText() string {
	switch {
	case !l.leans():
		return "no lean"
	case l.At > 0:
		return "likely worse (" + verdict.Probability(l.lean()) + ")"
	}
	return "likely better (" + verdict.Probability(l.lean()) + ")"
}

// Verdict is "worse", "no change", or the lean of what is inconclusive: "likely worse (p = 0.97)".
func (l *ForestLine) Verdict() string {
	if l.Mark == MarkInconclusive {
		return l.leanText()
	}
	return string(l.Mark)
}

// values is "10.0 → 10.8 ms, +8.0 % [-0.2, +16.8]".
func (l *ForestLine) values() string {
	base, changed := Quantity(*l.Metric.Base, l.Metric.Unit), Quantity(*l.Metric.New, l.Metric.Unit)
	if number, of, _ := strings.Cut(base, " "); strings.HasSuffix(changed, " "+of) {
		base = number
	}
	return base + " → " + changed + ", " + l.Change
}

// deciders is "3 runs a side decide", or why more runs decide nothing; empty: it is decided.
func deciders(m *compare.Metric) string {
	if n := needed(m); n > 0 {
		return strings.Replace(m.Needed(n), " per side", " a side", 1) + " decide"
	}
	if m.Verdict == compare.Inconclusive {
		return m.Why
	}
	return ""
}

var axes = regexp.MustCompile(`^(.+?)((?: [a-z0-9_.]+=\S+)+)( \(class .+\))?$`)

// PointWords is "chat at concurrency 4" for "chat concurrency=4".
func PointWords(name string) string {
	m := axes.FindStringSubmatch(name)
	if m == nil {
		return name
	}
	values := strings.Fields(m[2])
	for i, v := range values {
		values[i] = strings.Replace(v, "=", " ", 1)
	}
	return m[1] + " at " + strings.Join(values, ", ") + m[3]
}

// sinceText is the first night with the case; of a new regression that of the new run.
func sinceText(c *compare.Comparison, x compare.Case) string {
	at := x.SinceAt
	switch n := len(c.NewRuns); {
	case at.IsZero() && x.Since != "":
		return " since " + x.Since
	case at.IsZero() && x.Verdict == stats.Fail && n > 0:
		at = c.NewRuns[n-1].StartedAt
	}
	if at.IsZero() {
		return ""
	}
	return " since " + at.UTC().Format("2 Jan")
}
