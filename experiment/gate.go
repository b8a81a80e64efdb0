package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Gate is the [gate] table: how much worse than an earlier run a figure may be. The SLO limits a figure by itself, the
// gate its change.
type Gate struct {
	Thresholds []Threshold `json:"thresholds,omitempty"`
}

// Threshold is one line of a gate.
type Threshold struct {
	Metric string  `json:"metric"` // ttft_p99, output_tokens_per_s, error_rate
	Worse  float64 `json:"worse"`  // the largest change for the worse: a share of the earlier figure (0.05), of error_rate the share's own change; above 0
}

// Throughputs are the figures of a whole window of which more is better.
var Throughputs = []string{"requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s", "output_tokens_per_s_per_gpu", "goodput_requests_per_s"}

// ErrorRate is the metric whose change is one of a share, not a share of it.
const ErrorRate = "error_rate"

// MoreIsBetter says which way a metric of a gate gets worse.
func MoreIsBetter(metric string) bool { return slices.Contains(Throughputs, metric) }

// String is the threshold as it is written: ttft_p99 = "+5%".
func (t Threshold) String() string {
	if t.Metric == ErrorRate {
		return fmt.Sprintf(`%s = "+%s"`, t.Metric, strconv.FormatFloat(t.Worse, 'g', -1, 64))
	}
	sign := "+"
	if MoreIsBetter(t.Metric) {
		sign = "-"
	}
	return fmt.Sprintf(`%s = "%s%s%%"`, t.Metric, sign, strconv.FormatFloat(math.Round(t.Worse*1e8)/1e6, 'g', -1, 64))
}

// DecodeTOML reads the table: metric → the largest change for the worse.
func (g *Gate) DecodeTOML(v any, bad func(key, problem, hint string)) {
	table, ok := v.(map[string]any)
	if !ok {
		bad("", "gate is a table", `write [gate] and below it ttft_p99 = "+5%"`)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		text, ok := table[key].(string)
		if !ok {
			bad(key, fmt.Sprintf("a threshold is a change in quotes, not %v", table[key]), "write "+example(key))
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

// ParseThreshold reads the threshold of one metric; problem says what is wrong with it, and is empty for a good one.
func ParseThreshold(metric, change string) (t Threshold, problem, hint string) {
	if !gateable(metric) {
		return t, fmt.Sprintf("unknown metric %q of a gate", metric),
			"a metric is <latency>_<statistic>, latency " + strings.Join(Latencies, " ") + ", statistic " + strings.Join(SLOStats, " ") +
				"; or one of " + strings.Join(Throughputs, " ") + " " + ErrorRate
	}
	number, percent := strings.CutSuffix(change, "%")
	x, err := strconv.ParseFloat(number, 64)
	signed := strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
	switch {
	case err != nil || !signed || math.IsNaN(x) || math.IsInf(x, 0) || x == 0:
		return t, fmt.Sprintf("%q is no change for the worse", change), "write " + example(metric)
	case percent == (metric == ErrorRate):
		return t, fmt.Sprintf("%q is no change of %s", change, metric), "write " + example(metric) + map[bool]string{true: ": a tenth of a percent of the requests", false: ": a part of the earlier figure"}[metric == ErrorRate]
	case x < 0 != MoreIsBetter(metric):
		return t, fmt.Sprintf("%s gets worse the other way than %q", metric, change), "write " + example(metric)
	}
	if percent {
		x /= 100
	}
	if x <= -1 {
		return t, fmt.Sprintf("%s can't fall by more than it is", metric), "write " + example(metric)
	}
	return Threshold{metric, math.Abs(x)}, "", ""
}

func gateable(metric string) bool {
	name, stat, ok := cutStat(metric)
	return metric == ErrorRate || MoreIsBetter(metric) || ok && slices.Contains(Latencies, name) && slices.Contains(SLOStats, stat)
}

func example(metric string) string {
	switch {
	case metric == ErrorRate:
		return metric + ` = "+0.001"`
	case MoreIsBetter(metric):
		return metric + ` = "-5%"`
	case gateable(metric):
		return metric + ` = "+5%"`
	}
	return `ttft_p99 = "+5%"`
}
