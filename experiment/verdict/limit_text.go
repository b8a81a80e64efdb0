package verdict

import (
	"fmt"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/unit"
)

// TextOfLimit is a limit for people: "TTFT p95 ≤ 500 ms", "output tok/s ≥ 50", "≤ 2 USD per million output tokens".
func TextOfLimit(key, class string, limit float64, u string) string {
	sign := "≤"
	if strings.HasPrefix(key, "min_") {
		sign = "≥"
	}
	if u == "usd" {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", sign, limitFigure(limit, u), inClass(class)))
	}
	return fmt.Sprintf("%s %s %s", LimitName(key, class), sign, limitFigure(limit, u))
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

func measuredFigure(x float64, u string) string {
	if u == "usd" {
		return unit.Digits(x) + PerMillion
	}
	return unit.Format(x, unitWords(u))
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
	measured := strings.TrimSuffix(measuredFigure(*v.Value, v.Unit), PerMillion)
	return fmt.Sprintf("%s %s %s %s", LimitName(v.Metric, v.Class), measured, sign, limitFigure(v.Limit, v.Unit))
}
