package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/report"
	"bench/report/compare"
)

// Load reads a result of bench or of another tool: a run's directory, the file of one row, or a file of
// another tool.
func Load(path string) (*report.Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w\nhint: name a directory that bench sweep wrote, like results/<matrix>/<run>", err)
	}
	if info.IsDir() {
		run, err := report.Load(path)
		return run, hintRuns(path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
		ID     string `json:"id"`
	}
	if json.Unmarshal(text, &head) == nil && strings.HasPrefix(head.Schema, "bench/") {
		return loadRow(path, head.Schema, head.ID)
	}
	f, err := Read(path, text)
	if err != nil {
		return nil, fmt.Errorf("%w\nhint: bench reads its own run directories and <row>.json files, and results of vllm bench serve, SGLang, guidellm and aiperf", err)
	}
	records := func(row *record.Row) ([]*record.Record, error) { return f.Records[row.ID], nil }
	return &report.Run{Dir: path, Manifest: f.Manifest, Rows: f.Rows, Records: records, Definitions: f.Definitions}, nil
}

// loadRow reads the run that a row's file belongs to, and keeps only that row. run.json is its run.
func loadRow(path, schema, id string) (*report.Run, error) {
	if schema != record.SchemaRun && schema != record.SchemaRow {
		return nil, fmt.Errorf("reading %s: schema %q is not a result\nhint: name a run's directory, or the <row>.json of a row", path, schema)
	}
	run, err := report.Load(filepath.Dir(path))
	if err != nil || schema == record.SchemaRun {
		return run, err
	}
	for _, row := range run.Rows {
		if row.ID == id {
			run.Rows, run.Missing, run.Dir, run.RecordsDir = []record.Row{row}, nil, path, run.Dir
			run.WithoutRecords = slices.DeleteFunc(run.WithoutRecords, func(x string) bool { return x != id })
			return run, nil
		}
	}
	return nil, fmt.Errorf("reading %s: its run has no row %q", path, id)
}

// hintRuns adds to an error what to type if the directory has runs in it and is none itself.
func hintRuns(path string, err error) error {
	if err == nil {
		return nil
	}
	inner, _ := filepath.Glob(filepath.Join(path, "*", "run.json"))
	if len(inner) == 0 {
		return err
	}
	return fmt.Errorf("%w\nhint: the directory contains runs: name one, like %s, or all of them as repeats: '%s'",
		err, filepath.Dir(inner[len(inner)-1]), filepath.Join(path, "*"))
}

// LoadSide reads one side of a comparison: a result, or a glob of several whose rows of the same point are
// repeats.
func LoadSide(arg string) (compare.Side, error) {
	paths := []string{arg}
	if _, err := os.Stat(arg); err != nil && strings.ContainsAny(arg, "*?[") {
		paths, err = filepath.Glob(arg)
		if err != nil {
			return compare.Side{}, fmt.Errorf("the pattern %s: %w", arg, err)
		}
		if len(paths) == 0 {
			return compare.Side{}, fmt.Errorf("nothing matches %s\nhint: quote the pattern, and check it with ls", arg)
		}
	}
	side := compare.Side{Name: arg}
	for _, path := range paths {
		run, err := Load(path)
		if err != nil {
			return side, err
		}
		side.Runs = append(side.Runs, compared(run))
	}
	return side, nil
}

// LoadNight reads a result as a night of a history. The file's time replaces a start that the result does not
// have. Of no tool: compare.ErrNoRun.
func LoadNight(name string) (compare.Run, error) {
	r, err := Load(name)
	if errors.Is(err, ErrUnknown) {
		return compare.Run{}, compare.ErrNoRun
	}
	if err != nil {
		return compare.Run{}, err
	}
	run := compared(r)
	run.Records = nil // a night's interval comes from its repeats, or from its summary
	if run.Manifest.StartedAt.IsZero() {
		info, err := os.Stat(name)
		if err != nil {
			return compare.Run{}, err
		}
		run.Manifest.StartedAt = info.ModTime()
	}
	return run, nil
}

func compared(r *report.Run) compare.Run {
	return compare.Run{Name: r.Dir, Manifest: r.Manifest, Rows: r.Live(), Records: r.Times, Definitions: r.Definitions, WithoutRecords: r.WithoutRecords}
}
