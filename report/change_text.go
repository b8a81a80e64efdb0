package report

import (
	"math"
	"strconv"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/report/compare"
)

func metricWords(key string) string {
	name, _ := metric.Cut(key)
	return metric.Words(name)
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
	if metric.IsShare(m.Name) {
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
