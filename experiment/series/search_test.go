package series

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

func probed(k *experiment.Search, load float64, repeat int, verdict stats.Verdict, findings ...string) *record.Row {
	s := experiment.Spec{Name: "A", Point: []experiment.Axis{{Key: "input", Value: "256"}, {Key: k.Axis, Value: ""}}, Search: k}
	r := &record.Row{Spec: s.ProbeAt(experiment.Probe{Load: load}, repeat), EndedAt: time.Unix(60, 0), StartedAt: time.Unix(0, 0)}
	r.SLO = []record.Verdict{{Metric: "ttft_p95", Verdict: verdict}}
	for _, code := range findings {
		severity := record.Caution
		if slices.Contains([]string{"arrivals", "prompts", "errors"}, code) {
			severity = record.Invalid
		}
		r.Findings = append(r.Findings, record.Finding{Code: code, Severity: severity, Text: "because of " + code})
	}
	return r
}

func sloSearch(axis string) *experiment.Search {
	return &experiment.Search{Axis: axis, Goal: "slo", Min: 1, Max: 64, Tolerance: 0.1}
}

func search(t *testing.T, k *experiment.Search, answer func(load float64) *record.Row) (*experiment.Spec, []*record.Row) {
	t.Helper()
	runs := map[float64]int{}
	var rows []*record.Row
	for {
		x, more := NextProbe(k, rows, nil, 0)
		if !more {
			return &experiment.Spec{Name: "A", Point: []experiment.Axis{{Key: "input", Value: "256"}, {Key: k.Axis, Value: "1"}}, Search: k}, rows
		}
		runs[x.Load]++
		rows = append(rows, answer(x.Load))
		if len(rows) > 200 {
			t.Fatal("the search does not end")
		}
	}
}

func TestSearchFinds(t *testing.T) {
	k := sloSearch("rate")
	s, rows := search(t, k, upTo(k, 10))
	f := SearchResult(k, s, rows, nil, 0, false)
	if f.State != "found" || !f.Met() || *f.Low > 10 || *f.High < 10 || *f.High > 1.1**f.Low || f.TookS != float64(60*len(rows)) || len(f.Others) != 1 ||
		!strings.HasPrefix(f.Text, "A input=256: the highest rate that meets the SLO is between ") {
		t.Errorf("%+v\n%s", f, f.Text)
	}
	quoted := func(r *record.Row) bool { return k.LoadOf(&r.Spec) <= *f.Low && k.LoadOf(&r.Spec) >= *f.Low/1.1 }
	if !slices.ContainsFunc(rows, quoted) {
		t.Errorf("no probe shows the figures at %v", *f.Low)
	}
	if part := SearchResult(k, s, rows[:3], nil, 0, false); part.State != "searching" || part.Met() || !strings.Contains(part.Text, "is not found yet: so far it is ") {
		t.Errorf("%s", part.Text)
	}
	if none := SearchResult(k, s, nil, nil, 0, false); none.State != "searching" || none.Probes != 0 {
		t.Errorf("%+v", none)
	}
}

// upTo is a server that meets the SLO up to a load.
func upTo(k *experiment.Search, most float64) func(x float64) *record.Row {
	return func(x float64) *record.Row {
		if x <= most {
			return probed(k, x, 1, stats.Pass)
		}
		return probed(k, x, 1, stats.Fail)
	}
}

func TestSearchEndsOutside(t *testing.T) {
	for _, tt := range []struct {
		verdict stats.Verdict
		finding string
		state   string
		want    string
	}{
		{stats.Pass, "heterogeneous", "above", "is 64 or above, the search's max; raise max"},
		{stats.Fail, "unsteady", "below", "is below 1, the search's min; lower min"},
		{stats.Undecided, "", "none", "is decided: more requests are needed"},
		{stats.Pass, "arrivals", "none", "is decided: because of arrivals"},
		{stats.Fail, "prompts", "none", "is decided: because of prompts"},
		{stats.Fail, "errors", "below", "is below 1"},
	} {
		k := sloSearch("concurrency")
		s, rows := search(t, k, func(x float64) *record.Row { return probed(k, x, 1, tt.verdict, tt.finding) })
		if f := SearchResult(k, s, rows, nil, 0, false); f.State != tt.state || !strings.Contains(f.Text, tt.want) || f.Met() != (tt.state == "above") {
			t.Errorf("%s, %s: %+v\n%s", tt.verdict, tt.finding, f, f.Text)
		}
	}
}

// No probe begins when the budget is spent; the answer is as wide as the probes leave it, and says what a closer one
// takes.
func TestSearchBudget(t *testing.T) {
	for _, k := range []*experiment.Search{
		{Axis: "rate", Goal: "slo", Min: 1, Max: 64, Tolerance: 0.01, Probes: 7},
		{Axis: "rate", Goal: "slo", Min: 1, Max: 64, Tolerance: 0.01, Budget: workload.Span(7*time.Minute + 20*time.Second)},
	} {
		s, rows := search(t, k, upTo(k, 10))
		f := SearchResult(k, s, rows, nil, 0, false)
		if len(rows) != 7 || f.State != "budget" || !f.Met() || *f.Low > 10 || *f.High < 10 || !strings.Contains(f.Text, " spent at a width of ") {
			t.Errorf("%d probes: %s", len(rows), f.Text)
		}
	}
}

func TestSearchSaturation(t *testing.T) {
	k := &experiment.Search{Axis: "rate", Goal: "saturation", Min: 1, Max: 64, Tolerance: 0.05}
	row := func(x float64) *record.Row {
		r := probed(k, x, 1, stats.Fail) // the SLO does not count here
		r.Summary.DurationS, r.Summary.Requests.Planned = 100, int(100*x)
		r.Summary.Throughput.RequestsPerS = min(x, 20)
		return r
	}
	s, rows := search(t, k, row)
	f := SearchResult(k, s, rows, nil, 0, false)
	if limit := 20 / keepsUp; f.State != "found" || *f.Low > limit || *f.High < limit || !strings.Contains(f.Text, "the highest rate that the server keeps up with is between") {
		t.Errorf("%s", f.Text)
	}
	short := row(8) // no verdict, but the next probe is above it
	short.Spec.Rate, short.Little = 8, &record.Little{RequestsS: 8, MeanMs: 10_000}
	if p := probe(k, short); p.Verdict != stats.Undecided || !(p.Log < 0) {
		t.Errorf("%+v", p)
	}
	for _, tt := range []struct {
		n, got float64
		grows  bool
		want   stats.Verdict
	}{{1000, 960, false, stats.Pass}, {1000, 940, false, stats.Undecided}, {1000, 900, false, stats.Fail}, {1000, 990, true, stats.Fail}, {0, 0, false, stats.Undecided}} {
		r := row(1)
		r.Summary.Requests.Planned, r.Summary.Throughput.RequestsPerS = int(tt.n), tt.got/100
		if tt.grows {
			r.Steady = &record.Steadiness{Trends: map[string]stats.Trend{"in_flight": {Change: 0.5, P: 1e-9}}}
		}
		if v := saturated(r); v != tt.want {
			t.Errorf("%+v: %s", tt, v)
		}
	}
}

// TestProbe: what a row shows about its load, and what it does not.
func TestProbe(t *testing.T) {
	k := sloSearch("rate")
	value := 250.0
	calm := probed(k, 8, 1, stats.Pass)
	calm.SLO[0].Value, calm.SLO[0].Limit = &value, 500
	calm.Summary.DurationS, calm.Summary.Requests.Planned = 50, 400
	calm.Little = &record.Little{RequestsS: 8, MeanMs: 100}
	if p := probe(k, calm); p.Verdict != stats.Pass || p.Log != -math.Ln2 || p.Stay != 0.1 || p.Window != 50 || p.Spent != 60 {
		t.Errorf("%+v", p)
	}
	calm.Findings = []record.Finding{{Code: "arrivals", Severity: record.Invalid, Text: "not Poisson"}}
	if p := probe(k, calm); p.Verdict != "" || !math.IsNaN(p.Log) {
		t.Errorf("an invalid row has no evidence: %+v", p)
	}
	if p := probe(k, probed(k, 8, 1, stats.Fail, "errors")); p.Verdict != stats.Fail {
		t.Errorf("a refusal is the server's answer: %+v", p)
	}
	low := probed(k, 8, 1, stats.Fail)
	low.SLO[0].Metric = "min_output_tokens_per_s"
	if p := probe(k, low); p.Verdict == stats.Fail {
		t.Errorf("a higher load meets a minimum: %+v", p)
	}
}

// TestSearchAgain: probes that were evaluated again under a stricter SLO may not bracket its load; under the
// same SLO the answer stays.
func TestSearchAgain(t *testing.T) {
	k := sloSearch("rate")
	s, rows := search(t, k, upTo(k, 10))
	if same, was := SearchResult(k, &rows[0].Spec, rows, nil, 0, true), SearchResult(k, s, rows, nil, 0, false); same.Text != was.Text || same.State != was.State {
		t.Errorf("%s\nwas %s", same.Text, was.Text)
	}
	for _, r := range rows {
		r.SLO = upTo(k, 3)(k.LoadOf(&r.Spec)).SLO
	}
	f := SearchResult(k, &rows[0].Spec, rows, nil, 0, true)
	if f.State != "unprobed" || f.Low != nil && *f.Low > 3 || *f.High < 3 || !strings.Contains(f.Text, "by the stored probes; run the search again") {
		t.Errorf("%s: %s", f.State, f.Text)
	}
}
