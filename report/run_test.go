package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLoad(t *testing.T) {
	want := fixtureRun()
	got, err := Load(write(t, want))
	if err != nil {
		t.Fatal(err)
	}
	want.Dir, want.Files = got.Dir, os.DirFS(got.Dir)
	for _, row := range want.Live() { // the fixture has no records
		want.WithoutRecords = append(want.WithoutRecords, row.ID)
	}
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
	if last != "A-short-chat-r1" || !got.removed(last) || !got.removed("Z-removed-r1") || got.removed("G-batch-r1") {
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
