package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/report/compare"
)

var figureWords = map[string]string{
	"requests_per_s":              "requests/s",
	"output_tokens_per_s":         "output tok/s",
	"prompt_tokens_per_s":         "prompt tok/s",
	"output_tokens_per_s_per_gpu": "output tok/s/GPU",
	"goodput_requests_per_s":      "goodput requests/s",
	experiment.AnswersValid:       "valid answers",
	experiment.AnswersCorrect:     "correct answers",
}

// FigureWords is a figure of a comparison for people: "TPOT p50", "output tok/s".
func FigureWords(name string) string { return cmp.Or(figureWords[name], MetricName(name)) }

func metricWords(name string) string {
	if i := strings.LastIndexByte(name, '_'); i > 0 && slices.Contains(experiment.SLOStats, name[i+1:]) {
		name = name[:i]
	}
	return FigureWords(name)
}

// changeText is "+5.1 % [+3.9, +6.3]"; of a figure that was not tested the raw change, with "~" if n is too small.
func changeText(m *compare.Metric) string {
	switch {
	case m.Change != nil:
		return signed(m, *m.Change) + " " + withinText(m.CI95)
	case m.RawChange != nil:
		return rawMark(m) + signed(m, *m.RawChange)
	}
	return "–"
}

// signed is a change with its sign and unit: "+5.1 %"; of a share "+0.5 points".
func signed(m *compare.Metric, change float64) string {
	if experiment.IsShare(m.Name) {
		return percentDigits(change) + " points"
	}
	return percentDigits(change) + " %"
}

func withinText(x stats.Interval) string {
	return "[" + percentDigits(x.Lo) + ", " + percentDigits(x.Hi) + "]"
}

func percentDigits(share float64) string {
	x := 100 * share
	if math.IsInf(x, 0) {
		return "–"
	}
	decimals := 1
	switch size := math.Abs(x); {
	case size >= 99.95:
		decimals = 0
	case size < 0.995:
		decimals = 2
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	if x > 0 {
		return "+" + text
	}
	return text
}
