package report

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	fixture "bench/internal/reporttest"
)

func TestMeasuredCell(t *testing.T) {
	for _, c := range []struct {
		metric string
		ms     float64
		unit   string
		n      int
		want   string
		kind   Kind
	}{
		{"ttft_p95", 5.4, "ms", 8, "5.40 ms, n=8 is too small", NoBound},
		{"ttft_p95", 5.4, "ms", 72, "~5.40 ms", Thin},
		{"ttft_p95", 5.4, "ms", 200, "5.40 ms", Plain},
		{"e2e_from_send_p999", 5.4, "ms", 3000, "5.40 ms, n=3,000 is too small", NoBound},
		{"itl_p50", 5.4, "ms", 6, "~5.40 ms", Thin},
		{"ttft_mean", 5.4, "ms", 8, "5.40 ms", Plain},
		{"error_rate", 0.5, "share", 8, "50.0 %", Plain},
		{"min_output_tokens_per_s_per_gpu", 50, "tokens/s", 8, "50.0 tok/s", Plain},
		{"usd_per_million_output_tokens", 2, "usd", 8, "2.00 USD", Plain},
	} {
		got := measuredCell(record.Verdict{Metric: c.metric, Value: &c.ms, Unit: c.unit, Observed: c.n})
		if got.Text != c.want || got.Kind != c.kind {
			t.Errorf("%s of %d: %q (%s), want %q (%s)", c.metric, c.n, got.Text, got.Kind, c.want, c.kind)
		}
	}
	if got := measuredCell(record.Verdict{Metric: "ttft_p95", Observed: 8}); got.Text != "no value" || got.Kind != Faint {
		t.Errorf("%+v", got)
	}
}

func TestRatioCell(t *testing.T) {
	x := 2.07
	of := func(n int) record.Percentiles { return record.PercentilesOf(fixture.Sample(n, 60)) }
	for _, c := range []struct {
		ratio *float64
		ps    record.Percentiles
		want  string
		kind  Kind
	}{
		{&x, of(20), "2.07", Plain}, {&x, of(6), "~2.07", Thin}, {&x, of(3), "n=3", NoBound},
		{nil, of(20), "–", Faint}, {&x, nil, "–", Faint},
	} {
		if got := ratioCell(c.ratio, c.ps); got.Text != c.want || got.Kind != c.kind {
			t.Errorf("%q (%s), want %q (%s)", got.Text, got.Kind, c.want, c.kind)
		}
	}
}

func TestBoundsOfFewRequests(t *testing.T) {
	run := &Run{Run: record.Run{Rows: []record.Row{fixture.Shape{Name: "few", Rate: 1, N: 3, TTFT: 60, TPOT: 7, Output: 100, Roofline: true}.Row()}}}
	run.Manifest.Plan = []record.Planned{{ID: run.Rows[0].ID, State: "done"}}
	o := run.Analyze()
	row := rooflineTable(&o).Rows[0]
	for _, i := range []int{2, 4} {
		if row[i].Text != "n=3" {
			t.Errorf("column %d: %q", i, row[i].Text)
		}
	}
	if row[1].Text != "30.0" {
		t.Errorf("the floor needs no request: %q", row[1].Text)
	}
	run.Rows[0].Roofline.TTFT.FloorMs = 0
	o = run.Analyze()
	if row := rooflineTable(&o).Rows[0]; row[1].Kind != Faint {
		t.Errorf("a floor of 0 is none: %q", row[1].Text)
	}
}

func TestReproduceIsQuoted(t *testing.T) {
	run := &Run{}
	run.Manifest.Command = []string{"bench", "sweep", "a b.toml; rm x"}
	run.Manifest.Matrix, run.Manifest.Run = "$(x)", "r"
	for _, row := range reproduceTable(run).Rows {
		c := row[1].Text
		for _, bad := range []string{"; rm", "$(x)"} {
			if i := strings.Index(c, bad); i >= 0 && strings.Count(c[:i], "'")%2 == 0 {
				t.Errorf("a shell would run %s", c)
			}
		}
	}
}

func TestAnswer(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		axis, state string
		low, high   *float64
		want        string
	}{
		{"rate", "found", at(11.313), at(11.87), "11.31/s to 11.87/s"}, {"concurrency", "found", at(8), at(8), "concurrency 8"},
		{"concurrency", "above", at(64), nil, "concurrency 64 or above"}, {"concurrency", "below", nil, at(1), "concurrency below 1"},
		{"rate", "none", nil, nil, "nothing found"}, {"rate", "budget", nil, nil, "ended by its budget"},
	} {
		f := record.Found{State: c.state, Bracket: stats.Bracket{Low: c.low, High: c.high}, Search: experiment.Search{Axis: c.axis}}
		run := Run{Run: record.Run{Manifest: record.Manifest{Searches: []record.Found{f}}}}
		if got := searchesTable(&run).Rows[0][3].Text; got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
}
