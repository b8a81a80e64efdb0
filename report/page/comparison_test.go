package page

import (
	"io"
	"strings"
	"testing"

	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/fixture"
)

// Nothing that a server calls itself runs in the page, breaks a table, or reaches the terminal as it is.
func TestComparisonIsEscaped(t *testing.T) {
	c := fixture.Comparison(t)
	html := fixture.Rendered(t, func(w io.Writer) error { return Comparison(w, c) })
	if !strings.Contains(html, ": class rag") || strings.Contains(html, fixture.Hostile) || strings.Contains(html, "<script>window") {
		t.Error("a script of the server's is in the page")
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") || strings.Contains(html, "zrender") {
		t.Error("the policy is missing, or a library that draws nothing is in the page")
	}
	md := fixture.Rendered(t, func(w io.Writer) error { return report.ComparisonMarkdown(w, c) })
	if strings.Contains(md, "<script>") || !strings.Contains(md, ": class rag") {
		t.Error("HTML is in the Markdown, or a class is not")
	}
	if text := fixture.Rendered(t, func(w io.Writer) error { return export.WriteJSON(w, c) }); !strings.Contains(text, `"schema": "bench/comparison/v1"`) || strings.Contains(text, "<script>") {
		t.Error("not the data of a comparison")
	}
}

func TestHistory(t *testing.T) {
	h := fixture.History()
	text := fixture.Rendered(t, func(w io.Writer) error { return report.HistoryText(w, h, report.Screen{}) })
	for _, want := range []string{"60 nights", "Alarms", "Changes", "2026-12-30 12:00", "% worse", "server version"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	alone := compare.NewHistory([]compare.Night{{Run: "1", StartedAt: fixture.Began, Group: compare.GroupKey{Matrix: "m"},
		Points: []compare.NightPoint{{Name: "A", Figures: map[string]compare.Value{"ttft_p99": {X: 1, Repeats: 1}}}}}})
	if text := fixture.Rendered(t, func(w io.Writer) error { return report.HistoryText(w, alone, report.Screen{}) }); !strings.Contains(text, "Not tested for alarms\n  A (ttft_p99) · the last night is invalid") {
		t.Errorf("a night that says nothing: %s", text)
	}
	for _, f := range []func(io.Writer, *compare.History) error{History, report.HistoryMarkdown, func(w io.Writer, h *compare.History) error { return export.WriteJSON(w, h) }} {
		if strings.Contains(fixture.Rendered(t, func(w io.Writer) error { return f(w, h) }), "<script>window") {
			t.Error("a script of the server's is in it")
		}
	}
}
