package page

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"bench/experiment"
	fixture "bench/internal/reporttest"
	"bench/report"
	"bench/report/compare"
	"bench/report/export"
)

// Nothing that a server calls itself runs in the page, breaks a table, or reaches the terminal as it is.
func TestComparisonIsEscaped(t *testing.T) {
	c := fixture.Comparison(t)
	html := fixture.Rendered(t, func(w io.Writer) error { return Comparison(w, c) })
	if !strings.Contains(html, "(class rag)") || strings.Contains(html, fixture.Hostile) ||
		strings.Contains(html, "<script>window") || strings.Contains(html, "\x1b") {
		t.Error("a script of the server's is in the page")
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") {
		t.Error("the policy is missing")
	}
	if answer, picture := strings.Index(html, ">FAIL: TPOT p50 &#43;20.0 %"), strings.Index(html, "s-forest"); answer < 0 ||
		picture < answer || strings.Index(html, "<table") < picture {
		t.Error("the page is not in the order answer, picture, tables")
	}
	if text := fixture.Rendered(t,
		func(w io.Writer) error { return export.WriteJSON(w, c) }); !strings.Contains(text,
		`"schema": "bench/comparison/v2"`) || strings.Contains(text, "<script>") {
		t.Error("not the data of a comparison")
	}
	none := &compare.Comparison{Base: fixture.Hostile, New: "b", Missing: []string{fixture.Hostile}}
	if html := fixture.Rendered(t,
		func(w io.Writer) error { return Comparison(w, none) }); strings.Contains(html, "zrender") ||
		strings.Contains(html, fixture.Hostile) {
		t.Error("a library that draws nothing is in the page, or hostile text")
	}
}

// sidesOfRuns compares two runs of another.
func sidesOfRuns(t *testing.T, base, changed *report.Run, gate ...experiment.Threshold) *compare.Comparison {
	t.Helper()
	m := multiRun{runs: []*report.Run{base, changed}, names: []string{"monday", "tuesday" + fixture.Hostile}}
	c, err := compare.Compare(m.side(0), m.side(1), compare.Options{Gate: experiment.Gate{Thresholds: gate}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The forest has a category for each line, the marks of each verdict, and a tick for each threshold; the
// curves of both sides are overlaid.
func TestForestChart(t *testing.T) {
	c := sidesOfRuns(t, another("monday", 1), another("tuesday", 1.2),
		experiment.Threshold{Metric: "tpot_p50", Worse: 0.03})
	f := report.NewForest(c)
	drawn := forestChart("f", "Changes", f.Main, f.Reach)
	axis := drawn.Option["yAxis"].([]any)
	names, changes := axis[0].(map[string]any)["data"].([]any), axis[1].(map[string]any)["data"].([]any)
	if len(names) != len(f.Main) || names[len(names)-1] != f.Main[0].Point+" · "+f.Main[0].Figure ||
		changes[len(names)-1] != f.Main[0].Change.Full()+" FAIL" {
		t.Errorf("%v\n%v", names, changes)
	}
	marks := map[string]int{}
	for _, s := range drawn.Option["series"].([]any) {
		s := s.(map[string]any)
		data, _ := s["data"].([]any)
		name, _ := s["name"].(string) // zero has none
		marks[name] += len(data)
	}
	if marks["threshold"] != 4 || marks["worse"] != len(f.Main) || marks["95 % interval"] < 3*len(f.Main) {
		t.Errorf("%v", marks)
	}
	html := fixture.Rendered(t, func(w io.Writer) error { return Comparison(w, c) })
	var both curveSet
	if err := json.Unmarshal(curvesOf(t, []byte(html), "all-curves"), &both); err != nil {
		t.Fatal(err)
	}
	if len(both.Curves) != 2 || both.Curves[0].Name != "base" || both.Curves[1].Name != "new" ||
		len(both.Curves[1].Points) != 4 {
		t.Errorf("%d curves", len(both.Curves))
	}
}

// A side of several runs has one curve: their rows of a point are its repeats.
func TestSideOfSeveralRuns(t *testing.T) {
	a, b := another("monday", 1), another("tuesday", 1.1)
	m := multiRun{runs: []*report.Run{a, b}, names: []string{"a", "b"}}
	two := m.side(0)
	two.Runs = append(two.Runs, m.side(1).Runs...)
	set := sidesOf([2]compare.Side{two, m.side(1)}).curves()
	if len(set.Curves) != 2 || len(set.Curves[0].Points) != 4 ||
		!(set.Curves[0].Points[0].Output[0] > set.Curves[1].Points[0].Output[0]) {
		t.Errorf("%+v", set.Curves)
	}
}

// Sides that are not comparable are overlaid with their raw changes, and the page names the knob that
// differs.
func TestRefusedComparison(t *testing.T) {
	a, b := another("monday", 1), another("tuesday", 1.2)
	a.Manifest.Target.Hardware, b.Manifest.Target.Hardware = "h100-sxm", "h200-sxm"
	html := fixture.Rendered(t, func(w io.Writer) error { return Comparison(w, sidesOfRuns(t, a, b)) })
	for _, want := range []string{"Not compared: hardware h100-sxm → h200-sxm; raw: ",
		"all-curves", "s-forest", "not tested", "&#43;20.0 %", "not compared"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestHistory(t *testing.T) {
	h := fixture.History()
	text := fixture.Rendered(t, func(w io.Writer) error { return report.HistoryText(w, h, report.Screen{}) })
	for _, want := range []string{"2 alarms: TTFT p99 +", "since 2027-01-18", "60 nights", "Alarms",
		"Changes", "gate in 1 night: 1 FAIL", "2026-12-30 12:00", "% worse", "server version"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	alone := compare.NewHistory([]compare.Night{{Run: "1", StartedAt: fixture.Began, Group: compare.GroupKey{Matrix: "m"},
		Points: []compare.NightPoint{{Name: "A", Figures: map[string]compare.Value{"ttft_p99": {X: 1, Repeats: 1}}}}}})
	if text := fixture.Rendered(t, func(w io.Writer) error {
		return report.HistoryText(w, alone,
			report.Screen{})
	}); !strings.Contains(text,
		"not watched yet: an alarm needs 10 valid nights before the last one, not 0") {
		t.Errorf("a night that says nothing: %s", text)
	}
	for _, f := range []func(io.Writer, *compare.History) error{History, report.HistoryMarkdown, func(w io.Writer, h *compare.History) error { return export.WriteJSON(w, h) }} {
		if strings.Contains(fixture.Rendered(t, func(w io.Writer) error { return f(w, h) }), "<script>window") {
			t.Error("a script of the server's is in it")
		}
	}
}

// A point's bidi and control characters are visible wherever a page shows its name.
func TestNamesAreVisible(t *testing.T) {
	const name, visible = "A\u202e\x1b", `A\u202e\x1b`
	nights := []compare.Night{{Run: "1", StartedAt: fixture.Began, Group: compare.GroupKey{Matrix: "m"},
		GateError: "reading " + name,
		Points: []compare.NightPoint{{Name: name,
			Figures: map[string]compare.Value{"ttft_p99": {X: 1, Repeats: 1}}}}}}
	history := fixture.Rendered(t, func(w io.Writer) error { return History(w, compare.NewHistory(nights)) })
	c := fixture.Comparison(t)
	c.Points[0].Name = name
	comparison := fixture.Rendered(t, func(w io.Writer) error { return Comparison(w, c) })
	data := regexp.MustCompile(`(?s)<script type="application/json".*?</script>`)
	for _, html := range []string{history, comparison} {
		html = data.ReplaceAllString(html, "")
		if !strings.Contains(html, visible) || strings.ContainsAny(html, "\u202e\x1b") {
			t.Errorf("not visible: %.300q", html[max(0, strings.IndexAny(html, "\u202e\x1b")-200):])
		}
	}
	if !strings.Contains(history, `aria-label="ttft_p99 of `+visible+` by date`) ||
		!strings.Contains(history, "gate unreadable in 1 night: reading "+visible) {
		t.Error("the chart's description or the damaged gate is missing")
	}
}
