package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/workload"
)

// Gate is the [gate] table: how much worse than an earlier run a figure may be. An SLO limits a figure, a
// gate its change.
type Gate struct {
	Thresholds []Threshold `json:"thresholds,omitempty"`
}

// OrDefault is the gate, or that of a matrix without [gate].
func (g Gate) OrDefault() Gate {
	if len(g.Thresholds) > 0 {
		return g
	}
	const worse = 0.05
	return Gate{[]Threshold{{"ttft_p50", worse}, {"tpot_p50", worse}, {"e2e_p50", worse},
		{"output_tokens_per_s", worse}}}
}

type Threshold struct {
	Metric string `json:"metric"` // ttft_p99, output_tokens_per_s, error_rate
	// Worse is the largest accepted change for the worse, above 0: a share of the earlier figure (0.05); of
	// a share (error_rate, answers_valid, …) the difference of the two.
	Worse float64 `json:"worse"`
}

func (t Threshold) String() string {
	sign := "+"
	if metric.MoreIsBetter(t.Metric) {
		sign = "-"
	}
	if metric.IsShare(t.Metric) {
		return fmt.Sprintf(`%s = "%s%s"`, t.Metric, sign, strconv.FormatFloat(t.Worse, 'g', -1, 64))
	}
	return fmt.Sprintf(`%s = "%s%s%%"`, t.Metric, sign, strconv.FormatFloat(math.Round(t.Worse*1e8)/1e6, 'g', -1, 64))
}

func (g *Gate) DecodeTOML(v any, bad func(key, problem, hint string)) {
	table, ok := v.(map[string]any)
	if !ok {
		bad("", "gate is a table", `write [gate] and below it ttft_p99 = "+5%"`)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		text, ok := table[key].(string)
		if !ok {
			bad(key, fmt.Sprintf("%s must be a change in quotes, not %s", key, workload.Found(table[key])), "write "+
				example(key))
			continue
		}
		t, problem, hint := ParseThreshold(key, text)
		if problem != "" {
			bad(key, problem, hint)
			continue
		}
		g.Thresholds = append(g.Thresholds, t)
	}
}

func ParseThreshold(key, change string) (t Threshold, problem, hint string) {
	if !gateable(key) {
		ofValues := metric.Names(func(m metric.Metric) bool { return m.Gated && m.Of != metric.Window })
		others := metric.Names(func(m metric.Metric) bool { return m.Gated && m.Of == metric.Window })
		return t, fmt.Sprintf("unknown gate metric %q", key), "a metric is <latency>_<statistic>, latency " +
			strings.Join(ofValues, " ") + ", statistic " + strings.Join(metric.Stats, " ") + "; or one of " +
			strings.Join(others, " ")
	}
	number, percent := strings.CutSuffix(change, "%")
	x, err := strconv.ParseFloat(number, 64)
	signed := strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
	switch {
	case err != nil || !signed || math.IsNaN(x) || math.IsInf(x, 0) || x == 0:
		return t, fmt.Sprintf("%q is not a change for the worse", change), "write " + example(key)
	case percent == metric.IsShare(key):
		unit := map[bool]string{true: "a difference of two shares",
			false: "a percentage of the earlier figure"}[percent]
		return t, fmt.Sprintf("%q: a change of %s is %s", change, key, unit), "write " + example(key)
	case x < 0 != metric.MoreIsBetter(key):
		return t, fmt.Sprintf("%q makes %s better, not worse", change, key), "write " + example(key)
	}
	if percent {
		x /= 100
	}
	if x <= -1 {
		return t, fmt.Sprintf("%s can't fall by 100 %% or more", key), "write " + example(key)
	}
	return Threshold{key, math.Abs(x)}, "", ""
}

// gateable: a metric of values needs a statistic, another has none.
func gateable(key string) bool {
	name, stat := metric.Cut(key)
	m := metric.ByName(name)
	return m.Gated && (m.Of == metric.Window) == (stat == "") && !strings.HasPrefix(key, "min_")
}

func example(key string) string {
	switch {
	case key == metric.ErrorRate:
		return key + ` = "+0.001"`
	case metric.IsShare(key):
		return key + ` = "-0.02"`
	case metric.MoreIsBetter(key):
		return key + ` = "-5%"`
	case gateable(key):
		return key + ` = "+5%"`
	}
	return `ttft_p99 = "+5%"`
}
