package report

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench"
	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/stats"
	"bench/experiment/workload"
	unitfixture "bench/internal/fixturetest"
)

// strict replaces the SLO of each row by one that no request meets.
func strict(t *testing.T) func(*experiment.Spec) {
	slo := unitfixture.SLO(t, `e2e_p50 = "1us"`)
	return func(s *experiment.Spec) {
		s.SLO = slo
		s.Mix = append([]workload.Class(nil), s.Mix...)
		for i := range s.Mix {
			s.Mix[i].SLO = nil
		}
	}
}

func example(t *testing.T) *Run {
	t.Helper()
	dirs, err := filepath.Glob("../results/example/*Z")
	if err != nil || len(dirs) == 0 {
		t.Skip("the example is not here")
	}
	run, err := Load(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func tables(t *testing.T) Evaluation {
	t.Helper()
	models, err := roofline.ParseModels(bench.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	return Evaluation{Models: models, Hardware: roofline.BuiltinHardware()}
}

// Figures that no verdict and no interval enters are those of the run that wrote the example, whatever the
// version.
func TestEvaluateTheExampleAgain(t *testing.T) {
	run, stored := example(t), example(t)
	figures := func(rows []record.Row) any {
		var out []any
		for i, r := range rows {
			s := r.Summary
			for _, m := range metric.Latencies {
				if l := s.Latency(m); l != nil && stored.Rows[i].Summary.Latency(m) != nil { // of later ones it has none
					out = append(out, r.ID+" "+m, l.N, l.Mean, l.P50, l.P95, l.P99, l.Max)
				}
			}
			out = append(out, s.Requests, s.Tokens, s.FailedShare(), s.Throughput, s.Goodput, s.Concurrency, len(r.SLO), r.Lengths, r.Rotations, r.Reuse, r.Client.CPUMean, r.Client.MaxProcs)
		}
		text, err := json.MarshalIndent(out, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := run.EvaluateAgain(tables(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(figures(stored.Rows), figures(run.Rows)); diff != "" {
		t.Errorf("stored (-), recomputed (+):\n%s", diff)
	}
	if lines := strings.Join(run.Evaluated.Lines(), "; "); lines != "recomputed from the records by this version" {
		t.Error(lines)
	}
}

// Under limits that no request meets every row fails, and the report states whose limits they are.
func TestEvaluateAgain(t *testing.T) {
	run := example(t)
	by := tables(t)
	by.Given, by.Limits = "e2e_p50=1us", strict(t)
	if err := run.EvaluateAgain(by); err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Rows {
		// Where a caution can have moved the latency by more than the limit, the limit is undecided.
		open := strings.Contains(r.SLO[0].Why, "FAIL as measured") && len(r.Codes(record.Caution)) > 0
		if len(r.SLO) != 1 || r.SLO[0].Verdict != "FAIL" && !open || r.Summary.Goodput == nil || r.Summary.Goodput.RequestsPerS != 0 {
			t.Errorf("%s: %+v, goodput %+v", r.ID, r.SLO, r.Summary.Goodput)
		}
	}
	want := "evaluated again with E2E p50 ≤ 0.001 ms (the run's own: error rate ≤ 5 %, TPOT p95 ≤ 100 ms, TTFT p95 ≤ 2 s)"
	if o := run.Analyze(); o.Answer.Verdict != "FAIL" || run.Evaluated.Text != want || run.Evaluated.Limits != by.Given {
		t.Errorf("%s: %+v", o.Answer.Verdict, run.Evaluated)
	}
	if run.Met() == nil {
		t.Error("the limits are met")
	}
}

// Under other limits a row of this very program keeps its figures.
func TestEvaluateOwnRowsAgain(t *testing.T) {
	for commit, kept := range map[string]bool{"abc": true, "def": false, "": false} {
		run, by := example(t), tables(t)
		run.Rows = run.Rows[:1]
		run.Manifest.Client.Commit, run.Rows[0].Server.Attempt = "abc", len(run.Manifest.Attempts)
		run.Rows[0].Summary.DurationS++
		was := run.Rows[0].Summary.DurationS
		by.Commit, by.Limits = commit, strict(t)
		if err := run.EvaluateAgain(by); err != nil {
			t.Fatal(err)
		}
		if r := run.Rows[0]; (r.Summary.DurationS == was) != kept || r.SLO[0].Verdict != "FAIL" || r.Summary.Goodput.RequestsPerS != 0 {
			t.Errorf("commit %q: %+v, goodput %+v", commit, r.SLO, r.Summary.Goodput)
		}
	}
}

// Under other limits the twins of this very program are not fitted anew.
func TestEvaluateOwnTwinsAgain(t *testing.T) {
	one := func() *Run { // the rows of one twin, as each is fitted up to four times
		run := example(t)
		run.Rows = slices.DeleteFunc(run.Rows, func(r record.Row) bool { return r.Spec.Name != "F-mix" })
		return run
	}
	again := one()
	if err := again.EvaluateAgain(tables(t)); err != nil {
		t.Fatal(err)
	}
	const mark = 12345 // ms, in the curve of the stored twin
	slo := unitfixture.SLO(t, `ttft_p90 = "1s"`)
	for commit, kept := range map[string]bool{"abc": true, "def": false, "": false} {
		run, by := one(), tables(t)
		run.Manifest.Client.Commit, run.Manifest.Twins = "abc", slices.Clone(again.Manifest.Twins)
		for i := range run.Rows {
			run.Rows[i].Server.Attempt = len(run.Manifest.Attempts)
		}
		found := false
		for i := range run.Manifest.Twins {
			tw := &run.Manifest.Twins[i]
			tw.Curve = slices.Clone(tw.Curve)
			for j := range tw.Curve {
				tw.Curve[j].Ms, found = mark, true
			}
		}
		by.Commit, by.Limits = commit, func(s *experiment.Spec) { s.SLO = slo }
		if err := run.EvaluateAgain(by); err != nil {
			t.Fatal(err)
		}
		marked := slices.ContainsFunc(run.Manifest.Twins, func(tw record.Twin) bool {
			return slices.ContainsFunc(tw.Curve, func(p record.TwinPoint) bool { return p.Ms == mark })
		})
		if !found || marked != kept {
			t.Errorf("commit %q: %v of a stored curve %v", commit, marked, found)
		}
	}
}

// A row without readable records has no verdict on other limits, as its own were on others, and the report names it.
func TestEvaluateAgainWithoutRecords(t *testing.T) {
	run, stored := example(t), example(t)
	run.Rows = run.Rows[:5]
	lost, window, cut := run.Rows[2].ID, run.Rows[3].ID, run.Rows[4].ID
	run.Rows[3].Window = record.Window{} // as in a file of another tool
	run.Records = func(row *record.Row) ([]*record.Record, error) {
		switch row.ID {
		case lost:
			return nil, nil
		case cut:
			return nil, io.ErrUnexpectedEOF
		}
		return stored.Requests(row)
	}
	by := tables(t)
	by.Limits = strict(t)
	if err := run.EvaluateAgain(by); err != nil {
		t.Fatal(err)
	}
	for i := range run.Rows {
		if v := run.Rows[i].SLO; len(v) != 1 || v[0].Limit != run.Rows[1].SLO[0].Limit || i > 1 && v[0].Verdict != stats.Undecided {
			t.Errorf("%s: %+v", run.Rows[i].ID, v)
		}
	}
	lines := run.Evaluated.Lines()
	if !cmp.Equal(run.Evaluated.Stored, []string{lost, window, cut}) || len(lines) != 2 || lines[1] != "without readable records, so UNDECIDED: "+lost+", and 2 more rows" {
		t.Errorf("%q", lines)
	}

	run = example(t)
	run.Records = func(*record.Row) ([]*record.Record, error) { return nil, nil }
	if err := run.EvaluateAgain(by); err != nil || run.Evaluated.Text != "not evaluated again: no row has request records" || len(run.Evaluated.Stored) != len(run.Rows) {
		t.Errorf("%v: %+v", err, run.Evaluated)
	}

	// Its own limits: a damaged row has no verdict, and one without records that of its file.
	run = example(t)
	damaged := run.Rows[2].ID
	run.Records = func(row *record.Row) ([]*record.Record, error) {
		switch row.ID {
		case run.Rows[1].ID:
			return nil, nil
		case damaged:
			return nil, io.ErrUnexpectedEOF
		}
		return stored.Requests(row)
	}
	by.Limits = nil
	err := run.EvaluateAgain(by)
	if v := run.Rows[2].SLO[0]; err != nil || v.Verdict != stats.Undecided || v.Why != "unexpected EOF" {
		t.Errorf("records that can't be read: %v, %+v", err, v)
	}
	if lines := run.Evaluated.Lines(); run.Rows[1].SLO[0].Verdict == stats.Undecided || len(run.Evaluated.Stored) != 2 || !slices.Contains(lines, "without readable records, so UNDECIDED: "+damaged) {
		t.Errorf("%q", lines)
	}
}

func TestLimitsText(t *testing.T) {
	row := func(name, slo string) *experiment.Spec {
		return &experiment.Spec{Name: name, SLO: unitfixture.SLO(t, slo)}
	}
	mixed := row("m", `ttft_p95 = "1s"`)
	mixed.Mix = []workload.Class{{Name: "chat", SLO: map[string]any{"ttft_p95": "300ms"}}, {Name: "batch"}}
	a, b := row("a", "ttft_p95 = \"1s\"\nerror_rate = 0.1"), row("b", "ttft_p95 = \"1s\"\nmin_requests_per_s = 3\n[each]\ntpot = \"20ms\"")
	for want, specs := range map[string][]*experiment.Spec{
		"error rate ≤ 10 %, TTFT p95 ≤ 1 s":            {a, a},
		"TTFT p95 ≤ 1 s, others by row":                {a, b},
		"req/s ≥ 3, TTFT p95 ≤ 1 s, each.tpot ≤ 20 ms": {b},
		"limits by row": {a, row("c", "")},
		"no limit":      {row("c", "")},
		"TTFT p95 ≤ 1 s, TTFT p95 (class chat) ≤ 300 ms": {mixed},
	} {
		if got := limitsText(specs); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
