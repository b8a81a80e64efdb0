package report

import (
	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/report/fixture"
	"strings"
	"testing"
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

func TestRatioCell(t *testing.T) {
	x := 2.07
	of := func(n int) record.Percentiles { return record.PercentilesOf(fixture.Sample(n, 60)) }
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
	run := &Run{Rows: []record.Row{fixture.Shape{Name: "few", Rate: 1, N: 3, TTFT: 60, TPOT: 7, Output: 100, Roofline: true}.Row()}}
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

// Under load a first token waits and shares its steps: that it is later than a prompt alone is nothing that the hardware should explain.
func TestPlaceOfTTFTUnderLoad(t *testing.T) {
	spec := func(slots int, rate workload.Rate) *experiment.Spec {
		s := &experiment.Spec{}
		s.Concurrency, s.Rate = slots, rate
		return s
	}
	for _, c := range []struct {
		metric string
		spec   *experiment.Spec
		want   string
	}{
		{"ttft", spec(1, 0), "slower than the hardware explains"}, {"ttft", spec(8, 0), "above the band of a prompt that is alone on the machine"},
		{"ttft", spec(0, 2), "above the band of a prompt that is alone on the machine"}, {"tpot", spec(8, 0), "slower than the hardware explains"},
	} {
		if got := placeText(c.metric, roofline.Slow, c.spec); got != c.want {
			t.Errorf("%s, %+v: %s", c.metric, c.spec.Load, got)
		}
	}
	if got := placeText("ttft", roofline.Inside, spec(8, 0)); got != "inside the band" {
		t.Error(got)
	}
}

func TestReproduceIsQuoted(t *testing.T) {
	run := &Run{}
	run.Manifest.Command = []string{"bench", "sweep", "a b.toml; rm x"}
	run.Manifest.Matrix, run.Manifest.Run = "$(x)", "r"
	for _, row := range run.reproduceTable().rows {
		c := row[1].text
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
		{"rate", "found", at(11.313), at(11.87), "11.31/s to 11.87/s"}, {"concurrency", "found", at(8), at(8), "8 slots"},
		{"concurrency", "above", at(64), nil, "64 slots or above"}, {"concurrency", "below", nil, at(1), "below 1 slot"},
		{"rate", "none", nil, nil, "nothing found"}, {"rate", "budget", nil, nil, "ended by its budget"},
	} {
		f := record.Found{State: c.state, Bracket: stats.Bracket{Low: c.low, High: c.high}, Search: experiment.Search{Axis: c.axis}}
		if got := answer(&f); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
}
