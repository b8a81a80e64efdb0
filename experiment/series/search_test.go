package series

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// probed is a probe of a search at a load.
func probed(k *experiment.Search, load float64, repeat int, verdict stats.Verdict, findings ...string) *record.Row {
	s := experiment.Spec{Name: "A", Point: []experiment.Axis{{Key: "input", Value: "256"}, {Key: k.Axis, Value: ""}}, Search: k}
	r := &record.Row{Spec: s.ProbeAt(load, repeat), EndedAt: time.Unix(60, 0), StartedAt: time.Unix(0, 0)}
	r.SLO = []record.Verdict{{Metric: "ttft_p95", Verdict: string(verdict)}}
	for _, code := range findings {
		severity := record.Caution
		if slices.Contains([]string{"arrivals", "prompt_length", "errors"}, code) {
			severity = record.Invalid
		}
		r.Findings = append(r.Findings, record.Finding{Code: code, Severity: severity, Text: "because of " + code})
	}
	return r
}

func sloSearch(axis string) *experiment.Search {
	return &experiment.Search{Axis: axis, Goal: "slo", Min: 1, Max: 64, Tolerance: 0.1, Confirm: 2}
}

// search runs a search on answers by load.
func search(t *testing.T, k *experiment.Search, answer func(load float64) *record.Row) (*experiment.Spec, []*record.Row) {
	t.Helper()
	runs := map[float64]int{}
	var rows []*record.Row
	for {
		x, more := NextProbe(k, rows)
		if !more {
			return &experiment.Spec{Name: "A", Point: []experiment.Axis{{Key: "input", Value: "256"}, {Key: k.Axis, Value: "1"}}, Search: k}, rows
		}
		runs[x]++
		rows = append(rows, answer(x))
		if len(rows) > 200 {
			t.Fatal("the search does not end")
		}
	}
}

func TestSearchFinds(t *testing.T) {
	k := sloSearch("rate")
	s, rows := search(t, k, func(x float64) *record.Row {
		if x <= 10 {
			return probed(k, x, 1, stats.Pass)
		}
		return probed(k, x, 1, stats.Fail)
	})
	f := SearchResult(k, s, rows)
	want := "A input=256: the highest rate that meets the SLO is between 9.512/s and 10.37/s (2 runs agree at each) (10 probes, 10m0s)"
	if f.Text != want || f.State != "found" || !f.Met() || *f.Low != 9.512 || f.Probes != 10 || f.TookS != 600 || len(f.Others) != 1 {
		t.Errorf("%+v\n%s", f, f.Text)
	}
	if part := SearchResult(k, s, rows[:6]); part.State != "searching" || part.Met() || !strings.Contains(part.Text, "so far it is between 8/s and 11.31/s (1 run at each, not confirmed)") {
		t.Errorf("%s", part.Text)
	}
	if none := SearchResult(k, s, nil); none.State != "searching" || none.Probes != 0 {
		t.Errorf("%+v", none)
	}
	if n := k.ExpectedProbes(); n < 10 || n > 15 {
		t.Errorf("expects %d probes", n)
	}
}

func TestSearchEndsOutside(t *testing.T) {
	for _, tt := range []struct {
		verdict   stats.Verdict
		runChecks string
		state     string
		want      string
	}{
		{stats.Pass, "heterogeneous", "above", "is 64 or above, the search's max (2 runs agree); raise max"},
		{stats.Fail, "unsteady", "below", "is below 1, the search's min (2 runs agree); lower min"},
		{stats.Undecided, "", "none", "is decided: more requests are needed for a verdict"},
		{stats.Pass, "arrivals", "none", "is decided: because of arrivals"},
		{stats.Fail, "prompt_length", "none", "is decided: because of prompt_length"},
		{stats.Fail, "errors", "below", "is below 1"},
	} {
		k := sloSearch("concurrency")
		s, rows := search(t, k, func(x float64) *record.Row { return probed(k, x, 1, tt.verdict, tt.runChecks) })
		if f := SearchResult(k, s, rows); f.State != tt.state || !strings.Contains(f.Text, tt.want) || f.Met() != (tt.state == "above") {
			t.Errorf("%s, %s: %+v\n%s", tt.verdict, tt.runChecks, f, f.Text)
		}
	}
}

// No probe begins when the budget is spent, and the result reports it.
func TestSearchBudget(t *testing.T) {
	for _, k := range []*experiment.Search{
		{Axis: "rate", Goal: "slo", Min: 1, Max: 64, Tolerance: 0.1, Confirm: 2, Probes: 7},
		{Axis: "rate", Goal: "slo", Min: 1, Max: 64, Tolerance: 0.1, Confirm: 2, Budget: workload.Span(7 * time.Minute)},
	} {
		s, rows := search(t, k, func(x float64) *record.Row {
			if x <= 10 {
				return probed(k, x, 1, stats.Pass)
			}
			return probed(k, x, 1, stats.Fail)
		})
		f := SearchResult(k, s, rows)
		if len(rows) != 7 || f.State != "budget" || f.Met() || !strings.Contains(f.Text, "so far it is between 9.512/s") || !strings.Contains(f.Text, "raise budget or probes") {
			t.Errorf("%d probes: %s", len(rows), f.Text)
		}
	}
}

func TestSearchSaturation(t *testing.T) {
	k := &experiment.Search{Axis: "rate", Goal: "saturation", Min: 1, Max: 64, Tolerance: 0.05, Confirm: 2}
	row := func(x float64) *record.Row {
		r := probed(k, x, 1, stats.Fail) // the SLO does not count here
		r.Summary.DurationS, r.Summary.Requests.Planned = 100, int(100*x)
		r.Summary.Throughput.RequestsPerS = min(x, 20)
		return r
	}
	s, rows := search(t, k, row)
	f := SearchResult(k, s, rows)
	if limit := 20 / keepsUp; f.State != "found" || *f.Low > limit || *f.High < limit || !strings.Contains(f.Text, "the highest rate that the server keeps up with is between") {
		t.Errorf("%s", f.Text)
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
		if v, why := probeAnswer(k, r); v != tt.want {
			t.Errorf("%+v: %s %s", tt, v, why)
		}
	}
}

// A growing queue breaks the SLO later, so such a probe does not pass. Errors fail it whatever the client
// did.
func TestSearchAsks(t *testing.T) {
	k := sloSearch("rate")
	refused := probed(k, 1, 1, stats.Fail, "client_bound")
	refused.SLO[0].Metric = "error_rate"
	if v, why := probeAnswer(k, refused); v != stats.Fail {
		t.Errorf("a slow client makes no errors, but: %s %s", v, why)
	}
	r := probed(k, 1, 1, stats.Pass)
	r.Steady = &record.Steadiness{Trends: map[string]stats.Trend{"in_flight": {Change: 0.5, P: 1e-9}}}
	if v, why := probeAnswer(k, r); v != stats.Undecided || why != "the queue grows by 50 % during the window" {
		t.Errorf("%s: %s", v, why)
	}
	k = sloSearch("concurrency")
	r = probed(k, 4, 1, stats.Pass)
	r.Steady = &record.Steadiness{Trends: map[string]stats.Trend{"in_flight": {Change: 0.5, P: 1e-9}}}
	if v, why := probeAnswer(k, r); v != stats.Pass {
		t.Errorf("concurrency that was reached late is no queue, but: %s %s", v, why)
	}
}

func TestSearchKnee(t *testing.T) {
	k := &experiment.Search{Axis: "concurrency", Goal: "knee", Min: 1, Max: 128, Tolerance: 0.1, Confirm: 2}
	curve := func(at float64) func(float64) *record.Row {
		return func(x float64) *record.Row {
			r := probed(k, x, 1, "")
			r.Summary.Throughput.OutputTokensPerS = 40 * min(x, at)
			return r
		}
	}
	s, rows := search(t, k, curve(24))
	if f := SearchResult(k, s, rows); f.State != "found" || *f.Low > 24 || *f.High < 24 || !strings.Contains(f.Text, "the concurrency at the knee is between") {
		t.Errorf("%s", f.Text)
	}
	s, rows = search(t, k, curve(1000))
	if f := SearchResult(k, s, rows); f.State != "none" || f.Met() || !strings.Contains(f.Text, "no knee for concurrency 1 to 128") {
		t.Errorf("%s", f.Text)
	}
}

// TestSearchAgain: probes that were evaluated again under a stricter SLO may not bracket its load; under the
// same SLO the answer stays.
func TestSearchAgain(t *testing.T) {
	k := sloSearch("rate")
	upTo := func(most float64) func(x float64) *record.Row {
		return func(x float64) *record.Row {
			if x <= most {
				return probed(k, x, 1, stats.Pass)
			}
			return probed(k, x, 1, stats.Fail)
		}
	}
	s, rows := search(t, k, upTo(10))
	if same, was := SearchAgain(k, rows), SearchResult(k, s, rows); same.Text != was.Text || same.State != was.State {
		t.Errorf("%s\nwas %s", same.Text, was.Text)
	}
	for _, r := range rows {
		r.SLO = upTo(3)(k.LoadOf(&r.Spec)).SLO
	}
	f := SearchAgain(k, rows)
	if f.State != "unprobed" || f.Met() || f.Verdict() != stats.Undecided || !strings.Contains(f.Text, "is not found by the stored probes: so far it is between 2/s and 4/s") {
		t.Errorf("%s: %s", f.State, f.Text)
	}
}
