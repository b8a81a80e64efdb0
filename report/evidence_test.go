package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

func TestMeasuredCell(t *testing.T) {
	for _, c := range []struct {
		metric string
		ms     float64
		unit   string
		n      int
		want   string
		kind   kind
	}{
		{"ttft_p95", 5.4, "ms", 8, "5.40 ms, n=8: no bound", noBound},
		{"ttft_p95", 5.4, "ms", 72, "~5.40 ms", thin},
		{"ttft_p95", 5.4, "ms", 200, "5.40 ms", plain},
		{"e2e_from_send_p999", 5.4, "ms", 3000, "5.40 ms, n=3,000: no bound", noBound},
		{"itl_p50", 5.4, "ms", 6, "~5.40 ms", thin},
		{"ttft_mean", 5.4, "ms", 8, "5.40 ms", plain},
		{"error_rate", 0.5, "share", 8, "50.0 %", plain},
		{"min_output_tokens_per_s_per_gpu", 50, "tokens/s", 8, "50.0 tok/s", plain},
		{"usd_per_million_output_tokens", 2, "usd", 8, "2.00 USD", plain},
	} {
		got := measuredCell(record.Verdict{Metric: c.metric, Value: &c.ms, Unit: c.unit, Observed: c.n})
		if got.text != c.want || got.kind != c.kind {
			t.Errorf("%s of %d: %q (%s), want %q (%s)", c.metric, c.n, got.text, got.kind, c.want, c.kind)
		}
	}
	if got := measuredCell(record.Verdict{Metric: "ttft_p95", Observed: 8}); got.text != "no value" || got.kind != faint {
		t.Errorf("%+v", got)
	}
}

// The mark is in the text, not in a colour: every renderer has it.
func TestMeasuredIsMarkedEverywhere(t *testing.T) {
	run := fixture()
	x := 5.4
	run.Rows[0].SLO[0] = record.Verdict{Metric: "ttft_p95", Limit: 1000, Unit: "ms", Value: &x, Verdict: "UNDECIDED", Need: 100, Observed: 8}
	var b bytes.Buffer
	if err := Markdown(&b, run); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"HTML": string(page1(t, run)), "Markdown": b.String()} {
		if !strings.Contains(got, "5.40 ms, n=8: no bound") || strings.Contains(got, "5.40 ms<") || strings.Contains(got, "5.40 ms |") {
			t.Errorf("%s shows a p95 of eight requests as a plain figure", name)
		}
	}
}

func TestRatioCell(t *testing.T) {
	x := 2.07
	of := func(n int) record.Percentiles { return record.PercentilesOf(sample(n, 60)) }
	for _, c := range []struct {
		ratio *float64
		ps    record.Percentiles
		want  string
		kind  kind
	}{
		{&x, of(20), "2.07 ×", plain}, {&x, of(6), "~2.07 ×", thin}, {&x, of(3), "– (n=3)", noBound},
		{nil, of(20), "–", faint}, {&x, nil, "–", faint},
	} {
		if got := ratioCell(c.ratio, c.ps); got.text != c.want || got.kind != c.kind {
			t.Errorf("%q (%s), want %q (%s)", got.text, got.kind, c.want, c.kind)
		}
	}
}

func TestBoundsOfFewRequests(t *testing.T) {
	run := &Run{Rows: []record.Row{shape{name: "few", rate: 1, n: 3, ttft: 60, tpot: 7, output: 100, bound: true}.row()}}
	run.Manifest.Plan = []record.Planned{{ID: run.Rows[0].ID, State: "done"}}
	o := run.Outcome()
	row := o.boundsTable(inHeading).rows[0]
	for _, i := range []int{4, 8} {
		if row[i].text != "– (n=3)" {
			t.Errorf("column %d: %q", i, row[i].text)
		}
	}
	if row[2].text != "30.0" {
		t.Errorf("the floor needs no request: %q", row[2].text)
	}
	run.Rows[0].Roofline.TTFT.FloorMs = 0
	o = run.Outcome()
	if row := o.boundsTable(inHeading).rows[0]; row[2].kind != faint {
		t.Errorf("a floor of 0 is none: %q", row[2].text)
	}
}

// Rings must stand on marks of the curve, at the coordinates that the frontier was computed from.
func TestFrontierStandsWhereItIsRanked(t *testing.T) {
	var rows []record.Row
	for i, n := range []int{64, 1200} { // the median p99 of the first is above the second's, its lower end below
		s := shape{name: "x", axes: axis("concurrency", []string{"1", "2"}[i]), concurrency: i + 1, n: n, ttft: []float64{100, 95}[i], tpot: 7, output: []float64{100, 200}[i]}
		rows = append(rows, s.row())
	}
	s := series.SeriesOf(rows)[0]
	if len(s.Frontier) != 2 {
		t.Fatalf("frontier %v: by what is drawn neither point beats the other in both", s.Frontier)
	}
	o := Outcome{Series: []series.Series{s}}
	c, err := o.tradeoff()
	if err != nil || c.Option == nil || !strings.Contains(c.Alt, "drawn and ranked by the lower end") {
		t.Errorf("the caption does not say how points without a bound are ranked: %q", c.Alt)
	}
	last := -1.0
	for _, j := range s.Frontier {
		_, ms, ok := latencyDatum(s.Points[j].TTFT, "p99", "")
		if !ok || ms < last {
			t.Errorf("point %d is drawn at %v ms, after %v", j, ms, last)
		}
		last = ms
	}
	html := string(page1(t))
	if !strings.Contains(html, "ranked where they are drawn, by the lower end") {
		t.Error("the definitions do not say it")
	}
}

func TestCSVLeavesUnstatedEmpty(t *testing.T) {
	rows := []record.Row{
		{ID: "open", Spec: experiment.Spec{Workload: workload.Workload{Rate: 2}}},
		{ID: "capped", Spec: experiment.Spec{Workload: workload.Workload{Rate: 2}, Load: workload.Load{Concurrency: 8}}},
		{ID: "undecided", SLO: []record.Verdict{{Verdict: string(stats.Undecided)}}},
		{ID: "needs", SLO: []record.Verdict{{Verdict: string(stats.Undecided), Need: 12}}},
		{ID: "passes", SLO: []record.Verdict{{Verdict: string(stats.Pass)}}, Roofline: &record.Roofline{}},
	}
	var b bytes.Buffer
	if err := CSV(&b, &Run{Rows: rows}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, head := range lines[0] {
		column[head] = i
	}
	for _, c := range []struct {
		row        int
		head, want string
	}{
		{1, "concurrency", ""}, {2, "concurrency", "8"},
		{1, "slo_need_requests", ""}, {3, "slo_need_requests", ""}, {4, "slo_need_requests", "12"}, {5, "slo_need_requests", "0"},
		{5, "ttft_floor_ms", ""}, {5, "tpot_expected_ms", ""},
	} {
		if got := lines[c.row][column[c.head]]; got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.head, lines[c.row][column["row"]], got, c.want)
		}
	}
}
