package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLoad(t *testing.T) {
	want := fixtureRun()
	got, err := Load(write(t, want))
	if err != nil {
		t.Fatal(err)
	}
	want.Dir = got.Dir
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoadGlobCharacters(t *testing.T) {
	from := write(t, fixtureRun())
	dir := filepath.Join(t.TempDir(), "odd [name]*?")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	run, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Rows) != len(fixtureRun().Rows) {
		t.Errorf("%d rows", len(run.Rows))
	}
}

func TestLoadOrderAndRemoved(t *testing.T) {
	run := fixtureRun()
	run.Manifest.Plan = run.Manifest.Plan[1:] // the first row is no longer known
	got, err := Load(write(t, run))
	if err != nil {
		t.Fatal(err)
	}
	last := got.Rows[len(got.Rows)-1].ID
	if last != "A-short-chat-r1" || !got.Removed(last) || !got.Removed("Z-removed-r1") || got.Removed("G-batch-r1") {
		t.Errorf("the row outside the plan is not last, or not removed: %s", last)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"not whole":       {"A-short-chat-r1.json", `{"schema":"bench/row/v1","summary":{`, "A-short-chat-r1.json: incomplete or invalid JSON"},
		"not JSON":        {"A-short-chat-r1.json", "<html>", "A-short-chat-r1.json: incomplete or invalid JSON"},
		"wrong type":      {"A-short-chat-r1.json", `{"schema":"bench/row/v1","summary":[]}`, "A-short-chat-r1.json"},
		"newer row":       {"A-short-chat-r1.json", `{"schema":"bench/row/v9"}`, `its schema is "bench/row/v9", this version reads "bench/row/v1"`},
		"foreign":         {"A-short-chat-r1.json", `{"name":"x"}`, `A-short-chat-r1.json: its schema is ""`},
		"unplanned, ours": {"B.json", `{"schema":"bench/row/v9"}`, `B.json: its schema is "bench/row/v9"`},
		"newer run":       {"run.json", `{"schema":"bench/run/v9"}`, `its schema is "bench/run/v9"`},
		"run is a list":   {"run.json", `[]`, "run.json"},
		"another's name":  {"B.json", `{"schema":"bench/row/v1","id":"C"}`, "was the file renamed?"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, fixtureRun())
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nothing")} {
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "is not a run: it has no run.json") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestLoadPassesOverStrays(t *testing.T) {
	dir := write(t, fixtureRun())
	for name, text := range map[string]string{"package.json": `{"name":"x"}`, "list.json": `[1]`, "cut.json": `{"a":`, "empty.json": "", "other.json": `{"schema":"https://json-schema.org/x"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	run, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Rows) != len(fixtureRun().Rows) {
		t.Errorf("%d rows", len(run.Rows))
	}
}

func TestOutcome(t *testing.T) {
	pass := []record.Verdict{{Verdict: "PASS"}}
	row := func(name, verdict string, need int, findings ...record.Finding) record.Row {
		return record.Row{ID: name, Spec: experiment.Spec{Name: name, SLO: experiment.SLO{Limits: []experiment.Limit{{Key: "ttft_p95"}}}}, SLO: append(pass, record.Verdict{Verdict: verdict, Need: need}),
			Checks: record.Checks{Passed: []string{"a", "b"}, NotPossible: []string{"c"}}, Findings: findings}
	}
	of := func(s record.Severity) record.Finding {
		return record.Finding{Code: "lag", Severity: s, Text: "it was late"}
	}
	for name, c := range map[string]struct {
		rows                           []record.Row
		missing                        []string
		verdict, slo, validity, advice string
	}{
		"pass":      {[]record.Row{row("x", "PASS", 0)}, nil, "PASS", "met at 1 of 1 point", "VALID, 2 of 3 checks passed", "every stage passes"},
		"undecided": {[]record.Row{row("x", "UNDECIDED", 1200)}, nil, "UNDECIDED", "1 UNDECIDED (needs up to 1,200 more requests)", "VALID", "1200"},
		"missing":   {[]record.Row{row("x", "PASS", 0)}, []string{"y"}, "UNDECIDED", "1 planned row without a result", "INCOMPLETE", "--resume"},
		"invalid":   {[]record.Row{row("x", "PASS", 0, of(record.Invalid))}, nil, "PASS", "1 of 1", "INVALID: 1 of 1 row left out of answers (lag)", "x is invalid: it was late. Fix that"},
		"caution":   {[]record.Row{row("x", "PASS", 0, of(record.Caution))}, nil, "PASS", "1 of 1", "VALID, 2 of 3 checks passed; cautions in 1 of 1 row", "every stage passes"},
		"note":      {[]record.Row{row("x", "PASS", 0, of(record.Note))}, nil, "PASS", "1 of 1", "VALID, 2 of 3 checks passed", "every stage passes"},
		"fails":     {[]record.Row{row("x", "FAIL", 0), row("y", "PASS", 0)}, nil, "FAIL", "met at 1 of 2 points, 1 FAIL", "VALID, 4 of 6", "at x"},
		"none":      {[]record.Row{{Spec: experiment.Spec{Name: "x"}}}, nil, "", "the run has no SLO", "UNCHECKED", "no SLO"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &Run{Rows: c.rows, Missing: c.missing}
			for _, r := range c.rows {
				run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: r.ID})
			}
			o := run.Outcome()
			if string(o.Verdict) != c.verdict || !strings.Contains(o.SLO, c.slo) || !strings.Contains(o.Validity, c.validity) || !strings.Contains(o.Decision.Advice, c.advice) {
				t.Errorf("%q, %q, %q, %q", o.Verdict, o.SLO, o.Validity, o.Decision.Advice)
			}
		})
	}
}
