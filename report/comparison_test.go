package report

import (
	"io"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/text"
	fixture "bench/internal/reporttest"
	"bench/report/compare"
)

func TestComparisonText(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		s := fixture.Rendered(t, func(w io.Writer) error {
			return ComparisonText(w, fixture.Comparison(t),
				Screen{Width: width})
		})
		whole := strings.Join(strings.Fields(s), " ")
		for _, want := range []string{"FAIL: TPOT p50 +20.0 % [", "; 2 more FAIL", "▶ worse", "┆ threshold",
			"class rag) TPOT p50", `bench base\x1b[31m → new\x1b[31m`, "more figures, conditions and statistics: --format md or html"} {
			if !strings.Contains(whole, want) {
				t.Errorf("no %q in\n%s", want, s)
			}
		}
		if !strings.HasPrefix(s, "FAIL: ") {
			t.Errorf("the answer is not first: %.80q", s)
		}
		for line := range strings.SplitSeq(s, "\n") {
			if n := text.Width(line); n > width || strings.Contains(line, "\x1b") {
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
	if !strings.HasPrefix(text, "**FAIL:** TPOT p50 +20.0 %") ||
		!strings.Contains(text, "Changes, worse to the right:\n\n    ") ||
		strings.Count(text, "<details>") != 1 || strings.Count(text, "</details>") != 1 {
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
	likely := tested("tpot_p50", compare.Inconclusive, 8, -0.2, 16.8)
	likely.Base, likely.New, likely.P, likely.NeedForChange, likely.NeedRuns = new(10.0), new(10.8), new(0.055), 3, 7
	upgraded := func(c *compare.Comparison) {
		row := record.Row{Server: record.ServerState{Metrics: &telemetry.ServerUsage{Engine: "vllm"}}}
		c.Sides[1].Runs = []compare.Run{{Run: record.Run{Rows: []record.Row{row}}}}
		c.NewRuns = []compare.RunRef{{Name: "new", StartedAt: time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)}}
		c.Differences = []compare.Difference{{What: "seed", Base: "1", New: "2"},
			{What: "server version", Base: `{"version":"0.20.1"}`, New: `{"version":"0.21.0"}`}}
	}
	const point, at = "D concurrency=8", "D at concurrency 8"
	for _, x := range []struct {
		want    string
		metrics []compare.Metric
		more    func(c *compare.Comparison)
	}{
		{"output tok/s 100 → 109 ms, +8.8 % [+2.0, +15.4], better, " + at, []compare.Metric{better, open, same}, nil},
		{"TTFT p50 100 → 112 ms, +12.0 % [+8.0, +16.0], worse, " + at,
			[]compare.Metric{worse, raw("ttft_p99", 9)}, nil},
		{"TTFT p50 100 → 112 ms, +12.0 % [+8.0, +16.0], worse, " + at +
			"; output tok/s +8.8 % [+2.0, +15.4], better, " + at, []compare.Metric{better, worse}, nil},
		{"No change: the largest is E2E p50 100 → 100 ms, +0.20 % [-1.0, +1.4], " + at, []compare.Metric{same}, nil},
		{"TPOT p50 100 → 101 ms, +1.0 % [-6.0, +8.0], no lean, " + at + "; 6 runs a side decide",
			[]compare.Metric{same, needs}, nil},
		{"TPOT p50 10.0 → 10.8 ms, +8.0 % [-0.20, +16.8], likely worse (p = 0.97), " + at +
			"; vLLM 0.20.1 → 0.21.0; 3 runs a side decide", []compare.Metric{likely}, upgraded},
		{"Not tested: TTFT p99 100 → 109 ms, ~+9.0 %, " + at + ": n=20 is too small for p99",
			[]compare.Metric{raw("ttft_p99", 9)}, nil},
		// One of many that chance explains is only likely.
		{"TPOT p50 100 → 103 ms, +3.0 % [+0.20, +6.0], likely worse (p = 0.94), " + at +
			"; one of 3 main figures can differ so by chance",
			[]compare.Metric{tested("ttft_p50", compare.Inconclusive, 1, -9, 9), same, alone}, nil},
		{"Nothing compared: no figure is on both sides", nil, nil},
		// Of two searches the answers are compared, also where no load is common.
		{"max rate within SLO 10/s to 12/s → 12/s to 15/s, +20.0 % [0, +50.0], inconclusive, S", nil,
			func(c *compare.Comparison) {
				c.Searches = []compare.SearchAnswer{{Point: "S", Goal: "slo", Axis: "rate", Verdict: compare.Inconclusive,
					Change: new(0.2), CI95: &stats.Interval{Hi: 0.5},
					Base: compare.LoadInterval{Bracket: stats.Bracket{Low: new(10.0), High: new(12.0)}},
					New:  compare.LoadInterval{Bracket: stats.Bracket{Low: new(12.0), High: new(15.0)}}}}
			}},
		{"FAIL: TPOT p50 +5.1 % [+3.9, +6.3], " + at + "; 1 more FAIL", []compare.Metric{fail, better},
			func(c *compare.Comparison) {
				c.Gate = outcome(stats.Fail, false, compare.Case{Point: "E", Metric: "x",
					Verdict: stats.Fail}, compare.Case{Point: point, Metric: "tpot_p50", Verdict: stats.Fail})
			}},
		{"FAIL: TPOT p50 +5.1 % [+3.9, +6.3] since 14 Nov, " + at + "; driver 550.54 → 560.28",
			[]compare.Metric{fail, better}, func(c *compare.Comparison) {
				upgraded(c)
				c.Gate = outcome(stats.Fail, false, compare.Case{Point: point, Metric: "tpot_p50", Verdict: stats.Fail,
					SinceAt: time.Date(2026, 11, 14, 2, 0, 0, 0, time.UTC), Changed: []compare.Suspect{
						{Fact: compare.Fact{What: "client version", Value: "v2"}, Was: "v1"},
						{Fact: compare.Fact{What: "fact: driver", Value: "560.28"}, Was: "550.54"}}})
			}},
		{"FAIL: TPOT p50 +5.1 % [+3.9, +6.3] since 28 Nov, " + at + "; vLLM 0.20.1 → 0.21.0",
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				upgraded(c)
				c.Gate = outcome(stats.Fail, false, compare.Case{Point: point, Metric: "tpot_p50", Verdict: stats.Fail})
			}},
		{"PASS: none of 1 figure is worse by more than its threshold; the largest is TPOT p50 +5.1 % [+3.9, +6.3], " + at,
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Pass, true, compare.Case{Point: point, Metric: "tpot_p50",
					Verdict: stats.Pass})
			}},
		{"UNDECIDED, passes: error rate +0.20 points [-1.0, +1.4], no lean, " + at + "; 12 runs a side decide",
			[]compare.Metric{rate}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Undecided, true, compare.Case{Point: point, Metric: "error_rate",
					Verdict: stats.Undecided})
			}},
		{"UNDECIDED: TPOT p50 +5.1 % [+3.9, +6.3], " + at + ", more than its threshold only with invalid rows",
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Undecided, false, compare.Case{Point: point, Metric: "tpot_p50",
					Verdict: stats.Undecided, Suspected: true})
			}},
		{"UNDECIDED: TPOT p50 +5.1 % [+3.9, +6.3], " + at + "; invalid: r1 of night (errors)",
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Undecided, false, compare.Case{Point: point, Metric: "tpot_p50",
					Verdict: stats.Undecided, Why: fail.Describe() + "; invalid: r1 of night (errors)"})
			}},
		{"FAIL: TPOT p50 +5.1 % [+3.9, +6.3] since night-3, " + at,
			[]compare.Metric{fail}, func(c *compare.Comparison) {
				c.Gate = outcome(stats.Fail, false, compare.Case{Point: point, Metric: "tpot_p50",
					Verdict: stats.Fail, Since: "night-3"})
			}},
		{"New base: the first run here", nil, func(c *compare.Comparison) { c.NewBase = &compare.NewBase{} }},
		{"PASS: new base: the first run here", nil, func(c *compare.Comparison) {
			c.NewBase,
				c.Gate = &compare.NewBase{}, outcome(stats.Pass, true)
		}},
		{"Not compared: all earlier runs FAILed", nil,
			func(c *compare.Comparison) { c.NoBase = "all earlier runs FAILed" }},
		{"UNDECIDED: all figures, E: not measured in new: skipped", nil, func(c *compare.Comparison) {
			c.Gate = outcome(stats.Undecided, false, compare.Case{Point: "E", Verdict: stats.Undecided,
				Why: "not measured in new: skipped"})
		}},
		{"Not compared: prompts.file a.jsonl → b.jsonl and 1 more difference; raw: TPOT p50 +9.0 %, " + at,
			[]compare.Metric{{Name: "tpot_p50", RawChange: new(0.09), Base: new(1.0), New: new(1.09)}},
			func(c *compare.Comparison) {
				c.Points[0].Refused = true
				c.Points[0].Differences = []compare.Difference{
					{What: "prompts.file", Base: "a.jsonl", New: "b.jsonl", Key: "workload"},
					{What: "prompts.sha256", Base: "1", New: "2", Key: "workload"}, {What: "token times"}}
			}},
		{"Not compared: hardware h100 → h200; raw: TPOT p50 +9.0 %, " + at,
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
not compared: F: input.mean 16 → 32
only in base: G and 1 more point
only in new: I
left out of base: night-5: model a (new: b)
cautions: client_lag in all 2 rows; steal in all 2 rows
request records are missing, the spread within a repeat is estimated: night-1: A-r1
GPU-seconds to the answer: base 70.0, new 68.0`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What is refused or left out says what to do.
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
	left := ConditionTables(&compare.Comparison{LeftOut: []compare.LeftOut{{Run: "night-5", Why: "model a (new: b)"},
		{Run: "night-6", Row: "A-r1"}}})[4]
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
			texts = append(texts, c.Full())
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// What changed in a command is named with its flag.
func TestFactText(t *testing.T) {
	for _, x := range [][3]string{
		{"vllm serve m --port 1 --max-num-seqs 128 --tp 2", "vllm serve m --port 1 --max-num-seqs 256 --tp 2",
			"--max-num-seqs 128 → --max-num-seqs 256"},
		{"vllm serve m", "vllm serve m --eager", "none → --eager"},
		{"serve --a 1", "serve --b 1", "--a 1 → --b 1"},
		{"serve --a=1 --c", "serve --a=2 --c", "--a=1 → --a=2"},
		{"", "x", "none → x"},
	} {
		d := compare.Difference{What: "server command", Base: x[0], New: x[1]}
		if got := factTexts([]compare.Difference{d}, "vLLM")[0]; got != "server command "+x[2] {
			t.Errorf("%q, want %q", got, x[2])
		}
	}
	long := compare.Difference{What: "fact: image", Base: strings.Repeat("a", 70), New: "b"}
	if got := factTexts([]compare.Difference{long}, "")[0]; got != "image "+strings.Repeat("a", 29)+"… → b" {
		t.Error(got)
	}
	for name, want := range map[string]string{"chat": "chat",
		"a b rate=4 input.mean=512 (class rag)": "a b at rate 4, input.mean 512 (class rag)"} {
		if got := PointWords(name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
