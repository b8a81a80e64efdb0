package foreign

import (
	"bytes"
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

	"bench/experiment/record"
	"bench/report"
	"bench/report/compare"
)

const resultsHint = "\nhint: bench reads its own run directories and <row>.json files, recordings of bench trace " +
	"record, and results of vllm bench serve, SGLang, guidellm, aiperf, genai-bench and llm-d (Benchmark Report 0.2, " +
	"*.yaml)"

// Load reads a run's directory, the file of one row, or a file of another tool.
func Load(path string) (*report.Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w\nhint: name a directory that bench sweep wrote, like "+
			"results/<matrix>/<run>", err)
	}
	if info.IsDir() {
		run, err := report.Load(path)
		if err == nil {
			return run.CheckEvidence(), nil
		}
		if inner, _ := filepath.Glob(filepath.Join(path, "*", runFile)); len(inner) > 0 {
			err = fmt.Errorf("%w\nhint: the directory contains runs: name one, like %s, or all of them as repeats: "+
				"'%s'", err, filepath.Dir(inner[len(inner)-1]), filepath.Join(path, "*"))
		}
		return nil, err
	}
	return loadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), path)
}

// LoadBelow is Load for a result below the root of files. It reads nothing outside of them.
func LoadBelow(files fs.FS, name string) (*report.Run, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	dir, file := name, ""
	if !info.IsDir() {
		dir, file = path.Dir(name), path.Base(name)
	}
	if files, err = fs.Sub(files, dir); err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	if info.IsDir() {
		return report.LoadFiles(files, name)
	}
	return loadFile(files, file, name)
}

func loadFile(files fs.FS, file, shown string) (*report.Run, error) {
	if live, err := openRecording(files, file, shown); live != nil || err != nil {
		return live, err
	}
	text, err := readResult(files, file, shown)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema string `json:"schema"`
		ID     string `json:"id"`
	}
	if json.Unmarshal(text, &head) == nil && strings.HasPrefix(head.Schema, "bench/") {
		return loadRow(files, shown, head.Schema, head.ID)
	}
	run, err := Read(shown, text)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, resultsHint)
	}
	return run, nil
}

// readResult reads a file. It reads only the head of one whose first object is of no tool, such as a long trace.
func readResult(files fs.FS, file, shown string) ([]byte, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	if object := firstObject(head); object != nil && !strings.HasPrefix(object.text("schema"), "bench/") {
		if _, err := toolOf(object); err != nil {
			return nil, fmt.Errorf("reading %s: %w%s", shown, err, resultsHint)
		}
	}
	text, err := fs.ReadFile(files, file) // in one piece of its size
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	return text, nil
}

// firstObject is nil if it is not whole, or the text begins with something else.
func firstObject(head []byte) object {
	d := json.NewDecoder(bytes.NewReader(pythonNumbers(head)))
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")) {
		if _, err := d.Token(); err != nil {
			return nil
		}
	}
	var first object
	if d.Decode(&first) != nil {
		return nil
	}
	return first
}

func loadRow(files fs.FS, path, schema, id string) (*report.Run, error) {
	if schema != record.SchemaRun && schema != record.SchemaRow {
		return nil, fmt.Errorf("reading %s: schema %q is not a result\nhint: name a run's directory, or the "+
			"<row>.json of a row", path, schema)
	}
	run, err := report.LoadFiles(files, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if schema == record.SchemaRun {
		return run.CheckEvidence(), nil
	}
	i := slices.IndexFunc(run.Rows, func(row record.Row) bool { return row.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("reading %s: its run has no row %q", path, id)
	}
	run.Rows, run.Missing, run.Dir, run.RecordsDir = slices.Clone(run.Rows[i:i+1]), nil, path, run.Dir
	run.WithoutRecords = slices.DeleteFunc(run.WithoutRecords, func(x string) bool { return x != id })
	return run.CheckEvidence(), nil
}

// LoadSide reads a result, or a glob of several. Files of rows of one run are one run.
func LoadSide(arg string) (compare.Side, error) {
	side := compare.Side{Name: arg}
	paths, err := matching(arg)
	if err != nil {
		return side, err
	}
	of := map[string]int{} // the index of a run in the side, by its directory
	for _, path := range paths {
		run, err := Load(path)
		if err != nil {
			return side, err
		}
		one := run.Compared()
		i, known := of[run.RecordsDir]
		if !known {
			side.Runs = append(side.Runs, one)
			if run.RecordsDir != "" {
				of[run.RecordsDir] = len(side.Runs) - 1
			}
			continue
		}
		whole := &side.Runs[i]
		whole.Rows = append(whole.Rows, one.Rows...)
		whole.WithoutRecords = append(whole.WithoutRecords, one.WithoutRecords...)
		whole.Altered = append(whole.Altered, one.Altered...)
	}
	for _, i := range of {
		m, rows := &side.Runs[i].Manifest, side.Runs[i].Rows
		variant := rows[0].Spec.Variant
		if slices.ContainsFunc(rows, func(row record.Row) bool { return row.Spec.Variant != variant }) {
			variant = ""
		}
		m.Target = m.TargetOf(variant)
	}
	return side, nil
}

func matching(arg string) ([]string, error) {
	if _, err := os.Stat(arg); err == nil || !strings.ContainsAny(arg, "*?[") {
		return []string{arg}, nil
	}
	paths, err := filepath.Glob(arg)
	if err != nil {
		return nil, fmt.Errorf("the pattern %s: %w", arg, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("nothing matches %s\nhint: check the pattern with ls", arg)
	}
	return paths, nil
}

// largest is in bytes, of a file that a search for runs reads: the detailed results of 20,000 requests fit.
const largest = 256 << 20

// LoadNight takes the file's time if the result has no start. Of no tool: compare.ErrNoRun.
func LoadNight(files fs.FS, name string) (compare.Run, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return compare.Run{}, fmt.Errorf("reading results: %w", err)
	}
	if !info.IsDir() && info.Size() > largest {
		return compare.Run{}, fmt.Errorf("%d MiB: a search for runs reads files up to %d MiB\n"+
			"hint: compare it by name: bench compare BASE NEW", info.Size()>>20, largest>>20)
	}
	r, err := LoadBelow(files, name)
	if errors.Is(err, ErrUnknown) {
		return compare.Run{}, compare.ErrNoRun
	}
	if err != nil {
		return compare.Run{}, err
	}
	if r.Manifest.Predicted != nil {
		return compare.Run{}, errors.New("it is a prediction, not a measurement")
	}
	run := r.Compared()
	run.Records = nil                         // a night's interval comes from its repeats, or from its summary
	if r.Files != nil && r.RecordsDir == "" { // neither the file of another tool nor that of one row
		if run.Gate, err = readGate(r); err != nil {
			run.GateError = err.Error()
		}
	}
	if run.Manifest.StartedAt.IsZero() {
		run.Manifest.StartedAt = info.ModTime()
	}
	run.Headline = r.Headline()
	return run, nil
}

func SideOf(name string, runs ...*report.Run) compare.Side {
	side := compare.Side{Name: name}
	for _, r := range runs {
		side.Runs = append(side.Runs, r.Compared())
	}
	return side
}
