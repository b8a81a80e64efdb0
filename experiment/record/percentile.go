package record

import (
	"math"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Repeats is one figure of a point: its value in each repeat that has it, their median and their spread.
type Repeats struct {
	Values []float64     `json:"values"`
	Median float64       `json:"median"`
	Spread *stats.Spread `json:"spread,omitempty"` // absent = one repeat
}

type Percentile struct {
	Name string `json:"name"` // p50 … p999
	Repeats
	CI95  stats.Interval `json:"ci95"`  // from the lowest to the highest end of the repeats' intervals
	N     int            `json:"n"`     // requests of the repeat with the fewest
	Grade stats.Grade    `json:"grade"` // the worst of the repeats
}

type Percentiles []Percentile

func (ps Percentiles) Get(name string) (Percentile, bool) {
	i := slices.IndexFunc(ps, func(p Percentile) bool { return p.Name == name })
	if i < 0 {
		return Percentile{}, false
	}
	return ps[i], true
}

func RepeatsOf(values []float64) Repeats {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return Repeats{}
	}
	return Repeats{Values: values, Median: stats.Quantile(sorted, 0.5), Spread: stats.SpreadOf(values)}
}

// PercentilesOf takes each percentile from each repeat. Pooled requests would hide the difference between repeats.
func PercentilesOf(samples ...*stats.Summary) Percentiles {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s *stats.Summary) bool { return s == nil })
	if len(samples) == 0 {
		return nil
	}
	var ps Percentiles
	for _, name := range metric.Percentiles {
		p := Percentile{Name: name, N: math.MaxInt, CI95: stats.Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}}
		var values []float64
		for _, s := range samples {
			x, _ := s.Get(name)
			if math.IsNaN(x) { // results of other tools can lack it
				continue
			}
			values = append(values, x)
			ci, ok := s.CI95[name]
			if !ok {
				ci = stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
			}
			p.N, p.Grade = min(p.N, s.N), p.Grade.Worst(s.Grade(name))
			p.CI95.Lo, p.CI95.Hi = min(p.CI95.Lo, ci.Lo), max(p.CI95.Hi, ci.Hi)
		}
		p.Repeats = RepeatsOf(values)
		if len(values) > 0 {
			ps = append(ps, p)
		}
	}
	return ps
}

// Mark is how to quote the percentile: without a mark; "~" if the sample is thin; "≥" with the lower end of
// its interval if n is too small for an upper end. ok is false if n is too small for both.
func (p Percentile) Mark() (mark string, ms float64, ok bool) {
	switch {
	case p.Grade == stats.Sound:
		return "", p.Median, true
	case p.Grade == stats.Thin:
		return "~", p.Median, true
	}
	return "≥", p.CI95.Lo, !math.IsInf(p.CI95.Lo, 0)
}

func (p Percentile) String() string { return p.value() + p.sample() }

func (p Percentile) WithIntervalAndN() string { return p.quoted() + p.sample() }

// WithInterval is the percentile with its interval, "127 ms [120, 141]", or with what an interval needs: "≥127 ms (368
// needed)".
func (p Percentile) WithInterval() string {
	if p.Grade == stats.NoBound {
		return p.value() + " (" + p.needed() + ")"
	}
	return p.quoted()
}

func (p Percentile) needed() string { return unit.Count(stats.NeededFor(p.Name)) + " needed" }

func (p Percentile) quoted() string {
	text := p.value()
	if within := p.Within(); within != "" && p.Grade != stats.NoBound { // ≥ is the interval
		text += " " + within
	}
	return text
}

func (p Percentile) value() string {
	mark, ms, ok := p.Mark()
	if !ok {
		return "unknown"
	}
	return mark + unit.Format(ms, "ms")
}

func (p Percentile) sample() string {
	switch n := unit.Count(p.N); p.Grade {
	case stats.Sound:
		return " (n=" + n + ")"
	case stats.Thin:
		return " (n=" + n + ": thin)"
	default:
		return " (n=" + n + ", " + p.needed() + ")"
	}
}

// Within is the 95 % interval in the unit that Format gives the percentile: "[760, 910]", with a dash for an
// unbounded end; empty if both are unbounded.
func (p Percentile) Within() string {
	lo, hi := p.CI95.Lo, p.CI95.Hi
	if math.IsInf(lo, 0) && math.IsInf(hi, 0) {
		return ""
	}
	scale := unit.Scale(p.Median, "ms")
	end := func(x float64) string {
		if math.IsInf(x, 0) {
			return "–"
		}
		return unit.Digits(x * scale)
	}
	return "[" + end(lo) + ", " + end(hi) + "]"
}
