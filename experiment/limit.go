package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment/metric"
	"bench/experiment/text"
	"bench/experiment/workload"
)

func parseLimit(key string, v any, bad func(problem, hint string)) (Limit, bool) {
	if m, ok := single[key]; ok {
		most, example := math.MaxFloat64, "2.0"
		if m.IsShare() {
			most, example = 1, "0.001"
		}
		x, ok := workload.Number(v)
		if !ok || !(x >= 0 && x <= most) { // refuses TOML's nan and inf
			wanted := map[bool]string{true: "a share from 0 to 1", false: "a number from 0"}[m.IsShare()]
			bad(fmt.Sprintf("%s is %s, not %s", key, wanted, workload.Found(v)), "write a number, such as "+key+" = "+
				example)
			return Limit{}, false
		}
		return Limit{Key: key, Metric: key, Value: x, Unit: m.Unit}, true
	}
	if key == minInteractivity {
		return parseInteractivity(v, bad)
	}
	name, stat := metric.Cut(key)
	if stat == "" || name != metric.E2EPerToken && !metric.IsLatency(name) || strings.HasPrefix(key, "min_") {
		bad(fmt.Sprintf("unknown limit %q", key), limitHint(key))
		return Limit{}, false
	}
	if key == "itl_mean" {
		bad("itl_mean can't be a limit: the gaps of one request depend on each other", "limit tpot_mean or itl_p95")
		return Limit{}, false
	}
	ms, ok := milliseconds(key, v, bad)
	return Limit{Key: key, Metric: name, Stat: string(stat), Value: ms, Unit: "ms"}, ok
}

// parseInteractivity reads a minimum of output tokens per second that nine of ten requests must have.
func parseInteractivity(v any, bad func(problem, hint string)) (Limit, bool) {
	const msPerS, most = 1e3, 1e6
	x, ok := workload.Number(v)
	if !ok || !(x > 0 && x <= most) {
		bad(fmt.Sprintf("%s is a number of tokens/s above 0, not %s", minInteractivity, workload.Found(v)), "write "+
			minInteractivity+" = 30")
		return Limit{}, false
	}
	return Limit{Key: metric.E2EPerToken + "_p90", Metric: metric.E2EPerToken, Stat: "p90", Value: msPerS / x,
		Unit: "ms"}, true
}

func limitHint(key string) string {
	if metric.IsLatency(key) {
		return fmt.Sprintf("write %s_p95, or another of %s", key, strings.Join(metric.Stats, " "))
	}
	if key == "goodput" {
		return `write [slo.each] and below it ttft = "1s", tpot = "40ms"; min_goodput_requests_per_s is the least rate of requests within them`
	}
	name, stat, _ := cutStat(key) // which may be misspelt
	if metric.IsLatency(name) {
		if meant, ok := text.Slip(stat, metric.Percentiles); ok {
			return fmt.Sprintf("did you mean %q?", name+"_"+meant)
		}
		return fmt.Sprintf("the statistics of %s are %s", name, strings.Join(metric.Stats, " "))
	}
	if meant, ok := text.Nearest(name, metric.Latencies); ok && slices.Contains(metric.Stats, stat) {
		return fmt.Sprintf("did you mean %q?", meant+"_"+stat)
	}
	others := append(slices.Sorted(maps.Keys(single)), minInteractivity)
	if meant, ok := text.Nearest(key, others); ok {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	if strings.HasPrefix(key, "min_") {
		return "the minima are " + strings.Join(slices.DeleteFunc(others,
			func(k string) bool { return !strings.HasPrefix(k, "min_") }), " ")
	}
	return "a limit is <metric>_<statistic>, metric " + strings.Join(metric.Latencies, " ") + ", statistic " +
		strings.Join(metric.Stats, " ") +
		"; or one of " + strings.Join(others, " ")
}

func cutStat(key string) (metric, stat string, ok bool) {
	i := strings.LastIndexByte(key, '_')
	if i < 0 {
		return "", "", false
	}
	return key[:i], key[i+1:], true
}

// usualLimit is a value to copy: a limit of TPOT is not that of TTFT.
func usualLimit(key string) string {
	switch name, _, _ := strings.Cut(key, "_"); name {
	case metric.TPOT, metric.ITL:
		return "40ms"
	case metric.E2E:
		return "10s"
	}
	return "800ms"
}

func milliseconds(key string, v any, bad func(problem, hint string)) (float64, bool) {
	hint := fmt.Sprintf("write %s = %q", key, usualLimit(key))
	switch x := v.(type) {
	case string:
		d, err := time.ParseDuration(x)
		if err == nil && d > 0 {
			return float64(d) / float64(time.Millisecond), true
		}
		bad(fmt.Sprintf("%q is not a positive duration", x), hint)
	case map[string]any: // key.9 = …
		for _, inner := range slices.Sorted(maps.Keys(x)) {
			bad(fmt.Sprintf("%s.%s is not a limit: in TOML the dot makes a table", key, inner),
				"the statistics are "+strings.Join(metric.Stats, " "))
		}
	case int64:
		if x > 0 {
			hint = fmt.Sprintf(`write %s = "%dms"`, key, x)
		}
		bad(fmt.Sprintf("a latency limit needs a unit: %d is not a duration", x), hint)
	default:
		bad("a latency limit must be a duration, not "+workload.Found(v), hint)
	}
	return 0, false
}
