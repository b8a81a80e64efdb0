// Package report turns results into tables and text. Load reads a run directory into a Run; Analyze derives
// answer, curves, bottlenecks and findings from its rows; tables show them; Text and Markdown write them, as
// report/page writes HTML. Comparisons and histories (report/compare) have tables, text and
// Markdown here, too.
//
// It measures and decides nothing: verdicts are data before any renderer. It treats every string of a result
// as hostile, as a server chose it.
//
// The package is large because it has every table once, in one file for each subject; a table is a function
// of data.
package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/report/compare"
	"bench/report/shadow"
)

type Run struct {
	Dir   string // as given to Load
	Files fs.FS  // of its directory; nil: of Dir, if that is one
	record.Run
	Missing []string         // ids of planned rows without a result, in plan order
	Skipped []record.Planned // rows that did not run, since they decide nothing
	Notes   string           // notes.md; empty: none

	RecordsDir string // directory of the run, if Dir is the file of one row; else empty

	Prediction *Run // lies behind this one; nil: none

	Evaluated *Evaluated // the rows were evaluated again; nil: they are as in their files

	// Shadow compares the server of a recording with a candidate that got copies of its requests; nil: none.
	Shadow *shadow.Comparison
}

const (
	manifestName = "run.json"
	notesName    = "notes.md"
)

// Load reads a run directory: run.json, the <row>.json files and notes.md. A result file that is not whole or
// has another schema is an error that names it. Other files are ignored.
func Load(dir string) (*Run, error) { return LoadFiles(os.DirFS(dir), dir) }

// LoadFiles is Load for a directory that is called dir. The run reads nothing outside of files.
func LoadFiles(files fs.FS, dir string) (*Run, error) {
	run := &Run{Dir: dir, Files: files}
	text, err := run.decode(manifestName, record.SchemaRun, &run.Manifest, &run.Manifest.Schema)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not a run: it has no %s\nhint: name a directory that bench sweep wrote, "+
				"like results/<matrix>/<run>", dir, manifestName)
		}
		return nil, err
	}
	if run.Manifest.Altered(text) {
		run.Altered = append(run.Altered, manifestName)
	}
	if err := run.readRows(); err != nil {
		return nil, err
	}
	notes, err := record.ReadRegular(files, notesName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading notes of %s: %w", dir, err)
	}
	run.Notes = strings.ToValidUTF8(string(notes), string(utf8.RuneError))
	return run, nil
}

func (r *Run) readRows() error {
	names, err := fs.Glob(r.Files, "*.json")
	if err != nil {
		return fmt.Errorf("listing rows: %w", err)
	}
	found := map[string]record.Row{}
	for _, name := range names {
		if name == manifestName || !r.ours(name) {
			continue
		}
		var row record.Row
		text, err := r.decode(name, record.SchemaRow, &row, &row.Schema)
		if err != nil {
			return err
		}
		if sum, killed := r.Stated(row.ID), r.Manifest.State == "running"; r.Manifest.SHA256 != "" &&
			sum != record.Sum(text) && !(sum == "" && killed) { // a kill can come before run.json states the last row
			r.Altered = append(r.Altered, name)
		}
		if row.ID != strings.TrimSuffix(name, ".json") {
			return fmt.Errorf("reading %s: it contains row %q; was the file renamed?",
				filepath.Join(r.Dir, name), row.ID)
		}
		found[row.ID] = row
	}
	for _, p := range r.Manifest.Plan {
		row, ok := found[p.ID]
		switch {
		case ok:
			r.Rows = append(r.Rows, row)
			delete(found, p.ID)
		case p.State == record.StateSkipped:
			r.Skipped = append(r.Skipped, p)
		case p.State != record.StateRemoved:
			r.Missing = append(r.Missing, p.ID)
		}
	}
	for _, name := range names { // sorted by name
		if row, ok := found[strings.TrimSuffix(name, ".json")]; ok {
			r.Rows = append(r.Rows, row)
		}
	}
	for _, row := range r.Live() { // every sweep writes a file of requests, also of a row without any
		if _, err := fs.Stat(r.Files, row.ID+record.RequestsSuffix); errors.Is(err, fs.ErrNotExist) {
			r.WithoutRecords = append(r.WithoutRecords, row.ID)
		}
	}
	return nil
}

// ours reports whether a JSON file is a row: the plan has its name, or its schema is that of rows. Others of
// bench are gate.json, and what commands were told to write there.
func (r *Run) ours(name string) bool {
	if r.planned(strings.TrimSuffix(name, ".json")) != nil {
		return true
	}
	b, err := record.ReadRegular(r.Files, name)
	if err != nil {
		return false
	}
	schema, err := schemaOf(b)
	return err == nil && strings.HasPrefix(schema, "bench/row/")
}

func schemaOf(b []byte) (string, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	err := json.Unmarshal(b, &head)
	return head.Schema, err
}

// planned is the row of the plan with an ID; nil: it is not in the plan.
func (r *Run) planned(id string) *record.Planned {
	i := slices.IndexFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Manifest.Plan[i]
}

// Stated is the SHA-256 of a row by run.json; empty = it states none: of an earlier bench, of a run that was killed as
// the row ended, or a row that is not of this run.
func (r *Run) Stated(id string) string { return cmp.Or(r.planned(id), &record.Planned{}).SHA256 }

// decode reads a file into v, and returns its text; got points to the schema in v. A valid file is parsed once.
func (r *Run) decode(file, schema string, v any, got *string) ([]byte, error) {
	name := filepath.Join(r.Dir, file)
	b, err := record.ReadRegular(r.Files, file)
	if err != nil {
		return nil, fmt.Errorf("reading a result of %s: %w", r.Dir, err)
	}
	wrong := json.Unmarshal(b, v)
	if wrong == nil && *got == schema {
		return b, nil
	}
	found, err := schemaOf(b)
	if err != nil {
		hint := "remove the file and measure its row again: bench sweep MATRIX --resume DIR"
		if file == manifestName {
			hint = "restore run.json from a copy: without it the run can be neither read nor resumed"
		}
		return nil, fmt.Errorf("reading %s: incomplete or invalid JSON: %w\nhint: %s", name, err, hint)
	}
	if found != schema {
		return nil, fmt.Errorf("reading %s: its schema is %q, this version reads %q\nhint: use the bench that wrote it",
			name, found, schema)
	}
	return nil, fmt.Errorf("reading %s: %w", name, wrong)
}

// removed reports whether a row is no longer in the matrix. Its result stays but does not count.
func (r *Run) removed(id string) bool {
	p := r.planned(id)
	return p == nil || p.State == record.StateRemoved
}

func (r *Run) simulated() bool {
	return r.Manifest.Target.Simulated ||
		slices.ContainsFunc(r.Rows, func(row record.Row) bool { return row.Simulated })
}

const (
	tagPredicted = "PREDICTED"
	tagSimulated = "SIMULATED"
)

func (r *Run) Tag() string {
	switch {
	case r.Manifest.Predicted != nil:
		return tagPredicted
	case r.simulated():
		return tagSimulated
	}
	return ""
}

// Live are the rows that count, with what the twins decide.
func (r *Run) Live() []record.Row {
	rows := r.Stored()
	series.Narrow(rows, r.Manifest.Twins)
	return rows
}

// Stored are the rows that count, as their files have them.
func (r *Run) Stored() []record.Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row record.Row) bool { return r.removed(row.ID) })
}

// Compared is the run as one of a comparison, without rows that were removed from the matrix.
func (r *Run) Compared() compare.Run {
	run := compare.Run{Name: r.Dir, Run: r.Run}
	run.Rows, run.Records, run.Whole = r.Live(), r.times, r.Requests
	return run
}

func (r *Run) Lost() []string {
	return slices.DeleteFunc(slices.Clone(r.Missing), func(id string) bool { return r.State(id) != lost })
}

const lost = "lost"

func (r *Run) State(id string) string {
	p := r.planned(id)
	switch {
	case p == nil:
		return "removed"
	case p.State == "done" && slices.Contains(r.Missing, id):
		return lost
	}
	return p.State
}

// Notices stand on top of a report. The first of a prediction says that it is one.
func (r *Run) Notices() (lines []string) {
	if p := r.Manifest.Predicted; p != nil {
		lines = append([]string{tagPredicted + ", not measured: " + p.Text()}, p.Lacks()...)
	}
	lines = append(lines, r.Evaluated.Lines()...)
	if text := budgetLine(r.Manifest.Budget); text != "" {
		lines = append(lines, text)
	}
	if len(r.WithoutRecords) > 0 {
		lines = append(lines,
			"request records are missing, their figures cannot be checked: "+andMore(r.WithoutRecords))
	}
	if len(r.Altered) > 0 {
		lines = append(lines, "changed after the run, or unreadable: "+alteredText(r.Altered))
	}
	return lines
}

// alteredText is empty without files.
func alteredText(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return andMore(files) + " (bench verify lists them)"
}

// CheckEvidence adds to Altered the files of rows that are not those that the rows were concluded from. It reads each
// whole, and decompresses none.
func (r *Run) CheckEvidence() *Run {
	for _, row := range r.Live() {
		if !slices.Contains(r.WithoutRecords, row.ID) {
			r.Altered = append(r.Altered, row.AlteredEvidence(r.Files)...)
		}
	}
	return r
}

func (r *Run) Requests(row *record.Row) ([]*record.Record, error) { return r.requests(row, true) }

// times are Requests; they may lack gaps and tokens of events.
func (r *Run) times(row *record.Row) ([]*record.Record, error) { return r.requests(row, false) }

func (r *Run) requests(row *record.Row, lists bool) (out []*record.Record, err error) {
	if r.Records != nil {
		return r.Records(row)
	}
	err = r.readFile(row.ID+record.RequestsSuffix, func(f io.Reader) error {
		return row.ReadRequests(f, lists, func(rec *record.Record) error {
			out = append(out, rec)
			return nil
		})
	})
	return out, err
}

func (r *Run) Samples(row *record.Row) (out []*record.Sample, err error) {
	err = r.readFile(row.ID+record.TelemetrySuffix, func(f io.Reader) error {
		return row.ReadTelemetry(f, func(s *record.Sample) error {
			out = append(out, s)
			return nil
		})
	})
	return out, err
}

// A missing file is no error, and neither is a run without a directory.
func (r *Run) readFile(name string, each func(io.Reader) error) error {
	files := r.Files
	if info, err := os.Stat(r.Dir); files == nil && err == nil && info.IsDir() {
		files = os.DirFS(r.Dir)
	}
	if files == nil {
		return nil
	}
	f, err := record.OpenRegular(files, path.Base(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := each(f); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}
