package foreign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"bench/report"
	"bench/report/compare"
)

const example = "../../results/example/20261122T203930Z"

// copied is the example as a run of its own, started at another time.
func copied(t *testing.T, dir, started string) string {
	t.Helper()
	to := filepath.Join(dir, started)
	if err := os.CopyFS(to, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(to, runFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(text), `"started_at": "`)
	put(t, name, before+`"started_at": "`+started+after[strings.Index(after, `"`):])
	return to
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	first  = "2026-11-01T02:00:00Z"
	second = "2026-11-02T02:00:00Z"
	third  = "2026-11-03T02:00:00Z"
)

// The latest run of a directory is new; the others are earlier ones, the latest first, with their gate.json, which is no row.
func TestEarlier(t *testing.T) {
	dir := t.TempDir()
	copied(t, dir, second)
	one := copied(t, dir, first)
	last := copied(t, dir, third)
	put(t, filepath.Join(one, GateFile), `{"schema": "bench/gate/v1", "run": "1", "base_runs": [], "verdict": "FAIL", "regressions": [], "undecided": []}`)
	put(t, filepath.Join(one, "comparison.json"), `{"schema": "bench/comparison/v2"}`)
	if err := os.Mkdir(filepath.Join(dir, "9-never-started"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "trends.html"), "")
	for _, arg := range []string{dir, last, last + "/"} {
		run, err := LoadNew(arg)
		if err != nil || run.Name != last {
			t.Fatalf("%s: %s, %v", arg, run.Name, err)
		}
		earlier, err := Earlier(run)
		if err != nil || len(earlier) != 2 || filepath.Base(earlier[0].Name) != second || earlier[1].Name != one {
			t.Fatalf("%+v, %v", earlier, err)
		}
		if run, err := earlier[1].Read(); err != nil || run.Gate.Verdict != "FAIL" || len(run.Rows) < 5 {
			t.Errorf("%+v, %v", run.Gate, err)
		}
		if run, err := earlier[0].Read(); err != nil || run.Gate != nil {
			t.Errorf("%+v, %v", run.Gate, err)
		}
	}
	run, err := LoadNew(one)
	if err != nil {
		t.Fatal(err)
	}
	if earlier, err := Earlier(run); err != nil || len(earlier) != 0 {
		t.Errorf("before the first: %+v, %v", earlier, err)
	}
	// A damaged gate.json is an error: whether the run is a base is not known.
	put(t, filepath.Join(one, GateFile), `{"schema": "bench/gate/v1"`)
	if _, err := loadGated(one); err == nil || !strings.Contains(err.Error(), "is not a bench/gate/v1\nhint: delete it") {
		t.Error(err)
	}
	for _, arg := range []string{filepath.Join(dir, "9-never-started"), filepath.Join(dir, "none"), filepath.Join(dir, "trends.html")} {
		if _, err := LoadNew(arg); err == nil || !strings.Contains(err.Error(), "\nhint: name a run's directory, or a directory of runs") {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

// Files of rows of one run are one run; of two runs they are two.
func TestLoadSideOfRows(t *testing.T) {
	side, err := LoadSide(filepath.Join(example, "D-saturation,concurrency=*.json"))
	if err != nil || len(side.Runs) != 1 || len(side.Runs[0].Rows) < 3 {
		t.Fatalf("%+v, %v", side, err)
	}
	for i := range side.Runs[0].Rows {
		if records, err := side.Runs[0].Records(&side.Runs[0].Rows[i]); err != nil || len(records) == 0 {
			t.Errorf("%s: %d records, %v", side.Runs[0].Rows[i].ID, len(records), err)
		}
	}
	dir := t.TempDir()
	copied(t, dir, first)
	copied(t, dir, second)
	if side, err := LoadSide(filepath.Join(dir, "*", "[AB]-*.json")); err != nil || len(side.Runs) != 2 || len(side.Runs[1].Rows) != 2 {
		t.Errorf("%d runs, %v", len(side.Runs), err)
	}
	if side, err := LoadSide(filepath.Join(dir, "*")); err != nil || len(side.Runs) != 2 {
		t.Errorf("%d runs, %v", len(side.Runs), err)
	}
}

// A server's facts are those of the variant that rows were measured on.
func TestLoadSideOfAVariant(t *testing.T) {
	run := copied(t, t.TempDir(), first)
	name := filepath.Join(run, runFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, name, strings.Replace(string(text), "{", `{"servers": [{"n": 1, "variant": "a"}, {"n": 2, "variant": "b", "target": {"model": "own", "connections": "one per request"}}],`, 1))
	for _, id := range []string{"A-short-r1", "B-long-prefill-r1"} {
		row, err := os.ReadFile(filepath.Join(run, id+".json"))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(run, id+".json"), strings.Replace(string(row), `"repeat":`, `"variant": "b", "repeat":`, 1))
	}
	for pattern, want := range map[string]string{"[AB]-*.json": "own", "A-short-r1.json": "own", "[AC]-*.json": "bench-mock"} {
		side, err := LoadSide(filepath.Join(run, pattern))
		if err != nil || len(side.Runs) != 1 || (side.Runs[0].Manifest.Target.Model == "own") != (want == "own") {
			t.Errorf("%s: %+v, %v", pattern, side.Runs, err)
		}
	}
}

// gate.json is what a comparison writes, and no command takes it for a row.
func TestGateFileIsNoRow(t *testing.T) {
	run := copied(t, t.TempDir(), first)
	was, err := report.Load(run)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(run, GateFile), `{"schema": "`+compare.SchemaGate+`"}`)
	if is, err := report.Load(run); err != nil || len(is.Rows) != len(was.Rows) {
		t.Errorf("%v", err)
	}
}

// A night with a damaged gate.json is shown with the reason; it is no base.
func TestDamagedGate(t *testing.T) {
	dir := t.TempDir()
	run := copied(t, dir, first)
	for text, want := range map[string]string{
		`{`: "is not a bench/gate/v1", `{"schema": "bench/gate/v1"}`: `verdict "": expected PASS, FAIL or UNDECIDED`,
		`{"schema": "bench/gate/v1", "verdict": "pass"}`: `verdict "pass"`, `{"schema": "bench/gate/v1", "verdict": "PASS"}`: "",
	} {
		put(t, filepath.Join(run, GateFile), text)
		night, err := LoadNight(os.DirFS(dir), first)
		if err != nil || len(night.Rows) == 0 || !strings.Contains(night.GateError, want) ||
			(night.Gate == nil) != (want != "") || (night.GateError == "") != (want == "") {
			t.Errorf("%s: %q, %v", text, night.GateError, err)
		}
		if _, err := loadGated(run); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("as a base: %s: %v", text, err)
		}
	}
}

// ended is a file that ends in an error: whoever reads it whole gets it.
type ended struct {
	fs.File
	head *strings.Reader
}

func (f ended) Read(p []byte) (int, error) {
	if n, err := f.head.Read(p); err == nil {
		return n, nil
	}
	return 0, errors.New("read to its end")
}

type headOnly string

func (text headOnly) Open(name string) (fs.File, error) {
	f, err := fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	return ended{f, strings.NewReader(string(text))}, err
}

// A long file of no tool is refused by its first object; one that may be of a tool is read.
func TestHeadOfAFile(t *testing.T) {
	lines := func(first string) headOnly { return headOnly(first + "\n" + strings.Repeat("{}\n", headSize)) }
	for text, read := range map[headOnly]bool{
		lines(`{"timestamp": 1, "input_length": 7}`): false, lines(`[{"ph": "X"},`): false, lines(`{"x": NaN}`): false,
		lines(`{"benchmarks": []}`): true, lines(`{"schema": "bench/row/v1"}`): true, lines(`[]`): true,
		headOnly(`{"a": "` + strings.Repeat("x", 2*headSize)): true, // it may end in a key of a tool
	} {
		_, err := LoadNight(text, "x.json")
		if errors.Is(err, compare.ErrNoRun) == read || err == nil {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}

// A search for runs reads no file that is too large, and says so.
func TestTooLarge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	put(t, name, "")
	if err := os.Truncate(name, largest+1); err != nil { // a hole
		t.Fatal(err)
	}
	_, err := LoadNight(os.DirFS(filepath.Dir(name)), "x.json")
	if err == nil || !strings.HasPrefix(err.Error(), "256 MiB: a search for runs reads files up to 256 MiB") {
		t.Error(err)
	}
}
