package foreign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bench/experiment/stats"
	"bench/report"
	"bench/report/compare"
)

const GateFile = "gate.json"

const runFile = "run.json"

const runHint = "\nhint: name a run's directory, or a directory of runs, like results/<matrix>"

// LoadNew reads a run's directory, or the latest run of a directory of runs.
func LoadNew(arg string) (compare.Run, error) {
	dir := filepath.Clean(arg)
	if _, err := os.Stat(filepath.Join(dir, runFile)); err != nil {
		starts, err := startsIn(dir)
		if err != nil {
			return compare.Run{}, fmt.Errorf("reading results: %w%s", err, runHint)
		}
		if len(starts) == 0 {
			return compare.Run{}, fmt.Errorf("%s contains no run%s", arg, runHint)
		}
		dir = starts[0].dir
	}
	read, err := report.Load(dir)
	if err != nil {
		return compare.Run{}, err
	}
	run := read.Compared()
	run.Gate, _ = readGate(read) // an unreadable one is written anew
	return run, nil
}

type start struct {
	dir string
	at  time.Time // zero: its run.json is damaged
}

// startsIn lists the runs directly in a directory, the latest first; damaged ones are the last.
func startsIn(dir string) ([]start, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []start
	for _, e := range entries {
		run := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(filepath.Join(run, runFile))
		if err != nil { // no run
			continue
		}
		var head struct {
			StartedAt time.Time `json:"started_at"`
		}
		_ = json.Unmarshal(text, &head)
		out = append(out, start{run, head.StartedAt})
	}
	slices.SortStableFunc(out, func(a, b start) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.dir, a.dir)) })
	return out, nil
}

// Earlier lists the runs beside a run that began before it, the latest first.
func Earlier(run compare.Run) ([]compare.Candidate, error) {
	starts, err := startsIn(filepath.Join(run.Name, ".."))
	if err != nil {
		return nil, fmt.Errorf("listing earlier runs: %w", err)
	}
	var out []compare.Candidate
	for _, s := range starts {
		if s.at.Before(run.Manifest.StartedAt) {
			out = append(out, compare.Candidate{Name: s.dir,
				Read: func() (compare.Run, error) { return loadGated(s.dir) }})
		}
	}
	return out, nil
}

const (
	enoughRuns  = 6  // that show their own spread
	mostMachine = 60 // other runs that are read
)

// Machine are the latest runs before a run, in the directories beside its matrix, that the same machine measured on the
// same server; nil if the comparison has enough runs. Those of the comparison, and one that cannot be read, are none.
func Machine(run compare.Run, own ...compare.Run) (out []compare.Run) {
	if len(own) >= enoughRuns {
		return nil
	}
	var all []start
	matrices, _ := filepath.Glob(filepath.Join(run.Name, "..", "..", "*"))
	for _, dir := range matrices {
		starts, _ := startsIn(dir)
		all = append(all, starts...)
	}
	slices.SortStableFunc(all, func(a, b start) int { return b.at.Compare(a.at) })
	is, host := run.Manifest.Target, run.Manifest.Client.Host
	for _, s := range all {
		known := func(r compare.Run) bool { return filepath.Clean(r.Name) == s.dir }
		if !s.at.Before(run.Manifest.StartedAt) || slices.ContainsFunc(own, known) || len(out) == mostMachine {
			continue
		}
		other, err := report.Load(s.dir)
		if err != nil || other.Manifest.Predicted != nil {
			continue
		}
		if t := other.Manifest.Target; t.Endpoint == is.Endpoint && t.Model == is.Model &&
			other.Manifest.Client.Host == host {
			out = append(out, other.Compared())
		}
	}
	return out
}

func loadGated(dir string) (run compare.Run, err error) {
	read, err := report.Load(dir)
	if err == nil {
		run = read.Compared()
		run.Gate, err = readGate(read)
	}
	return run, err
}

func readGate(r *report.Run) (*compare.GateRecord, error) {
	text, err := fs.ReadFile(r.Files, GateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the gate of %s: %w", r.Dir, err)
	}
	var g compare.GateRecord
	why := ""
	if err := json.Unmarshal(text, &g); err != nil || g.Schema != compare.SchemaGate {
		why = "it is not a " + compare.SchemaGate
	} else if !slices.Contains([]stats.Verdict{stats.Pass, stats.Fail, stats.Undecided}, g.Verdict) {
		why = fmt.Sprintf("verdict %q: expected PASS, FAIL or UNDECIDED", g.Verdict)
	}
	if why != "" {
		return nil, fmt.Errorf("reading %s: %s\nhint: delete it to accept the run as a base",
			filepath.Join(r.Dir, GateFile), why)
	}
	return &g, nil
}
