package page

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	fixture "bench/internal/reporttest"
	"bench/report"
)

func curvesOf(t *testing.T, html []byte, id string) []byte {
	t.Helper()
	found := regexp.MustCompile(`<script type="application/json" id="` + id + `">([^<]*)`).FindSubmatch(html)
	if found == nil {
		t.Fatalf("no %s", id)
	}
	return found[1]
}

// saturating is a series at concurrency 1, 2, 4, 8, 16 and "inf" with every state, and a single load.
func saturating() *report.Analysis {
	var rows []record.Row
	for i, verdict := range []string{"PASS", "PASS", "UNDECIDED", "FAIL", "PASS"} {
		load := []string{"1", "2", "4", "8", "16"}[i]
		s := fixture.Shape{Name: "F", Axes: fixture.Axis("rate", load), Rate: float64(int(1) << i), N: 1200, TTFT: 50, TPOT: 5 * float64(i+1), Output: 100, Verdict: verdict}
		if i == 0 {
			s.N = 40 // p99 without a bound
		}
		if i == 4 {
			s.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
		}
		rows = append(rows, s.Row())
	}
	rows = append(rows, fixture.Shape{Name: "F", Axes: fixture.Axis("rate", "inf"), Rate: math.Inf(1), N: 300, TTFT: 900, TPOT: 30, Output: 120}.Row(),
		fixture.Shape{Name: "A", Concurrency: 2, N: 1200, TTFT: 50, TPOT: 5, Output: 100}.Row())
	run := &report.Run{Run: record.Run{Rows: rows}}
	for _, r := range rows {
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: r.ID, State: "done"})
	}
	o := run.Analyze()
	return &o
}

func TestCurves(t *testing.T) {
	set := newCurveSet(saturating(), evidence{}, &report.Run{})
	if diff := cmp.Diff([]string{"F", singles}, set.Groups); diff != "" || set.Output != "tok/s/GPU" || len(set.Curves) != 2 {
		t.Fatalf("%s %s, %d curves", diff, set.Output, len(set.Curves))
	}
	var got [][]string
	for _, m := range set.Curves[0].Points {
		got = append(got, []string{m.Label, string(m.State)})
	}
	want := [][]string{{"1/s", "meets"}, {"2/s", "ship"}, {"4/s", "undecided"}, {"8/s", "misses"}, {"16/s", "invalid"}, {"inf", "no_slo"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	few, inf, single := set.Curves[0].Points[0], set.Curves[0].Points[5], set.Curves[1].Points[0]
	p99 := few.Latency["ttft"][3]
	if few.N["ttft"] != 40 || p99[3] != 0 || !math.IsInf(p99[2], 1) || p99[0] <= p99[1] || few.Latency["ttft"][0][3] != 2 {
		t.Errorf("p99 of 40 requests: %v", p99)
	}
	if inf.Load != nil || single.Label != "c2" || single.State != diagnosis.NoSLO || set.Curves[1].Group != singles {
		t.Errorf("%+v, %+v", inf, single)
	}
	if diff := cmp.Diff(map[string][]float64{"ttft_p99": {1000}}, set.Curves[0].Limits); diff != "" {
		t.Error(diff)
	}
	user := single.PerUser
	if math.Abs(user[0]-1e3/fixture.Sample(1200, 5).P50) > 1e-9 || user[1] > user[0] || user[2] < user[0] {
		t.Errorf("tok/s/user with its interval: %v", user)
	}
	b, err := json.Marshal(few.Latency["ttft"][3:4])
	if err != nil || !regexp.MustCompile(`^\[\[[\d.]+,[\d.]+,null,0\]\]$`).Match(b) {
		t.Errorf("%s, %v", b, err)
	}
}

// A predicted curve has the group and the colour of the measured one, and neither limits nor floors.
func TestPredictedCurve(t *testing.T) {
	o := saturating()
	rows := make([]record.Row, 0, 8)
	behind := &report.Run{Run: record.Run{Manifest: record.Manifest{Predicted: &record.Prediction{}}}}
	o.Each(func(_ *series.Series, p *series.Point) {
		if p.Rows[0].Spec.Name == "F" {
			rows = append(rows, *p.Rows[0])
			behind.Manifest.Plan = append(behind.Manifest.Plan, record.Planned{ID: p.Rows[0].ID, State: "done"})
		}
	})
	behind.Rows = rows
	o.Behind = new(behind.Analyze())
	set := newCurveSet(o, evidence{}, &report.Run{})
	if len(set.Curves) != 3 || !set.Curves[0].Predicted || set.Curves[1].Predicted || set.Curves[0].Group != "F" || set.Curves[0].Color != set.Curves[1].Color {
		t.Fatalf("%d curves, the first %+v", len(set.Curves), set.Curves[0])
	}
	if c := set.Curves[0]; len(c.Limits) > 0 || c.Opens != nil || !strings.HasPrefix(c.Points[0].Name, "PREDICTED ") || c.Points[0].Floor != nil {
		t.Errorf("%+v", c)
	}
}

// TestLimitedFirst: the latency that the SLO limits is what the page begins with.
func TestLimitedFirst(t *testing.T) {
	for _, c := range []struct{ metric, chosen, percentile string }{
		{"ttft_p99", "TTFT", "p99"}, {"tpot_p90", "TPOT", "p90"}, {"itl_p999", "ITL", "p999"}, {"e2e_p50", "E2E", "p50"}, {"error_rate", "TTFT", "p95"},
	} {
		row := fixture.Shape{Name: "A", Concurrency: 1, N: 1000, TTFT: 50, TPOT: 6, Output: 99}.Row()
		row.SLO = []record.Verdict{{Metric: c.metric, Limit: 100, Unit: "ms", Verdict: "PASS"}}
		drawn := newCurveSet(&report.Analysis{Series: series.FromRows([]record.Row{row})}, evidence{}, &report.Run{}).latencyChart("series")
		if drawn.Choices[0].First != c.chosen || drawn.Choices[1].First != c.percentile {
			t.Errorf("%s: the page begins with %s %s", c.metric, drawn.Choices[0].First, drawn.Choices[1].First)
		}
	}
	if c := newCurveSet(&report.Analysis{}, evidence{}, &report.Run{}).latencyChart("series"); c.Option != nil {
		t.Errorf("of nothing: %v", c)
	}
}

// The latency of the limit that the answer hangs on comes before others; a limit on no latency leaves the first.
func TestDecidingFirst(t *testing.T) {
	c := curve{Limits: map[string][]float64{"ttft_p95": {1000}, "tpot_p95": {40}}}
	for deciding, want := range map[string]opening{"tpot_p95": {"TPOT", "p95"}, "error_rate": {"TTFT", "p95"}, "tpot_p99": {"TTFT", "p95"}, "": {"TTFT", "p95"}} {
		if got := c.limited(deciding); *got != want {
			t.Errorf("%q: %v, want %v", deciding, *got, want)
		}
	}
	closest := &diagnosis.OperatingPoint{Closest: &diagnosis.Closest{Metric: "tpot_p95"}}
	o := &report.Analysis{}
	o.Answer.Workloads = []diagnosis.Workload{{Series: 1, Operating: closest}, {Operating: closest, Limit: &diagnosis.Limit{Metric: "ttft_p95"}}}
	for i, want := range []string{"ttft_p95", "tpot_p95", ""} {
		if got := decidingLimit(o, i); got != want {
			t.Errorf("series %d: %q, want %q", i, got, want)
		}
	}
}

// The floor of another prompt: of a compute-bound one it grows with the length, of one that reads its weights it does not.
func TestPromptFloor(t *testing.T) {
	terms := func(hidden string) []roofline.Term {
		out := []roofline.Term{{Name: "weights", Ms: 1}, {Name: "compute", Ms: 3}, {Name: "attention", Ms: 1}, {Name: "front end", Ms: 20}}
		for i := range out {
			out[i].Hidden = strings.Contains(hidden, out[i].Name)
		}
		return out
	}
	for hidden, want := range map[string]float64{"weights": 2 * (3*2 + 4) / 4., "compute attention": 2, "": 2 * (1 + 3*2 + 4) / 5.} {
		b := &record.Roofline{Input: 100, TTFT: roofline.Bound{FloorMs: 2, Terms: terms(hidden)}}
		if got := promptFloor(b, 200); got != want {
			t.Errorf("hidden %q: %v, want %v", hidden, got, want)
		}
		if got := promptFloor(b, 100); got != 2 {
			t.Errorf("hidden %q: %v at its own length", hidden, got)
		}
	}
}
