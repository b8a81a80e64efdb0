package experiment

import (
	"fmt"
	"strings"
	"testing"

	"bench/experiment/workload"
)

func TestSearchCheck(t *testing.T) {
	ok := Spec{Name: "A", Workload: workload.Workload{Rate: 1}, SLO: SLO{Limits: []Limit{{Key: "ttft_p95"}}}}
	for _, tt := range []struct {
		change func(*Search, *Spec)
		want   string
	}{
		{func(*Search, *Spec) {}, ""},
		{func(k *Search, _ *Spec) { k.Goal = "" }, "search: the search has no target"},
		{func(k *Search, _ *Spec) { k.Goal = "max" }, `search: unknown search "max"`},
		{func(_ *Search, s *Spec) { s.SLO.Limits = nil }, "search: the row has no SLO to meet"},
		{func(k *Search, _ *Spec) { k.Axis, k.Goal = "concurrency", "saturation" }, "search: every server sustains a closed loop"},
		{func(k *Search, _ *Spec) { k.Goal = "knee" }, "search: unknown search \"knee\""},
		{func(_ *Search, s *Spec) { s.Isolate = true }, "search: isolate needs a rate"},
		{func(_ *Search, s *Spec) { s.Kind = coldStart }, "search: a cold start"},
		{func(k *Search, _ *Spec) { k.Min = 0 }, "min: min is 0, not between"},
		{func(k *Search, _ *Spec) { k.Max = 1 }, "max: max 1 is not above min 1"},
		{func(k *Search, _ *Spec) { k.Max = 2e6 }, "max: max is 2e+06, not between"},
		{func(k *Search, _ *Spec) { k.Axis, k.Max = "concurrency", 2.5 }, "max: max is 2.5, not a whole number of requests"},
		{func(k *Search, _ *Spec) { k.Tolerance = 0.001 }, "tolerance: a tolerance of 0.1 % is not between 1 % and 100 %"},
		{func(k *Search, _ *Spec) { k.Gentle, k.Tolerance = true, DefaultTolerance }, ""},
		{func(k *Search, _ *Spec) { k.Gentle = true }, "tolerance: a gentle search ends where"},
		{func(k *Search, _ *Spec) { k.Gentle, k.Goal = true, "saturation" }, "gentle: only a search for the rate that meets the SLO"},
		{func(k *Search, _ *Spec) { k.Gentle, k.Axis = true, "concurrency" }, "gentle: only a search for the rate that meets the SLO"},
		{func(k *Search, _ *Spec) { k.Gentle, k.Min, k.Tolerance = true, 1e-4, DefaultTolerance }, "gentle: a gentle search begins at min"},
		{func(k *Search, _ *Spec) { k.Probes = -1 }, "probes: -1 is not a number"},
	} {
		k, s := Search{Axis: "rate", Goal: "slo", Min: 1, Max: 64, Tolerance: 0.1}, ok
		tt.change(&k, &s)
		var got []string
		k.Check(&s, func(key, problem, hint string) {
			got = append(got, key+": "+problem)
			if hint == "" {
				t.Errorf("%s has no hint", problem)
			}
		})
		if text := strings.Join(got, "; "); !strings.HasPrefix(text, tt.want) || (tt.want == "") != (text == "") || len(got) > 1 {
			t.Errorf("got %q, want %q", text, tt.want)
		}
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{{"5%", "5 %"}, {" 12.5 % ", "12.5 %"}, {0.05, "5 %"}, {int64(1), "100 %"}, {"5", "bad"}, {"x%", "bad"}, {true, "bad"}, {"NaN%", "bad"}} {
		var s Share
		got := ""
		s.DecodeTOML(tt.v, func(_, problem, _ string) { got = "bad" })
		if got == "" {
			got = s.String()
		}
		if got != tt.want {
			t.Errorf("%v: %s, want %s", fmt.Sprint(tt.v), got, tt.want)
		}
	}
}
