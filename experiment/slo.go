package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/workload"
)

type SLO struct {
	Limits []Limit `json:"limits,omitempty"`
	Each   []Limit `json:"each,omitempty"` // limits of a single request, for goodput
	// Confidence of the intervals that decide; 0 = DefaultConfidence, and 0.99 of MLPerf's limits.
	Confidence float64 `json:"confidence,omitempty"`
}

const DefaultConfidence = 0.95

func (c SLO) At() float64 { return cmp.Or(c.Confidence, DefaultConfidence) }

type Limit struct {
	Key    string  `json:"key"`            // as written: ttft_p95, min_requests_per_s, error_rate
	Metric string  `json:"metric"`         // ttft, tpot, …; without a statistic the whole key
	Stat   string  `json:"stat,omitempty"` // p50 … p999, mean; empty = none
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"` // ms, share, 1/s, tokens/s, usd, J, tokens/J
}

// ofOne are the latencies that [slo.each] can limit.
var ofOne = metric.Names(func(m metric.Metric) bool { return m.OfOne })

// single are the limits without a statistic, by their keys.
var single = func() map[string]metric.Metric {
	out := map[string]metric.Metric{}
	for _, m := range metric.All {
		if m.Limited {
			out[m.Key()] = m
		}
	}
	return out
}()

// minInteractivity is another way to write the limit e2e_per_token_p90: its reciprocal, in tokens per second.
const minInteractivity = "min_e2e_interactivity"

func (l Limit) NeedsStream() bool {
	return metric.ByName(l.Metric).Streamed
}

func (l Limit) EasierByLoad() bool {
	return strings.HasPrefix(l.Key, "min_") || metric.PerToken(l.Key)
}

func (l Limit) OfRequests() bool { return l.Stat != "" || l.Metric == "error_rate" }

func (l Limit) P() (p float64, ok bool) {
	return metric.Stat(l.Stat).P()
}

func (l Limit) String() string {
	sign := "≤"
	if strings.HasPrefix(l.Key, "min_") {
		sign = "≥"
	}
	return fmt.Sprintf("%s %s %s %s", l.Key, sign, strconv.FormatFloat(l.Value, 'f', -1, 64), l.Unit)
}

func (c SLO) All() []Limit { return append(slices.Clone(c.Limits), c.Each...) }

func (c *SLO) DecodeTOML(v any, bad func(key, problem, hint string)) {
	table, ok := v.(map[string]any)
	if !ok {
		bad("", "slo must be a table", `write [slo] and below it ttft_p95 = "1s"`)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if key == "each" {
			c.decodeEach(table[key], bad)
			continue
		}
		if key == "mlperf" {
			c.decodePreset(table[key], table, bad)
			continue
		}
		if key == "confidence" {
			c.decodeConfidence(table[key], bad)
			continue
		}
		if l, ok := parseLimit(key, table[key], func(p, h string) { bad(key, p, h) }); ok {
			c.Limits = append(c.Limits, l)
		}
	}
}

func (c *SLO) decodeConfidence(v any, bad func(key, problem, hint string)) {
	x, ok := v.(float64)
	if !ok || !(x >= 0.5 && x <= 0.9999) { // NaN is neither
		bad("confidence", fmt.Sprintf("confidence must be a number from 0.5 to 0.9999, not %s", workload.Found(v)),
			"write confidence = 0.95, or leave it out")
		return
	}
	c.Confidence = x
}

func (c *SLO) decodeEach(v any, bad func(key, problem, hint string)) {
	table, ok := v.(map[string]any)
	if !ok {
		bad("each", "each must be a table of per-request limits", `write [slo.each] and below it ttft = "1s"`)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		l := Limit{Key: key, Metric: key, Unit: "ms"}
		if !slices.Contains(ofOne, key) {
			bad("each."+key, fmt.Sprintf("%q is not a per-request metric", key), "use ttft, ttfo, tpot or e2e")
			continue
		}
		if ms, ok := milliseconds(key, table[key], func(p, h string) { bad("each."+key, p, h) }); ok {
			l.Value = ms
			c.Each = append(c.Each, l)
		}
	}
}

// PerRequest are the limits that a request must meet to count as goodput: [slo.each], else the largest limit
// of each per-request metric in the SLO.
func (c SLO) PerRequest() []Limit {
	if len(c.Each) > 0 {
		return c.Each
	}
	var each []Limit
	for _, name := range ofOne {
		largest := 0.0
		for _, l := range c.Limits {
			if l.Metric == name {
				largest = max(largest, l.Value)
			}
		}
		if largest > 0 {
			each = append(each, Limit{Key: name, Metric: name, Value: largest, Unit: "ms"})
		}
	}
	return each
}

func (c SLO) With(own SLO) SLO {
	return SLO{Limits: override(c.Limits, own.Limits), Each: override(c.Each, own.Each),
		Confidence: cmp.Or(own.Confidence, c.Confidence)}
}

// forClass: a class inherits no limit on a throughput, price or energy, which are figures of the whole row.
func (c SLO) forClass(own SLO) SLO {
	inherited := SLO{Each: c.Each}
	for _, l := range c.Limits {
		if l.OfRequests() {
			inherited.Limits = append(inherited.Limits, l)
		}
	}
	return inherited.With(own)
}

func override(base, own []Limit) []Limit {
	out := slices.Clone(own)
	for _, l := range base {
		if !slices.ContainsFunc(own, func(o Limit) bool { return o.Key == l.Key }) {
			out = append(out, l)
		}
	}
	return out
}

func (s *Spec) ClassOverrides(class, key string) bool {
	for _, c := range s.Mix {
		if _, own := c.SLO[key]; own && c.Name == class {
			return true
		}
	}
	return false
}

func (s *Spec) HasLimits() bool {
	return len(s.SLO.Limits) > 0 || slices.ContainsFunc(s.Mix, func(c workload.Class) bool { return len(c.SLO) > 0 })
}

func (s *Spec) LimitsMetric(metric string) bool {
	limits := func(c SLO) bool {
		return slices.ContainsFunc(c.All(), func(l Limit) bool { return l.Metric == metric })
	}
	return limits(s.SLO) || slices.ContainsFunc(s.Mix, func(c workload.Class) bool {
		return len(c.SLO) > 0 && limits(s.ClassSLO(c))
	})
}

func (s *Spec) EveryClassOverrides(key string) bool {
	return len(s.Mix) > 0 && !slices.ContainsFunc(s.Mix,
		func(c workload.Class) bool { return !s.ClassOverrides(c.Name, key) })
}

func (s *Spec) ClassSLO(c workload.Class) SLO {
	var own SLO
	if c.SLO != nil {
		own.DecodeTOML(c.SLO, func(_, _, _ string) {}) // checked with the matrix
	}
	return s.SLO.forClass(own)
}
