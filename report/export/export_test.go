package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	fixture "bench/internal/reporttest"
	"bench/report"
	"bench/report/compare"
)

var update = flag.Bool("update", false, "write the goldens anew")

func fixtureRun() *report.Run {
	r := &report.Run{Dir: "results/chat/20261120T120000Z", Notes: fixture.Notes, Missing: []string{"I-lost-r1"}}
	r.Manifest, r.Rows = fixture.Run()
	return r
}

func TestCSV(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Spec.Name = "=HYPERLINK(1)"
	var b bytes.Buffer
	if err := CSV(&b, run); err != nil {
		t.Fatal(err)
	}
	fixture.Golden(t, *update, "rows.golden.csv", b.Bytes())
	lines, err := csv.NewReader(&b).ReadAll() // refuses lines of different lengths
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(run.Rows) + len(run.Missing); len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, line := range lines {
		for _, field := range line {
			if strings.IndexAny(field, "=+-@\t\r") == 0 {
				t.Errorf("a spreadsheet would run %q", field)
			}
		}
	}
}

func TestCSVLeavesUnstatedEmpty(t *testing.T) {
	rows := []record.Row{
		{ID: "open", Spec: experiment.Spec{Workload: workload.Workload{Rate: 2}}},
		{ID: "capped", Spec: experiment.Spec{Workload: workload.Workload{Rate: 2}, Load: workload.Load{Concurrency: 8}}},
		{ID: "undecided", SLO: []record.Verdict{{Verdict: stats.Undecided}}},
		{ID: "needs", SLO: []record.Verdict{{Verdict: stats.Undecided, Need: 12}}},
		{ID: "passes", SLO: []record.Verdict{{Verdict: stats.Pass}}, Roofline: &record.Roofline{}},
	}
	var b bytes.Buffer
	if err := CSV(&b, &report.Run{Run: record.Run{Rows: rows}}); err != nil {
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

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, fixtureRun()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema string
		Runs   []struct {
			Answer struct{ Verdict, Text string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != report.SchemaDocument || len(got.Runs) != 1 || got.Runs[0].Answer.Verdict != "UNDECIDED" {
		t.Errorf("%+v", got)
	}
}

func TestJUnit(t *testing.T) {
	for _, c := range []struct {
		verdict                   stats.Verdict
		passes                    bool
		failures, errors, skipped int
	}{{stats.Fail, false, 1, 0, 0}, {stats.Undecided, false, 0, 1, 0}, {stats.Undecided, true, 0, 0, 1}, {stats.Pass, false, 0, 0, 0}} {
		x := &compare.Comparison{Base: "a", New: "b", Gate: &compare.Outcome{Verdict: c.verdict, UndecidedPasses: c.passes,
			Cases: []compare.Case{{Point: "A\x00" + fixture.Hostile, Class: "rag", Metric: "ttft_p99", Verdict: c.verdict, Why: "by\x1b 5 %"}}}}
		text := fixture.Rendered(t, func(w io.Writer) error { return JUnit(w, x) })
		var s junitSuite
		if err := xml.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if s.Tests != 1 || s.Failures != c.failures || s.Errors != c.errors || s.Skipped != c.skipped || !strings.HasSuffix(s.Cases[0].Class, " (class rag)") || strings.Contains(text, "\x1b") {
			t.Errorf("%v, undecided passes %v: %s", c.verdict, c.passes, text)
		}
	}
}

// What is known, proven, left out or not compared has a case of its own kind.
func TestJUnitKinds(t *testing.T) {
	fail := compare.Case{Point: "A", Metric: "ttft_p99", Verdict: stats.Fail, Why: "worse"}
	known := fail
	known.Since = "n1"
	suspected := compare.Case{Point: "B", Metric: "ttft_p99", Verdict: stats.Undecided, Suspected: true}
	left := []compare.LeftOut{{Run: "n2", Why: "its gate was FAIL"}}
	for name, x := range map[string]struct {
		c    compare.Comparison
		want string
	}{
		"regression": {compare.Comparison{Gate: &compare.Outcome{UndecidedPasses: true, Cases: []compare.Case{fail}}},
			`<failure message="TTFT p99, A: worse" type="regression">worse</failure>`},
		"known": {compare.Comparison{Gate: &compare.Outcome{Cases: []compare.Case{known}}},
			`<skipped message="TTFT p99, A: known since n1: worse">`},
		"suspected": {compare.Comparison{Gate: &compare.Outcome{UndecidedPasses: true,
			Cases: []compare.Case{suspected}}}, `<error message="TTFT p99, B:" type="undecided">`},
		"left out": {compare.Comparison{LeftOut: left},
			`<testcase classname="left out of base" name="n2">`},
		"left out of point": {compare.Comparison{Points: []compare.Point{{LeftOut: []compare.LeftOut{{Run: "n2", Row: "A-r1", Why: "concurrency 8"}}}}},
			`<testcase classname="left out of base" name="n2 A-r1">`},
		"new base": {compare.Comparison{NewBase: &compare.NewBase{}, Gate: &compare.Outcome{}},
			`<skipped message="new base: the first run here">`},
	} {
		text := fixture.Rendered(t, func(w io.Writer) error { return JUnit(w, &x.c) })
		if !strings.Contains(text, x.want) || !strings.Contains(text, `tests="1"`) {
			t.Errorf("%s: no %s in\n%s", name, x.want, text)
		}
	}
}

// Without reasoning TTFO is TTFT, in CSV as on the screen.
func TestCSVHasTTFOWithoutReasoning(t *testing.T) {
	row := &record.Row{Summary: record.Summary{TTFT: stats.Summarize([]float64{3, 4, 5})}}
	line := csvRow(&report.Run{Evaluated: &report.Evaluated{}}, row)
	for i, head := range line.heads {
		if metric, ok := strings.CutPrefix(head, "ttfo_"); ok {
			if ttft := line.values[slices.Index(line.heads, "ttft_"+metric)]; ttft == "" && metric == "p50_ms" || line.values[i] != ttft {
				t.Errorf("%s %q, ttft %q", head, line.values[i], ttft)
			}
		}
	}
}
