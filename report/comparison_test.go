package report

import (
	"io"
	"strings"
	"testing"

	"bench/experiment/columns"
	"bench/experiment/stats"
	fixture "bench/internal/reporttest"
	"bench/report/compare"
)

func TestComparisonText(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		text := fixture.Rendered(t, func(w io.Writer) error {
			return ComparisonText(w, fixture.Comparison(t),
				Screen{Width: width})
		})
		whole := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"FAIL: tpot_p50 at A", "is +20.0 % [", "more than +5 %; 2 more FAIL",
			"TPOT p50", "▶ worse", "┆ threshold", "rate=4: class rag", "FAIL: worse (p=",
			"-r5 · left out of base", "-r2 · included",
			`client version · base\x1b[31m · new\x1b[31m · noted`} {
			if !strings.Contains(whole, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if !strings.HasPrefix(text, "FAIL: ") {
			t.Errorf("the answer is not first: %.80q", text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if n := columns.Width(line); n > width || strings.Contains(line, "\x1b") {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
	}
}

// The Markdown begins with the answer; HTML of a server stands only in code, which follows a paragraph and
// not a list.
func TestComparisonMarkdown(t *testing.T) {
	text := fixture.Rendered(t, func(w io.Writer) error {
		return ComparisonMarkdown(w,
			fixture.Comparison(t))
	})
	if !strings.HasPrefix(text, "**FAIL**: tpot_p50 at A") ||
		!strings.Contains(text, "Changes, worse to the right:\n\n    ") ||
		strings.Count(text, "<details>") != 2 || strings.Count(text, "</details>") != 2 {
		t.Errorf("%.900s", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "<script") && !strings.HasPrefix(line, "    ") {
			t.Errorf("%q", line)
		}
	}
}

func TestAnswerComparison(t *testing.T) {
	better, worse := tested("output_tokens_per_s", compare.Better, 8.8, 2, 15.4),
		tested("ttft_p50", compare.Worse, 12, 8, 16)
	open, same := tested("tpot_p50", compare.Inconclusive, 1, -6, 8),
		tested("e2e_p50", compare.NoChange, 0.2, -1, 1.4)
	needs := open
	needs.NeedRuns = 6
	alone := tested("tpot_p50", compare.Worse, 3, 0.2, 6)
	alone.P = new(0.04)
	fail := gated(tested("tpot_p50", compare.Worse, 5.1, 3.9, 6.3), 0.03, stats.Fail)
	rate := gated(tested("error_rate", compare.Inconclusive, 0.2, -1, 1.4), 0.005, stats.Undecided)
	rate.NeedRuns = 12
	outcome := func(v stats.Verdict, passes bool, cases ...compare.Case) *compare.Outcome {
		return &compare.Outcome{Verdict: v, Passes: passes, Cases: cases}
	}
	const at = "D concurrency=8"
	for _, x := range []struct {
		want    string
		metrics []compare.Metric
		more    func(c *compare.Comparison)
	}{
		{"NEW is better: +8.8 % output tok/s [+2.0, +15.4] at " + at +
			"; of 3 figures 1 better (output tok/s), 1 no change, 1 inconclusive", []compare.Metric{better, open, same},
			nil},
		{"NEW is worse: +12.0 % TTFT p50 [+8.0, +16.0] at " + at + "; of 1 figure 1 worse (TTFT); 1 not tested",
			[]compare.Metric{worse, raw("ttft_p99", 9)}, nil},
		{"NEW is better and worse: better: +8.8 % output tok/s [+2.0, +15.4] at " + at +
			"; worse: +12.0 % TTFT p50 [+8.0, +16.0] at " + at + "; of 2 figures 1 worse (TTFT), 1 better (output tok/s)",
			[]compare.Metric{better, worse}, nil},
		{"No change: of 1 figure 1 no change", []compare.Metric{same}, nil},
		{"Inconclusive: of 2 figures 1 no change, 1 inconclusive (TPOT p50: 6 runs per side would show 5 %)",
			[]compare.Metric{same, needs}, nil},
		// One of many that chance explains is counted and not named.
		{"Inconclusive: of 3 figures 1 worse if tested alone (TPOT), 1 no change, 1 inconclusive",
			[]compare.Metric{tested("ttft_p50", compare.Inconclusive, 1, -9, 9), same, alone}, nil},
		{"Nothing compared: no figure is on both sides", nil, nil},
		{"FAIL: tpot_p50 at " + at + " is +5.1 % [+3.9, +6.3], more than +3 %; 1 more FAIL",
			[]compare.Metric{fail, better},
			func(c *compare.Comparison) {
				c.Gate = outcome(stats.Fail, false, compare.Case{Point: "E", Metric: "x",
					Verdict: stats.Fail}, compare.Case{Point: at, Metric: "tpot_p50", Verdict: stats.Fail})
			}},
		{"PASS: none of 1 figure is worse by more than its threshold", []compare.Metric{fail},
			func(c *compare.Comparison) {
				c.Gate = outcome(stats.Pass, true, compare.Case{Point: at, Metric: "tpot_p50",
					Verdict: stats.Pass})
			}},
		{"UNDECIDED, passes: error_rate at " + at + " is +0.20 points [-1.0, +1.4], needs 12 runs per side",
			[]compare.Metric{rate}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Undecided, true, compare.Case{Point: at, Metric: "error_rate",
					Verdict: stats.Undecided})
			}},
		{"UNDECIDED: tpot_p50 at " + at + " is +5.1 % [+3.9, +6.3], more than +3 % only with invalid rows",
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Undecided, false, compare.Case{Point: at, Metric: "tpot_p50",
					Verdict: stats.Undecided, Suspected: true})
			}},
		{"UNDECIDED: tpot_p50 at " + at + " is +5.1 % [+3.9, +6.3]; invalid: r1 of night (errors)",
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Undecided, false, compare.Case{Point: at, Metric: "tpot_p50",
					Verdict: stats.Undecided, Why: fail.Describe() + "; invalid: r1 of night (errors)"})
			}},
		{"FAIL: tpot_p50 at " + at + " is +5.1 % [+3.9, +6.3], more than +3 %, known since night-3",
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Fail, false, compare.Case{Point: at, Metric: "tpot_p50",
					Verdict: stats.Fail, Since: "night-3"})
			}},
		{"New base: the first run here", nil, func(c *compare.Comparison) { c.NewBase = &compare.NewBase{} }},
		{"PASS: new base: the first run here", nil, func(c *compare.Comparison) {
			c.NewBase,
				c.Gate = &compare.NewBase{}, outcome(stats.Pass, true)
		}},
		{"Not compared: all earlier runs FAILed", nil,
			func(c *compare.Comparison) { c.NoBase = "all earlier runs FAILed" }},
		{"UNDECIDED: all figures at E: not measured in new: skipped", nil, func(c *compare.Comparison) {
			c.Gate = outcome(stats.Undecided, false, compare.Case{Point: "E", Verdict: stats.Undecided,
				Why: "not measured in new: skipped"})
		}},
		{"Not compared: prompts.file differs (a.jsonl → b.jsonl) and 1 more difference; raw: +9.0 % TPOT p50 at " + at,
			[]compare.Metric{{Name: "tpot_p50", RawChange: new(0.09), Base: new(1.0), New: new(1.09)}},
			func(c *compare.Comparison) {
				c.Points[0].Refused = true
				c.Points[0].Differences = []compare.Difference{
					{What: "prompts.file", Base: "a.jsonl", New: "b.jsonl", Key: "workload"},
					{What: "prompts.sha256", Base: "1", New: "2", Key: "workload"}, {What: "token times"}}
			}},
		{"Not compared: hardware differs (h100 → h200); raw: +9.0 % TPOT p50 at " + at,
			[]compare.Metric{{Name: "tpot_p50", RawChange: new(0.09), Base: new(1.0), New: new(1.09)}},
			func(c *compare.Comparison) {
				c.Refused, c.Points[0].Refused = true, true
				c.Differences = []compare.Difference{{What: "endpoint", Base: "a", New: "b"},
					{What: "hardware", Base: "h100", New: "h200", Key: "hardware"}}
			}},
	} {
		c := comparison(x.metrics...)
		if x.more != nil {
			x.more(c)
		}
		if a := AnswerComparison(c); a.Sentence() != x.want {
			t.Errorf("%s\nwant %s", a.Sentence(), x.want)
		}
	}
}

// The notes name what is not part of the answer, and the cautions that it rests on.
func TestNotesOfComparison(t *testing.T) {
	c := comparison(tested("tpot_p50", compare.Worse, 5, 4, 6))
	caution := []compare.Cautions{{Run: "r", Row: "1", New: true, Codes: []string{"client_lag", "steal"}}}
	c.Points[0].Cautions = caution
	c.Points = append(c.Points, compare.Point{Name: "E", Cautions: caution,
		Metrics: []compare.Metric{tested("tpot_p50", compare.NoChange, 0, -1, 1)}},
		compare.Point{Name: "F", Refused: true,
			Differences: []compare.Difference{{What: "input.mean", Base: "16", New: "32", Key: "workload"}}})
	c.Unmeasured = map[string]string{"G": "skipped in new: beyond the FAIL at 2"}
	if notes := strings.Join(notCompared(&compare.Comparison{Missing: []string{"G"}, Unmeasured: c.Unmeasured}), ""); notes != "only in base: G (skipped in new: beyond the FAIL at 2)" {
		t.Errorf("%q", notes)
	}
	c.Missing, c.Added, c.LeftOut = []string{"G", "H"}, []string{"I"},
		[]compare.LeftOut{{Run: "night-5", Why: "model a (new: b)"}}
	c.WithoutRecords = []string{"night-1: A-r1"}
	c.Searches = []compare.SearchAnswer{{Point: "S", Goal: "slo", Axis: "rate", Verdict: compare.Better,
		Base: compare.LoadInterval{Bracket: stats.Bracket{Low: new(10.0), High: new(12.0)}},
		New:  compare.LoadInterval{Bracket: stats.Bracket{Low: new(15.0)}}}}
	c.BaseGPUSeconds, c.NewGPUSeconds = new(70.0), new(68.0)
	got := strings.Join(AnswerComparison(c).Notes, "\n")
	want := `S, max rate within SLO: 10/s to 12/s → 15/s or above, better
not compared: F: input.mean differs (16 → 32)
only in base: G and 1 more point
only in new: I
left out of base: night-5: model a (new: b)
cautions at D concurrency=8: client_lag, steal
request records are missing, the spread within a repeat is estimated: night-1: A-r1
GPU-seconds to the answer: base 70.0, new 68.0`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What is refused or left out says what to do, and what needed runs would detect.
func TestComparisonStates(t *testing.T) {
	differences := DifferencesTable("d", "", []compare.Difference{
		{What: "prompt form", Base: "text", New: "token_ids", Key: "prompt_form"},
		{What: "connections", Base: "a", New: "b", Effect: "ttft contains the set-up"}, {What: "endpoint"},
	})
	for i, want := range []string{`api = "chat" sends text to both`, "ttft contains the set-up", "noted"} {
		if got := differences.Rows[i][3].Text; !strings.Contains(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
	left := LeftOutTable("l", "", []compare.LeftOut{{Run: "night-5", Why: "model a (new: b)"}, {Run: "night-6", Row: "A-r1"}})
	if left.Rows[0][1].Text != "all" || left.Rows[1][1].Text != "A-r1" {
		t.Errorf("%+v", left.Rows)
	}
	undecided := compare.Metric{Name: "ttft_p50", Verdict: compare.Inconclusive, Margin: 0.05, NeedRuns: 502}
	if c := comparedCell(&undecided, false); c.Text != "inconclusive (needs 502 runs)" {
		t.Errorf("%q", c.Text)
	}
	undecided.NeedForChange = 4
	if c := comparedCell(&undecided, false); c.Text != "inconclusive (needs 4 runs)" {
		t.Errorf("a change far above the margin: %q", c.Text)
	}
	if c := comparedCell(&undecided, true); c.Text != "not compared" {
		t.Errorf("%q", c.Text)
	}
	rate := compare.Metric{Name: "error_rate", Verdict: compare.Inconclusive, Margin: 0.01, NeedRuns: 130}
	if note := neededNote([]compare.Metric{undecided, rate}); !strings.Contains(note, "the change shown or, if that is smaller, 5 %, 1 point (error_rate).") {
		t.Errorf("%q", note)
	}
	if note := neededNote([]compare.Metric{{Verdict: compare.Better}}); note != "" {
		t.Errorf("%q", note)
	}
}

// No figure stands as a fact that its n does not carry, and every figure has its raw change, which the figures beside
// it give.
func TestComparisonMarksFigures(t *testing.T) {
	thin := tested("ttft_p99", compare.Worse, 5, 4, 6)
	thin.BaseQuoted = compare.Quoted{N: 400, Grade: stats.Thin}
	table := FiguresTable(comparison(raw("tpot_p99", -13.8), thin))
	for i, want := range []string{"D concurrency=8|tpot_p99|~100 ms|~86.2 ms|~-13.8 %|–|inconclusive",
		"D concurrency=8|ttft_p99|~100 ms|105 ms|~+5.0 %|+5.0 % [+4.0, +6.0]|worse (p=0.00100)"} {
		var texts []string
		for _, c := range table.Rows[i] {
			texts = append(texts, c.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
