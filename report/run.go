// Package report turns results into something to read: a run directory is loaded into a Run, a
// Run into an Outcome and tables (verdicts are data before any renderer), and these into an HTML
// page, Markdown, text or CSV. It measures nothing, decides nothing that is not in the data, and
// takes every string of a result as hostile: a server chose it.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"bench/experiment/record"
)

// Run is one execution of a matrix, as it lies in its directory.
type Run struct {
	Dir      string // as given to Load
	Manifest record.Manifest
	Rows     []record.Row // in plan order; then those that the plan does not know
	Missing  []string     // ids that were planned and have no result, in plan order
	Notes    string       // notes.md; empty: there is none

	// Records are the requests of a row; nil: those in the directory, where there are any.
	Records func(*record.Row) ([]*record.Record, error)

	// Definitions says what another tool means by a metric (ttft, itl, …); one that is not in it is that of docs/metrics.md.
	Definitions map[string]string
}

const (
	manifestName = "run.json"
	notesName    = "notes.md"
)

// Load reads a run directory: run.json, the <row>.json files and notes.md. A planned row's file that
// is of another schema, or not whole, is an error that names it; so is one of ours that this version
// can't read. What else somebody laid there is passed over.
func Load(dir string) (*Run, error) {
	run := &Run{Dir: dir}
	manifest := filepath.Join(dir, manifestName)
	if err := decode(manifest, record.SchemaRun, &run.Manifest, &run.Manifest.Schema); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not a run: it has no %s; name a directory that bench sweep wrote, like results/<matrix>/<run>", dir, manifestName)
		}
		return nil, err
	}
	if err := run.readRows(); err != nil {
		return nil, err
	}
	notes, err := os.ReadFile(filepath.Join(dir, notesName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading notes: %w", err)
	}
	run.Notes = strings.ToValidUTF8(string(notes), string(utf8.RuneError))
	return run, nil
}

func (r *Run) readRows() error {
	names, err := filepath.Glob(filepath.Join(escapeGlob(r.Dir), "*.json"))
	if err != nil {
		return fmt.Errorf("listing rows: %w", err)
	}
	found := map[string]record.Row{}
	for _, name := range names {
		if filepath.Base(name) == manifestName || !r.ours(name) {
			continue
		}
		var row record.Row
		if err := decode(name, record.SchemaRow, &row, &row.Schema); err != nil {
			return err
		}
		if want := strings.TrimSuffix(filepath.Base(name), ".json"); row.ID != want {
			return fmt.Errorf("reading %s: the row inside says that it is %q; was the file renamed?", name, row.ID)
		}
		found[row.ID] = row
	}
	for _, p := range r.Manifest.Plan {
		row, ok := found[p.ID]
		switch {
		case ok:
			r.Rows = append(r.Rows, row)
			delete(found, p.ID)
		case p.State != "removed":
			r.Missing = append(r.Missing, p.ID)
		}
	}
	for _, name := range names { // names are sorted: what the plan does not know comes in a stable order
		if row, ok := found[strings.TrimSuffix(filepath.Base(name), ".json")]; ok {
			r.Rows = append(r.Rows, row)
		}
	}
	return nil
}

// ours tells rows from other JSON that lies in the directory: the plan knows the name, or the file
// says itself that bench wrote it.
func (r *Run) ours(name string) bool {
	id := strings.TrimSuffix(filepath.Base(name), ".json")
	if slices.ContainsFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id }) {
		return true
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	schema, err := schemaOf(b)
	return err == nil && strings.HasPrefix(schema, "bench/")
}

func schemaOf(b []byte) (string, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	err := json.Unmarshal(b, &head)
	return head.Schema, err
}

// escapeGlob makes a directory's name match only itself.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// decode reads a file into v; said is where v keeps its schema. A file that is as it should be is parsed once.
func decode(name, schema string, v any, said *string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("reading a result: %w", err)
	}
	wrong := json.Unmarshal(b, v)
	if wrong == nil && *said == schema {
		return nil
	}
	found, err := schemaOf(b)
	if err != nil {
		return fmt.Errorf("reading %s: not whole, or not JSON: %w\nhint: remove the file; bench sweep MATRIX --resume DIR measures its row again", name, err)
	}
	if found != schema {
		return fmt.Errorf("reading %s: its schema is %q, this version reads %q; use the bench that wrote it", name, found, schema)
	}
	return fmt.Errorf("reading %s: %w", name, wrong)
}

// Removed says that a row's point is no longer in the matrix: its result stays, and counts for nothing.
func (r *Run) Removed(id string) bool {
	i := slices.IndexFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id })
	return i < 0 || r.Manifest.Plan[i].State == "removed"
}

// Simulated says that at least a part of the run was measured against a simulated server.
func (r *Run) Simulated() bool {
	return r.Manifest.Target.Simulated || slices.ContainsFunc(r.Rows, func(row record.Row) bool { return row.Simulated })
}

// Live are the rows of the matrix as it is now, without the removed ones.
func (r *Run) Live() []record.Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row record.Row) bool { return r.Removed(row.ID) })
}
