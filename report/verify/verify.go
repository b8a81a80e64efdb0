// Package verify recomputes a run from its evidence. The records of each row are read, and everything that is derived
// from them is derived again: figures, findings, verdicts, searches, twins. What is stored must be equal to the bit, and
// each file must have the SHA-256 that the run states: run.json those of its rows and of itself, a row those of its
// requests and samples. So a change of any file is found. A run that is forged as a whole is consistent: only a
// signature shows who states it, and hardware, model, server and clock stay the claims of whoever signs.
package verify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"bench/report"
)

// Result is what was found.
type Result struct {
	Rows, Requests int
	Problems       []string // a sentence each; empty = the run is as its records have it
	Unstated       int      // rows without a stated SHA-256: of an earlier bench, or of a killed run
	Other          string   // bench that measured the run, if it is not this one, whose rules can differ; empty = this one
}

// Run verifies a run that is loaded with its files checked (report.Run.CheckEvidence), and leaves it recomputed by this
// program, which is of a commit.
func Run(run *report.Run, by report.Evaluation, commit string) (*Result, error) {
	v := &Result{Rows: len(run.Rows)}
	if m := &run.Manifest; m.Client.Commit != commit {
		v.Other = cmp.Or(m.Client.Commit, m.Client.Version)
	}
	for _, name := range run.Altered {
		v.add("%s was changed after the run, or cannot be read", name)
	}
	for _, id := range slices.Concat(run.Lost(), run.WithoutRecords) {
		v.add("%s lacks files: its figures cannot be recomputed", id)
	}
	for i := range run.Rows {
		if row := &run.Rows[i]; row.Evidence == nil || run.Unstated(row.ID) {
			v.Unstated++
		}
	}
	if len(v.Problems) > 0 { // the records can be anything
		return v, nil
	}
	stored, err := parts(run)
	if err != nil {
		return nil, err
	}
	if err := run.EvaluateAgain(by); err != nil {
		v.add("%s", err)
		return v, nil
	}
	again, err := parts(run)
	if err != nil {
		return nil, err
	}
	for i := range run.Rows {
		q := &run.Rows[i].Summary.Requests
		v.Requests += q.Planned + q.Warmup
	}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if where, was, is, differ := difference(stored[name], again[name]); differ {
			v.add("%s: %s is %s, its records give %s", name, where, was, is)
		}
	}
	return v, nil
}

func (v *Result) add(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// parts are what is derived from the records of a run, by name, as JSON has it.
func parts(run *report.Run) (map[string]any, error) {
	out := map[string]any{}
	add := func(name string, v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", name, err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // every bit counts
		var plain any
		if err := d.Decode(&plain); err != nil {
			return fmt.Errorf("encoding %s: %w", name, err)
		}
		out[name] = plain
		return nil
	}
	for i := range run.Rows {
		if err := add(run.Rows[i].ID, &run.Rows[i]); err != nil {
			return nil, err
		}
	}
	if err := add("the searches of run.json", run.Manifest.Searches); err != nil {
		return nil, err
	}
	return out, add("the twins of run.json", run.Manifest.Twins)
}

// difference is the first place at which two JSON values differ, as summary.ttft_ms.p95, and the values there.
func difference(a, b any) (where, was, is string, differ bool) {
	if reflect.DeepEqual(a, b) {
		return "", "", "", false
	}
	inner := func(key string, a, b any) (string, string, string, bool) {
		where, was, is, differ := difference(a, b)
		if where == "" {
			return key, was, is, differ
		}
		return key + "." + where, was, is, differ
	}
	switch x := a.(type) {
	case map[string]any:
		if y, same := b.(map[string]any); same {
			for _, key := range slices.Sorted(maps.Keys(merged(x, y))) {
				if !reflect.DeepEqual(x[key], y[key]) {
					return inner(key, x[key], y[key])
				}
			}
		}
	case []any:
		if y, same := b.([]any); same {
			for i := range max(len(x), len(y)) {
				if was, is := at(x, i), at(y, i); !reflect.DeepEqual(was, is) {
					return inner(fmt.Sprint(i), was, is)
				}
			}
		}
	}
	return "", brief(a), brief(b), true
}

// at is an element of a list; nil = it has none.
func at(list []any, i int) any {
	if i >= len(list) {
		return nil
	}
	return list[i]
}

func merged(a, b map[string]any) map[string]any {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// brief is a value in at most 60 characters.
func brief(v any) string {
	if v == nil {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(text)); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return string(text)
}
