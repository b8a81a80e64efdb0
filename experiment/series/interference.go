package series

import (
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Interference is how much later the 99th percentile of a class comes in the mix than alone.
type Interference struct {
	Name   string            `json:"name"`           // the row's
	Point  []experiment.Axis `json:"axes,omitempty"` // of the mix
	Class  string            `json:"class"`
	Metric string            `json:"metric"` // ttft, tpot, e2e

	Alone        float64        `json:"alone_p99_ms"` // medians over the repeats
	Together     float64        `json:"together_p99_ms"`
	DifferenceMs float64        `json:"difference_ms"`
	CI95         stats.Interval `json:"ci95_ms"` // of the difference; an end is null where either p99 has none
}

// InterferenceOf compares each class that ran alone with itself in the mix.
func InterferenceOf(rows []record.Row) []Interference {
	mixed, alone := map[string][]*record.Row{}, map[string][]*record.Row{}
	var order []string
	for i := range rows {
		r := &rows[i]
		point := slices.DeleteFunc(slices.Clone(r.Spec.Point), func(a experiment.Axis) bool { return r.Spec.Alone != "" && a.Key == "alone" })
		key := fmt.Sprintf("%q %q", r.Spec.Name, point)
		if r.Spec.Alone == "" {
			mixed[key] = append(mixed[key], r)
			continue
		}
		own := key + r.Spec.Alone
		if alone[own] == nil {
			order = append(order, key+"\x00"+r.Spec.Alone)
		}
		alone[own] = append(alone[own], r)
	}
	var out []Interference
	for _, o := range order {
		at := slices.Index([]byte(o), 0)
		key, class := o[:at], o[at+1:]
		if len(mixed[key]) > 0 {
			out = append(out, interference(class, alone[key+class], mixed[key])...)
		}
	}
	return out
}

func interference(class string, alone, mixed []*record.Row) []Interference {
	var out []Interference
	for _, m := range Headlines {
		var own, among []*stats.Summary
		for _, r := range alone {
			own = append(own, m.of(&r.Summary))
		}
		for _, r := range mixed {
			s := r.Classes[class]
			among = append(among, m.of(&s))
		}
		a, hasA := record.PercentilesOf(own...).Get("p99")
		b, hasB := record.PercentilesOf(among...).Get("p99")
		if hasA && hasB {
			out = append(out, Interference{
				Name: mixed[0].Spec.Name, Point: mixed[0].Spec.Point, Class: class, Metric: m.name, Alone: a.Median, Together: b.Median,
				DifferenceMs: b.Median - a.Median, CI95: stats.Difference(a.Median, b.Median, a.CI95, b.CI95),
			})
		}
	}
	return out
}

// headlines are the latencies that are quoted of a row.
var Headlines = []struct {
	name string
	of   func(*record.Summary) *stats.Summary
}{
	{"ttft", func(s *record.Summary) *stats.Summary { return s.TTFT }},
	{"tpot", func(s *record.Summary) *stats.Summary { return s.TPOT }},
	{"e2e", func(s *record.Summary) *stats.Summary { return s.E2E }},
}
