package series

import (
	"math"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// at is a point of a row with that load, and other axes beside it.
func at(rate, concurrency float64, axes ...experiment.Axis) *experiment.Spec {
	return &experiment.Spec{Name: "A", Point: axes, Workload: workload.Workload{Rate: workload.Rate(rate)}, Load: workload.Load{Concurrency: int(concurrency)}}
}

// Only loads of one series are above one another: a list of finite rates, or of the concurrencies of a closed loop.
func TestKey(t *testing.T) {
	rate, concurrency, input := experiment.Axis{Key: "rate", Value: "16"}, experiment.Axis{Key: "concurrency", Value: "8"}, experiment.Axis{Key: "input", Value: "64"}
	cold, probe := at(0, 8, concurrency), at(16, 0, rate)
	cold.Kind, probe.Search = "cold_start", &experiment.Search{}
	for name, c := range map[string]struct {
		s    *experiment.Spec
		load float64
		ok   bool
		text string
	}{
		"rates":         {at(16, 0, rate), 16, true, "rate 16/s"},
		"closed loop":   {at(0, 8, concurrency), 8, true, "concurrency 8"},
		"rates, a cap":  {at(16, 8, rate, concurrency), 16, true, "rate 16/s"},
		"caps":          {at(16, 8, concurrency), 8, false, "concurrency 8"},
		"inf":           {at(math.Inf(1), 0, rate), math.Inf(1), false, "rate inf"},
		"one load":      {at(16, 0, input), 16, false, "rate 16/s"},
		"cold start":    {cold, 8, false, "concurrency 8"},
		"a search":      {probe, 16, false, "rate 16/s"},
		"another input": {at(16, 0, input, rate), 16, true, "rate 16/s"},
	} {
		_, load, ok := Key(c.s)
		if load != c.load || ok != c.ok || LoadName(c.s) != c.text {
			t.Errorf("%s: %v %t, %s", name, load, ok, LoadName(c.s))
		}
	}
	key := func(s *experiment.Spec) string { k, _, _ := Key(s); return k }
	if key(at(16, 0, input, rate)) != key(at(32, 0, input, experiment.Axis{Key: "rate", Value: "32"})) {
		t.Error("two loads are of two series")
	}
	if key(at(16, 0, input, rate)) == key(at(16, 0, experiment.Axis{Key: "input", Value: "128"}, rate)) {
		t.Error("two lengths are of one series")
	}
	if key(at(16, 8, rate, concurrency)) == key(at(16, 4, rate, experiment.Axis{Key: "concurrency", Value: "4"})) {
		t.Error("two caps are of one series")
	}
}

// A limit that a higher load meets more easily does not make a miss certain.
func TestCertainMiss(t *testing.T) {
	for _, c := range []struct {
		metric    string
		verdict   stats.Verdict
		invalid   string
		completed int
		want      bool
	}{
		{"ttft_p95", "FAIL", "", 10, true},
		{"e2e_mean", "FAIL", "", 10, true},
		{"error_rate", "FAIL", "errors", 10, true},
		{"ttft_p95", "FAIL", "client_bound", 10, false},
		{"ttft_p95", "UNDECIDED", "", 10, false},
		{"ttft_p95", "PASS", "", 10, false},
		{"ttft_p95", "FAIL", "", 0, false},
		{"min_output_tokens_per_s", "FAIL", "", 10, false},
		{"usd_per_million_output_tokens", "FAIL", "", 10, false},
	} {
		r := &record.Row{SLO: []record.Verdict{{Metric: c.metric, Verdict: c.verdict}}}
		r.Summary.Requests.Planned, r.Summary.Requests.Completed = 10, c.completed
		if c.invalid != "" {
			r.Findings = []record.Finding{{Code: c.invalid, Severity: record.Invalid}}
		}
		if CertainMiss(r) != c.want {
			t.Errorf("%+v: %t", c, !c.want)
		}
	}
}

// A series names the loads that the plan skipped, and why a figure that they could show is missing.
func TestAddSkipped(t *testing.T) {
	axis := func(load string) []experiment.Axis {
		return []experiment.Axis{{Key: "input", Value: "64"}, {Key: "rate", Value: load}}
	}
	row := record.Row{Spec: *at(16, 0, axis("16")...), SLO: []record.Verdict{{Metric: "ttft_p95", Verdict: "FAIL"}}}
	all := []Series{newSeries([]*record.Row{&row})}
	skipped := func(name string, axes []experiment.Axis) record.Planned {
		return record.Planned{Name: name, State: record.StateSkipped, Reason: "beyond the FAIL at rate 16/s", Point: axes}
	}
	AddSkipped(all, []record.Planned{
		{Name: "A", State: "done"}, skipped("A", axis("32")), skipped("A", axis("32")), skipped("A", axis("64")), skipped("B", axis("48")), skipped("A", axis("16")),
		skipped("A", []experiment.Axis{{Key: "input", Value: "128"}, {Key: "rate", Value: "24"}}),
	})
	if got := strings.Join(all[0].Skipped, " "); got != "32 64" {
		t.Errorf("skipped %s", got)
	}
	const want = `; rate 32, 64 skipped, beyond the FAIL at rate 16/s; run = "all" measures them`
	if s := all[0].Saturation.Why; !strings.HasSuffix(s, want) || !strings.HasPrefix(s, "no saturation") {
		t.Error(s)
	}
	row.SLO[0].Verdict = "PASS"
	other := []Series{newSeries([]*record.Row{&row})}
	if AddSkipped(other, []record.Planned{skipped("A", axis("32"))}); other[0].Beyond != "beyond the FAIL at rate 16/s under the run's own limits" {
		t.Error(other[0].Beyond)
	}
}
