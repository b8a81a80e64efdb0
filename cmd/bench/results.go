package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bench/experiment/record"
	"bench/report"
	"bench/report/compare"
	"bench/report/foreign"
)

// result is one run, of ours or of another tool, with its requests where there are any.
type result struct {
	*report.Run
	records func(*record.Row) ([]*record.Record, error)
}

// source is the run with the requests of a row's file, too.
func (r *result) source() *report.Run {
	run := *r.Run
	run.Records = r.records
	return &run
}

func (r *result) compared() compare.Run {
	return compare.Run{Name: r.Dir, Manifest: r.Manifest, Rows: r.Live(), Records: r.records, Definitions: r.Definitions}
}

// loadResult reads what a path names: a run's directory, one row's file, or a file of another tool.
func loadResult(path string) (*result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage("reading results: %w\nhint: name a directory that bench sweep wrote, like results/<matrix>/<run>", err)
	}
	if info.IsDir() {
		return loadRun(path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("reading results: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
		ID     string `json:"id"`
	}
	if json.Unmarshal(text, &head) == nil && strings.HasPrefix(head.Schema, "bench/") {
		return loadRow(path, head.Schema, head.ID)
	}
	f, err := foreign.Read(path, text)
	if err != nil {
		return nil, usage("%w\nhint: bench reads its own run directories and <row>.json files, and results of vllm bench serve, SGLang, guidellm and aiperf", err)
	}
	records := func(row *record.Row) ([]*record.Record, error) { return f.Records[row.ID], nil }
	return &result{&report.Run{Dir: path, Manifest: f.Manifest, Rows: f.Rows, Records: records, Definitions: f.Definitions}, records}, nil
}

func loadRun(dir string) (*result, error) {
	run, err := report.Load(dir)
	if err != nil {
		return nil, usage("%w", err)
	}
	return &result{run, func(row *record.Row) ([]*record.Record, error) { return readRecords(dir, row.ID) }}, nil
}

// loadRow reads the run that a row's file is of, and keeps the row alone.
func loadRow(path, schema, id string) (*result, error) {
	if schema == record.SchemaRun {
		return loadRun(filepath.Dir(path))
	}
	if schema != record.SchemaRow {
		return nil, usage("reading %s: its schema is %q, which is no result\nhint: name a run's directory, or the <row>.json of a row", path, schema)
	}
	r, err := loadRun(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, row := range r.Rows {
		if row.ID == id {
			r.Rows, r.Missing, r.Dir = []record.Row{row}, nil, path
			return r, nil
		}
	}
	return nil, usage("reading %s: its run has no row %q", path, id)
}

// readRecords reads the requests of a row; none where the file is not there.
func readRecords(dir, id string) ([]*record.Record, error) {
	f, err := os.Open(filepath.Join(dir, id+".requests.jsonl.zst"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []*record.Record
	err = record.ReadRecords(f, func(r *record.Record) error {
		out = append(out, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return out, nil
}

// loadSide reads one side of a comparison: a path, or a glob of several, whose rows of the same point are repeats.
func loadSide(arg string) (compare.Side, error) {
	paths := []string{arg}
	if _, err := os.Stat(arg); err != nil && strings.ContainsAny(arg, "*?[") {
		found, err := filepath.Glob(arg)
		if err != nil {
			return compare.Side{}, usage("the pattern %s: %w", arg, err)
		}
		if len(found) == 0 {
			return compare.Side{}, usage("nothing is named like %s\nhint: put the pattern in quotes, and look with ls", arg)
		}
		paths = found
	}
	side := compare.Side{Name: arg}
	for _, path := range paths {
		r, err := loadResult(path)
		if err != nil {
			return side, severalRuns(path, err)
		}
		side.Runs = append(side.Runs, r.compared())
	}
	return side, nil
}

// severalRuns adds to an error what to type where a directory holds runs and is none.
func severalRuns(path string, err error) error {
	inner, _ := filepath.Glob(filepath.Join(path, "*", "run.json"))
	if len(inner) == 0 {
		return err
	}
	return usage("%w\nhint: runs lie in it: name one, like %s, or all of them as repeats: '%s'", err, filepath.Dir(inner[len(inner)-1]), filepath.Join(path, "*"))
}
