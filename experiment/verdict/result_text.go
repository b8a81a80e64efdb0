package verdict

import (
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// ResultText is a limit with what was measured, without its class: "TTFT p95 120 ms [100, 150] ≤ 300 ms PASS".
func ResultText(v *record.Verdict) string {
	value := "not measured"
	if v.Value != nil {
		value = strings.TrimSuffix(measuredFigure(*v.Value, v.Unit), PerMillion)
	}
	if v.Value != nil && v.Interval != nil && v.Unit == "ms" {
		quoted := record.Percentile{Repeats: record.Repeats{Median: *v.Value}, CI95: *v.Interval}
		value = strings.TrimSpace(value + " " + quoted.Within())
	}
	name, sign := LimitName(v.Metric, ""), "≤"
	if atLeast(*v) {
		sign = "≥"
	}
	open := ""
	if v.Verdict == stats.Undecided {
		if why := slices.DeleteFunc([]string{Lean(v), NeedText(v)},
			func(s string) bool { return s == "" }); len(why) > 0 {
			open = " (" + strings.Join(why, ", ") + ")"
		}
	}
	return strings.Join([]string{name, value, sign, limitFigure(v.Limit, v.Unit), string(v.Verdict)}, " ") + open
}
