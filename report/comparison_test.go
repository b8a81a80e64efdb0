package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/report/compare"
)

// hostileSide is a result of a server that calls itself hostile names; slower is a factor of its latencies. Of new a row is not valid;
// of base one more, which is left out.
func hostileSide(name string, slower float64) compare.Side {
	run := compare.Run{Name: name, Manifest: record.Manifest{Matrix: hostile, Client: record.ClientInfo{Version: name + "\x1b[31m"}}}
	run.Manifest.Target.Model = hostile
	repeats, invalid := 4, 2
	if name == "base" {
		repeats, invalid = 5, 5
	}
	for repeat := 1; repeat <= repeats; repeat++ {
		level := slower * (1 + 0.002*float64(repeat))
		row := shape{name: "A" + hostile, axes: axis("rate", "4"), rate: 4, repeat: repeat, n: 400, ttft: 80 * level, tpot: 12 * level, output: 500 / level}.row()
		row.Spec.Mix = []workload.Class{{Name: "chat" + hostile, Weight: 4}, {Name: "rag", Weight: 1}}
		row.Classes = map[string]record.Summary{}
		for _, c := range row.Spec.Mix {
			row.Classes[c.Name] = row.Summary
		}
		if repeat == invalid {
			row.Checks.Failed = []string{"lag"}
		}
		run.Rows = append(run.Rows, row)
	}
	return compare.Side{Name: name + hostile, Runs: []compare.Run{run}}
}

func hostileComparison(t *testing.T) *compare.Comparison {
	t.Helper()
	c, err := compare.Compare(hostileSide("base", 1), hostileSide("new", 1.2), compare.Options{Gate: experiment.Gate{Thresholds: []experiment.Threshold{{Metric: "tpot_p50", Worse: 0.05}}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rendered(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComparisonText(t *testing.T) {
	text := rendered(t, func(w io.Writer) error { return ComparisonText(w, hostileComparison(t), false) })
	for _, want := range []string{"gate: UNDECIDED, does not pass", "tpot_p50 ", "+20.0 %", "worse (p=0.0286)", "(class rag) · tpot_p50 · UNDECIDED", "rate=4: class rag", "r5 · left out of base", "r2 · in the figures", `client version · base\x1b[31m · new\x1b[31m · noted`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if n := cells(line); n > screen || strings.Contains(line, "\x1b") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// Nothing that a server calls itself runs in the page, breaks a table, or reaches the terminal as it is.
func TestComparisonIsEscaped(t *testing.T) {
	c := hostileComparison(t)
	html := rendered(t, func(w io.Writer) error { return ComparisonHTML(w, c) })
	if !strings.Contains(html, ": class rag") || strings.Contains(html, hostile) || strings.Contains(html, "<script>window") {
		t.Error("a script of the server's is in the page")
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") || strings.Contains(html, "zrender") {
		t.Error("the policy is missing, or a library that draws nothing is in the page")
	}
	md := rendered(t, func(w io.Writer) error { return ComparisonMarkdown(w, c) })
	if strings.Contains(md, "<script>") || !strings.Contains(md, ": class rag") {
		t.Error("HTML is in the Markdown, or a class is not")
	}
	if text := rendered(t, func(w io.Writer) error { return ComparisonJSON(w, c) }); !strings.Contains(text, `"schema": "bench/comparison/v1"`) || strings.Contains(text, "<script>") {
		t.Error("not the data of a comparison")
	}
}

func TestJUnit(t *testing.T) {
	for _, c := range []struct {
		verdict                   stats.Verdict
		passes                    bool
		failures, errors, skipped int
	}{{stats.Fail, false, 1, 0, 0}, {stats.Undecided, false, 0, 1, 0}, {stats.Undecided, true, 0, 0, 1}, {stats.Pass, false, 0, 0, 0}} {
		x := &compare.Comparison{Base: "a", New: "b", Gate: &compare.Outcome{Verdict: c.verdict, UndecidedPasses: c.passes,
			Cases: []compare.Case{{Point: "A\x00" + hostile, Class: "rag", Metric: "ttft_p99", Verdict: c.verdict, Why: "by\x1b 5 %"}}}}
		text := rendered(t, func(w io.Writer) error { return JUnit(w, x) })
		var s junitSuite
		if err := xml.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if s.Tests != 1 || s.Failures != c.failures || s.Errors != c.errors || s.Skipped != c.skipped || !strings.HasSuffix(s.Cases[0].Class, " (class rag)") || strings.Contains(text, "\x1b") {
			t.Errorf("%v, undecided passes %v: %s", c.verdict, c.passes, text)
		}
	}
}

// hostileHistory has a step and an alarm.
func hostileHistory() *compare.History {
	var nights []compare.Night
	for i := range 60 {
		x := 100 + float64(i*7%5)
		if i >= 40 {
			x *= 1.3
		}
		if i == 59 {
			x *= 2
		}
		nights = append(nights, compare.Night{Run: fmt.Sprint(i), StartedAt: began.AddDate(0, 0, i), Group: compare.GroupKey{Matrix: "m", Model: hostile},
			Facts: []compare.Fact{{What: "server version", Value: map[bool]string{false: hostile, true: "0.12"}[i >= 40]}},
			Points: []compare.NightPoint{{Name: "A" + hostile, Workload: "1", Valid: i != 3, Figures: map[string]compare.Value{
				"ttft_p99": {X: x, Repeats: 3, CI95: stats.Interval{Lo: x * 0.9, Hi: x * 1.1}}, "output_tokens_per_s": {X: 1e5 / x, Repeats: 3, CI95: stats.Interval{Lo: 9e4 / x, Hi: 1.1e5 / x}}}}}})
	}
	return compare.NewHistory(append(nights, compare.Night{Dir: hostile, Error: hostile, StartedAt: time.Time{}}))
}

func TestHistory(t *testing.T) {
	h := hostileHistory()
	text := rendered(t, func(w io.Writer) error { return HistoryText(w, h, false) })
	for _, want := range []string{"60 nights", "Alarms", "Changes", "2026-12-30 12:00", "% worse", "server version"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	alone := compare.NewHistory([]compare.Night{{Run: "1", StartedAt: began, Group: compare.GroupKey{Matrix: "m"},
		Points: []compare.NightPoint{{Name: "A", Figures: map[string]compare.Value{"ttft_p99": {X: 1, Repeats: 1}}}}}})
	if text := rendered(t, func(w io.Writer) error { return HistoryText(w, alone, false) }); !strings.Contains(text, "Not watched\n  A (ttft_p99) · the last night is invalid") {
		t.Errorf("a night that says nothing: %s", text)
	}
	for _, f := range []func(io.Writer, *compare.History) error{HistoryHTML, HistoryMarkdown, HistoryJSON} {
		if strings.Contains(rendered(t, func(w io.Writer) error { return f(w, h) }), "<script>window") {
			t.Error("a script of the server's is in it")
		}
	}
}

// The trend page draws its charts under its own policy.
func TestHistoryInBrowser(t *testing.T) {
	html := rendered(t, func(w io.Writer) error { return HistoryHTML(w, hostileHistory()) })
	want := len(regexp.MustCompile(`class="chart-data"`).FindAllString(html, -1))
	if want != 2 {
		t.Fatalf("%d charts", want)
	}
	dom := browse(t, []byte(html), "1280,4000")
	if got := attribute(t, dom, "charts"); got != want || attribute(t, dom, "ready") == 0 || strings.Contains(dom, "__xss=1<") {
		t.Errorf("%d charts stand, want %d", got, want)
	}
}
