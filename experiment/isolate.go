package experiment

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/stats"
	"bench/experiment/workload"
)

// A row with isolate = true runs its mix, and each class of it alone at its share of the rate: what a class's p99 has more
// in the mix is what it suffers from the others, which pools of their own would spare it.

func (s *Spec) checkIsolate(bad func(key, problem, hint string)) {
	switch {
	case !s.Isolate:
	case len(s.Mix) < 2:
		bad("isolate", "there are no classes to run alone", "write two [[row.mix]] tables or more, or leave isolate out")
	case s.Rate == 0 || s.Rate.IsInf() || s.Arrival.Rate() != 0:
		bad("isolate", "a class alone has its share of the rate, and the row has none to share", "write rate = 4, or leave isolate out")
	}
}

// Isolated are the points at which each class runs alone; none where the row does not ask for them.
func (s *Spec) Isolated() []Spec {
	if !s.Isolate {
		return nil
	}
	total := 0.0
	for _, c := range s.Mix {
		total += c.Weight
	}
	var out []Spec
	for _, c := range s.Mix {
		alone := *s
		share := c.Weight / total
		alone.Alone, alone.Isolate, alone.Mix = c.Name, false, []workload.Class{c}
		alone.Rate = workload.Rate(float64(s.Rate) * share)
		if s.Requests > 0 {
			alone.Requests = max(1, int(math.Round(float64(s.Requests)*share)))
		}
		alone.Point = append(slices.Clone(s.Point), Axis{"alone", c.Name})
		out = append(out, alone)
	}
	return out
}

// Interference is how much later the 99th percentile of a class comes in the mix than alone.
type Interference struct {
	Name   string `json:"name"`           // the row's
	Point  []Axis `json:"axes,omitempty"` // of the mix
	Class  string `json:"class"`
	Metric string `json:"metric"` // ttft, tpot, e2e

	Alone        float64        `json:"alone_p99_ms"` // medians over the repeats
	Together     float64        `json:"together_p99_ms"`
	DifferenceMs float64        `json:"difference_ms"`
	CI95         stats.Interval `json:"ci95_ms"` // of the difference; an end is null where either p99 has none
}

// InterferenceOf compares each class that ran alone with itself in the mix.
func InterferenceOf(rows []Row) []Interference {
	mixed, alone := map[string][]*Row{}, map[string][]*Row{}
	var order []string
	for i := range rows {
		r := &rows[i]
		point := slices.DeleteFunc(slices.Clone(r.Spec.Point), func(a Axis) bool { return r.Spec.Alone != "" && a.Key == "alone" })
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

func interference(class string, alone, mixed []*Row) []Interference {
	var out []Interference
	for _, m := range headlines {
		var own, among []*stats.Summary
		for _, r := range alone {
			own = append(own, m.of(&r.Summary))
		}
		for _, r := range mixed {
			s := r.Classes[class]
			among = append(among, m.of(&s))
		}
		a, hasA := PercentilesOf(own...).Get("p99")
		b, hasB := PercentilesOf(among...).Get("p99")
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
var headlines = []struct {
	name string
	of   func(*Summary) *stats.Summary
}{
	{"ttft", func(s *Summary) *stats.Summary { return s.TTFT }},
	{"tpot", func(s *Summary) *stats.Summary { return s.TPOT }},
	{"e2e", func(s *Summary) *stats.Summary { return s.E2E }},
}
