package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// TextOfLimit is a limit for people: "TTFT p95 ≤ 500 ms", "output tok/s ≥ 50", "≤ 2 USD per million output tokens".
func TextOfLimit(key, class string, limit float64, u string) string {
	sign := signOf(key)
	if u == "usd" {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", sign, limitFigure(limit, u), inClass(class)))
	}
	return fmt.Sprintf("%s %s %s", LimitName(key, class), sign, limitFigure(limit, u))
}

func signOf(key string) string {
	if strings.HasPrefix(key, "min_") {
		return "≥"
	}
	return "≤"
}

func LimitText(v *record.Verdict) string { return TextOfLimit(v.Metric, v.Class, v.Limit, v.Unit) }

func LimitName(key, class string) string {
	return strings.TrimSpace(strings.Replace(metric.Words(key), "requests/s", "req/s", 1) + " " + inClass(class))
}

func inClass(class string) string {
	if class == "" {
		return ""
	}
	return "(class " + class + ")"
}

func limitFigure(x float64, u string) string {
	if u == "usd" {
		return unit.Brief(x, 6) + PerMillion
	}
	return unit.Exactly(x, unitWords(u))
}

func measuredFigure(v *record.Verdict) string {
	if v.Unit == "usd" {
		return unit.Digits(*v.Value)
	}
	return unit.Format(*v.Value, unitWords(v.Unit))
}

const PerMillion = " USD per million output tokens"

// unitWords is the unit of a verdict for people; a throughput has it in its name.
func unitWords(u string) string {
	if u == "1/s" || u == "tokens/s" || u == "tokens/J" {
		return ""
	}
	return u
}

func Beyond(v *record.Verdict) bool {
	if v.Value == nil {
		return false
	}
	if atLeast(*v) {
		return *v.Value < v.Limit
	}
	return *v.Value > v.Limit
}

// MissText states a missed limit: "TTFT p95 2.04 s > 500 ms". Without such a value the reason stands in its place.
func MissText(v *record.Verdict) string {
	if !Beyond(v) {
		why := v.Why
		if _, reason, ok := strings.Cut(why, "; "); ok && v.Value != nil { // the count before it explains nothing
			why = reason
		}
		return LimitName(v.Metric, v.Class) + ": " + strings.NewReplacer(" (", ", ", ")", "").Replace(why)
	}
	sign := ">"
	if atLeast(*v) {
		sign = "<"
	}
	return fmt.Sprintf("%s %s %s %s", LimitName(v.Metric, v.Class), measuredFigure(v), sign,
		limitFigure(v.Limit, v.Unit))
}

// ResultText is a limit with what was measured, without its class: "TTFT p95 120 ms [100, 150] ≤ 300 ms PASS".
func ResultText(v *record.Verdict) string {
	value := "not measured"
	switch {
	case v.Value != nil:
		value = measuredFigure(v)
	case v.Interval != nil:
		value = "∞" // so many requests failed
	}
	if v.Value != nil && v.Interval != nil && v.Unit == "ms" {
		quoted := record.Percentile{Repeats: record.Repeats{Median: *v.Value}, CI95: *v.Interval}
		value = strings.TrimSpace(value + " " + quoted.Within())
	}
	open := ""
	if why := opening(v); v.Verdict == stats.Undecided && why != "" {
		open = " (" + why + ")"
	}
	by := "" // as in the table of points
	switch {
	case v.Twin:
		by = " (twin)"
	case v.Higher > 0:
		by = " ↑"
	}
	return strings.Join([]string{LimitName(v.Metric, ""), value, signOf(v.Metric), limitFigure(v.Limit, v.Unit),
		string(v.Verdict)}, " ") + by + open
}

// opening is how an open verdict leans, and what decides it; empty if nothing is known of either.
func opening(v *record.Verdict) string {
	known := slices.DeleteFunc([]string{Lean(v), needText(v)}, func(s string) bool { return s == "" })
	return strings.Join(known, ", ")
}

// Deciding returns the limit that keeps the rows from a PASS: the most exceeded, one that a finding leaves open, or the
// one with the largest need.
func Deciding(rows ...*record.Row) (v record.Verdict, ok bool) {
	overall, _ := OfRows(rows...)
	if overall != stats.Fail && overall != stats.Undecided {
		return v, false
	}
	for c := range standing(rows) {
		if c.Verdict == stats.Pass || (c.Verdict == stats.Fail) != (overall == stats.Fail) {
			continue
		}
		opened := cmp.Compare(min(1, len(c.OpenedBy)), min(1, len(v.OpenedBy)))
		if !ok || cmp.Or(opened, cmp.Compare(c.Need, v.Need), cmp.Compare(excess(c), excess(v))) > 0 {
			v, ok = c, true
		}
	}
	return v, ok
}

// needText is what decides a limit: "needs 90 s more at this load"; empty if nothing is known to.
func needText(v *record.Verdict) string {
	switch {
	case v.Need <= 0:
		return ""
	case v.NeedS > 0:
		return "needs " + unit.Format(v.NeedS, "s") + " more at this load"
	}
	return "needs " + unit.Count(v.Need) + " more requests"
}

func excess(v record.Verdict) float64 {
	switch {
	case v.Value == nil:
		return math.Inf(1)
	case atLeast(v):
		return v.Limit / *v.Value
	}
	return *v.Value / v.Limit
}

func atLeast(v record.Verdict) bool { return strings.HasPrefix(v.Metric, "min_") }

func ShortReason(v record.Verdict) string {
	switch {
	case v.Verdict == stats.Fail && Beyond(&v):
		_, look, _ := strings.Cut(v.Why, atLook)
		_, after, _ := strings.Cut(look, ", ")
		return strings.TrimSpace(MissText(&v) + " " + after)
	case v.Verdict == stats.Fail:
		return MissText(&v)
	}
	return LimitName(v.Metric, v.Class) + " " + cmp.Or(opening(&v), "undecided")
}

// EachLimit is the verdict on each limit over several rows, in the order of the SLO: that of the row that is worst.
func EachLimit(rows ...*record.Row) []record.Verdict {
	var out []record.Verdict
	order := []stats.Verdict{stats.Pass, stats.Undecided, stats.Fail}
	for c := range standing(rows) {
		i := slices.IndexFunc(out, func(v record.Verdict) bool { return v.Metric == c.Metric && v.Class == c.Class })
		switch {
		case i < 0:
			out = append(out, c)
		case cmp.Or(cmp.Compare(slices.Index(order, c.Verdict), slices.Index(order, out[i].Verdict)),
			cmp.Compare(excess(c), excess(out[i]))) > 0:
			out[i] = c
		}
	}
	return out
}

// nameLimits adds to each caution the limits on what it touches. A PASS or a FAIL holds at both ends of its effects.
func (e *Measured) nameLimits() {
	for i := range e.Findings {
		f := &e.Findings[i]
		if f.Severity != record.Caution {
			continue
		}
		if text := limitsText(f, e.SLO); text != "" {
			f.Text += "; " + text
		}
	}
}

func limitsText(f *record.Finding, verdicts []record.Verdict) string {
	var touched, open []string // limits, keys
	undecided := false
	for _, v := range verdicts {
		if !f.Touches(record.TouchedMetric(v.Metric)) {
			continue
		}
		name := strings.TrimSpace(v.Class + " " + v.Metric)
		touched = append(touched, fmt.Sprintf("%s limit %s", name, unit.Exactly(v.Limit, v.Unit)))
		if v.Verdict == stats.Undecided {
			undecided = true
			if v.WasOpenedBy(f) {
				open = append(open, name)
			}
		}
	}
	switch {
	case len(open) > 0:
		return strings.Join(open, ", ") + " UNDECIDED because of it"
	case len(touched) == 0:
		return ""
	case undecided:
		return "can affect " + strings.Join(touched, ", ")
	case len(touched) == 1:
		return touched[0] + ": verdict unaffected"
	}
	return strings.Join(touched, ", ") + ": verdicts unaffected"
}
