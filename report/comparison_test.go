package report

import (
	"io"
	"strings"
	"testing"

	"bench/report/fixture"

	"bench/experiment/columns"
	"bench/report/compare"
)

func TestComparisonText(t *testing.T) {
	text := fixture.Rendered(t, func(w io.Writer) error { return ComparisonText(w, fixture.Comparison(t), Screen{}) })
	for _, want := range []string{"gate: UNDECIDED, does not pass", "tpot_p50 ", "+20.0 %", "worse (p=0.0286)", "(class rag) · tpot_p50 · UNDECIDED", "rate=4: class rag", "r5 · left out of base", "r2 · included", `client version · base\x1b[31m · new\x1b[31m · noted`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if n := columns.Width(line); n > usualWidth || strings.Contains(line, "\x1b") {
			t.Errorf("%d Columns: %q", n, line)
		}
	}
}

// What is refused or left out says what to do, and what needed repeats would detect.
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
	undecided := compare.Metric{Name: "ttft_p50", Verdict: compare.Inconclusive, Margin: 0.05, NeedRepeats: 502}
	if c := judgedCell(&undecided, false); c.Text != "inconclusive (needs 502 repeats)" {
		t.Errorf("%q", c.Text)
	}
	undecided.NeedForChange = 4
	if c := judgedCell(&undecided, false); c.Text != "inconclusive (needs 4 repeats)" {
		t.Errorf("a change far above the margin: %q", c.Text)
	}
	rate := compare.Metric{Name: "error_rate", Verdict: compare.Inconclusive, Margin: 0.01, NeedRepeats: 130}
	if note := neededNote([]compare.Metric{undecided, rate}); !strings.Contains(note, "the change shown, or 5 %, 1 % (error_rate) if it is smaller") {
		t.Errorf("%q", note)
	}
	if note := neededNote([]compare.Metric{{Verdict: compare.Better}}); note != "" {
		t.Errorf("%q", note)
	}
}
