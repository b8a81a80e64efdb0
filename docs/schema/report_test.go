package schema

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/report"
	"bench/report/export"
)

// saidOf is what bench report --format json writes of runs.
func saidOf(t *testing.T, runs ...*report.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := export.JSON(&b, runs...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// runOf is a run of rows that say what they must.
func runOf(rows ...record.Row) *report.Run {
	r := &report.Run{Run: record.Run{Rows: rows, Manifest: record.Manifest{Run: "20261121T120000Z", Matrix: "m", StartedAt: time.Unix(1.8e9, 0)}}}
	for _, row := range rows {
		r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: row.ID, Name: row.Spec.Name, State: "done"})
	}
	return r
}

// TestSchemaOfReport: what bench report --format json writes, and the page carries, is a document of the
// schema: of repeats with and
// without an SLO, of a row without streaming, of one of which nothing came, of a run without a row, and of
// the example.
func TestSchemaOfReport(t *testing.T) {
	judged := resultOf("a", 80, 3).Rows
	for i := range judged {
		judged[i].SLO = []record.Verdict{{Metric: "ttft_p50", Limit: 100, Unit: "ms", Verdict: "PASS"}}
	}
	flagged := resultOf("b", 80, 1).Rows
	flagged[0].Findings = []record.Finding{{Code: "rate", Severity: record.Caution, Text: "it did not keep up", Hint: "lower it"}}
	flagged[0].Summary.TTFT = nil
	nothing := record.Row{ID: "N-r1", Spec: experiment.Spec{Name: "N", Repeat: 1}}
	compiled := compile(t)
	again := runOf(judged...)
	again.Evaluated = &report.Evaluated{Text: "evaluated again", Limits: "ttft_p50=100ms", Stored: []string{"a-r1"}}
	text := saidOf(t, again, runOf(flagged...), runOf(nothing), runOf())
	for _, want := range []string{`"evaluated_again":`, `"spread":`, `"resampled":`, `"verdict": "PASS"`, `"verdict": ""`, `"series": []`, `"findings": []`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if absent := `"per_user_tokens_per_s":`; strings.Contains(string(text), absent) {
		t.Errorf("%s of rows without tpot", absent)
	}
	validate(t, compiled, "reports", documents{"report": {text, saidOf(t)}})
	dirs, err := filepath.Glob(filepath.Join("results", "example", "*Z"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		run, err := report.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		validate(t, compiled, dir, documents{"report": {saidOf(t, run)}})
	}
	of := func(d map[string]any) map[string]any {
		return d["runs"].([]any)[0].(map[string]any)
	}
	spoiled(t, "report", text, map[string]func(d map[string]any){
		"earlier version": func(d map[string]any) { d["schema"] = "bench/report/v1" },
		"no runs":         func(d map[string]any) { d["runs"] = nil },
		"another verdict": func(d map[string]any) { of(d)["answer"].(map[string]any)["verdict"] = "MAYBE" },
		"no findings":     func(d map[string]any) { of(d)["findings"] = nil },
		"no answer":       func(d map[string]any) { delete(of(d), "answer") },
		"a point alone":   func(d map[string]any) { of(d)["answer"].(map[string]any)["accepted"] = 0 },
		"unknown field":   func(d map[string]any) { of(d)["operating"] = 3 },
	})
}
