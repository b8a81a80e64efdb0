package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

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
	return Gate{[]Threshold{{"ttft_p50", worse}, {"tpot_p50", worse}, {"e2e_p50", worse}, {"output_tokens_per_s", worse}}}
}

type Threshold struct {
	Metric string `json:"metric"` // ttft_p99, output_tokens_per_s, error_rate
	// Worse is the largest accepted change for the worse, above 0: a share of the earlier figure (0.05); of
	// a share (error_rate, answers_valid, …) the difference of the two.
	Worse float64 `json:"worse"`
}

// Throughputs are the metrics of a gate for which more is better.
var Throughputs = []string{
	"requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s", "output_tokens_per_s_per_gpu", "goodput_requests_per_s",
}

// Metrics of a gate beside latencies and throughputs.
const (
	ErrorRate        = "error_rate"
	AnswersValid     = "answers_valid"
	AnswersCorrect   = "answers_correct"
	AcceptanceRate   = "acceptance_rate"
	AcceptanceLength = "acceptance_length"
	TokensPerStep    = "tokens_per_step"
	Interactivity    = "e2e_interactivity"
	SessionTime      = "session_time" // with a statistic
)

// ofSomeRows are the metrics of rows with sessions, checked answers or drafts for which more is better.
var ofSomeRows = []string{Interactivity, AnswersValid, AnswersCorrect, AcceptanceRate, AcceptanceLength, TokensPerStep}

// MoreIsBetter reports whether a metric of a gate gets worse when it falls.
func MoreIsBetter(metric string) bool {
	return slices.Contains(Throughputs, metric) || slices.Contains(ofSomeRows, metric)
}

func IsShare(metric string) bool {
	return slices.Contains([]string{ErrorRate, AnswersValid, AnswersCorrect, AcceptanceRate}, metric)
}

func (t Threshold) String() string {
	sign := "+"
	if MoreIsBetter(t.Metric) {
		sign = "-"
	}
	if IsShare(t.Metric) {
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
			bad(key, fmt.Sprintf("%s must be a change in quotes, not %s", key, workload.Found(table[key])), "write "+example(key))
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

func ParseThreshold(metric, change string) (t Threshold, problem, hint string) {
	if !gateable(metric) {
		return t, fmt.Sprintf("unknown gate metric %q", metric),
			"a metric is <latency>_<statistic>, latency " + strings.Join(Latencies, " ") + " " + SessionTime + ", statistic " + strings.Join(SLOStats, " ") +
				"; or one of " + strings.Join(slices.Concat(Throughputs, []string{ErrorRate}, ofSomeRows), " ")
	}
	number, percent := strings.CutSuffix(change, "%")
	x, err := strconv.ParseFloat(number, 64)
	signed := strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
	switch {
	case err != nil || !signed || math.IsNaN(x) || math.IsInf(x, 0) || x == 0:
		return t, fmt.Sprintf("%q is not a change for the worse", change), "write " + example(metric)
	case percent == IsShare(metric):
		unit := map[bool]string{true: "a difference of two shares", false: "a percentage of the earlier figure"}[percent]
		return t, fmt.Sprintf("%q: a change of %s is %s", change, metric, unit), "write " + example(metric)
	case x < 0 != MoreIsBetter(metric):
		return t, fmt.Sprintf("%q makes %s better, not worse", change, metric), "write " + example(metric)
	}
	if percent {
		x /= 100
	}
	if x <= -1 {
		return t, fmt.Sprintf("%s can't fall by 100 %% or more", metric), "write " + example(metric)
	}
	return Threshold{metric, math.Abs(x)}, "", ""
}

func gateable(metric string) bool {
	name, stat, ok := cutStat(metric)
	return metric == ErrorRate || MoreIsBetter(metric) || ok && (name == SessionTime || slices.Contains(Latencies, name)) && slices.Contains(SLOStats, stat)
}

func example(metric string) string {
	switch {
	case metric == ErrorRate:
		return metric + ` = "+0.001"`
	case IsShare(metric):
		return metric + ` = "-0.02"`
	case MoreIsBetter(metric):
		return metric + ` = "-5%"`
	case gateable(metric):
		return metric + ` = "+5%"`
	}
	return `ttft_p99 = "+5%"`
}
