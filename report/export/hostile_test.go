package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"unicode"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report"
	"bench/report/compare"
)

// attack has what moves a cursor, sets a title, reverses a line, and ends a line or a value.
const attack = "x\x1b[2J\x1b]0;pwn\a\u009b31m\u202e\u2066\u2028\r\n\n\"},{\\,=1+cmd\x00\x7f\xff\U000e0041"

// attacked is a run with a text in every place that a server or a file can fill.
func attacked(text string) *report.Run {
	run, _ := ours()
	run.Dir = text
	m := &run.Manifest
	m.Matrix, m.Run, m.Client.Version, m.Hypothesis, m.Notes = "m"+text, "r"+text, "v"+text, text, []string{text}
	m.Target.Model, m.Target.Hardware, m.Target.Endpoint, m.Target.Precision = "model"+text, "gpu"+text, "h"+text, text
	row := &run.Rows[0]
	row.ID = "id" + text
	m.Plan = []record.Planned{{ID: row.ID, State: "done"}, {ID: "missing" + text, State: "failed", Error: text}}
	run.Missing = []string{"missing" + text}
	row.Spec.Name, row.Spec.Expect, row.Spec.Variant, row.PromptForm = "name"+text, text, text, text
	row.Spec.Point = []experiment.Axis{{Key: "key" + text, Value: "value" + text}}
	row.Summary.Requests.Errors = map[string]int{"error" + text: 1}
	row.Findings = []record.Finding{{Code: "code" + text, Severity: record.Caution, Text: text, Hint: text}}
	row.SLO = []record.Verdict{{Metric: "ttft_p95", Class: text, Verdict: stats.Fail, Why: text}}
	records := run.Records
	run.Records = func(r *record.Row) ([]*record.Record, error) {
		all, err := records(r)
		first := *all[1]
		first.ServerID, first.Class, first.Error, first.Finish, first.Outcome = text, text, text, text, "status"
		return append([]*record.Record{&first}, all...), err
	}
	return run
}

// TestHostileText: no format of text lets a control, format or separator character pass, and none gets a line more.
func TestHostileText(t *testing.T) {
	c := func(text string) *compare.Comparison {
		return &compare.Comparison{Base: text, New: "n" + text, Missing: []string{text},
			LeftOut: []compare.LeftOut{{Run: text, Row: text, Why: text}}, NoBase: text,
			NewBase: &compare.NewBase{Latest: text,
				Changed: []compare.Difference{{What: text, Base: text, New: text, Key: "model"}}},
			WithoutRecords: []string{text}, Gate: &compare.Outcome{
				Verdict: stats.Fail, Cases: []compare.Case{{Point: text, Class: text, Metric: "ttft_p99",
					Verdict: stats.Fail, Why: text}}}}
	}
	compared := func(text string) *compare.Comparison {
		x := c(text)
		x.NewBase, x.NoBase = nil, ""
		figures := []compare.Metric{{Name: "ttft_p99", Unit: "ms", Base: new(1.0), New: new(2.0),
			RawChange: new(1.0), Verdict: compare.Inconclusive, Why: text}}
		x.Points = []compare.Point{{Name: text, Metrics: figures,
			Classes:  []compare.Class{{Name: text, Metrics: figures}},
			Cautions: []compare.Cautions{{Run: text, Row: text, New: true, Codes: []string{text}}}}}
		x.Searches = []compare.SearchAnswer{{Point: text, Goal: text, Axis: text, Why: text}}
		x.Differences = []compare.Difference{{What: text, Base: text, New: text, Key: text}}
		return x
	}
	formats := map[string]func(io.Writer, string) error{
		"csv":  func(w io.Writer, text string) error { return CSV(w, attacked(text)) },
		"json": func(w io.Writer, text string) error { return JSON(w, attacked(text)) },
		"vllm": func(w io.Writer, text string) error { return VLLM(w, attacked(text)) },
		"text": func(w io.Writer, text string) error {
			return report.Text(w, attacked(text),
				report.Screen{})
		},
		"md":    func(w io.Writer, text string) error { return report.Markdown(w, attacked(text)) },
		"junit": func(w io.Writer, text string) error { return JUnit(w, c(text)) },
		"comparison": func(w io.Writer, text string) error {
			return report.ComparisonText(w,
				compared(text), report.Screen{})
		},
		"comparison md": func(w io.Writer, text string) error {
			return report.ComparisonMarkdown(w,
				compared(text))
		},
		"new base": func(w io.Writer, text string) error {
			return report.ComparisonText(w, c(text),
				report.Screen{})
		},
		"comparison of JSON": func(w io.Writer, text string) error {
			return WriteJSON(w, c(text))
		},
	}
	for name, write := range formats {
		t.Run(name, func(t *testing.T) {
			var plain, hostile bytes.Buffer
			if err := write(&plain, "plain"); err != nil {
				t.Fatal(err)
			}
			if err := write(&hostile, attack); err != nil {
				t.Fatal(err)
			}
			for _, r := range hostile.String() {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Fatalf("%U in\n%.2000q", r, hostile.String())
				}
			}
			if was, is := bytes.Count(plain.Bytes(), []byte("\n")), bytes.Count(hostile.Bytes(), []byte("\n")); was != is && !wraps(name) {
				t.Errorf("%d lines, %d of plain text", is, was)
			}
			switch name {
			case "csv":
				lines, err := csv.NewReader(&hostile).ReadAll()
				if err != nil || len(lines) != 3 {
					t.Errorf("%d lines, %v", len(lines), err)
				}
			case "json", "vllm":
				var v any
				if err := json.Unmarshal(hostile.Bytes(), &v); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// wraps reports whether a format breaks long lines.
func wraps(format string) bool {
	return slices.Contains([]string{"text", "md", "comparison", "comparison md", "new base"}, format)
}
