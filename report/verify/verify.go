// Package verify recomputes a run from its evidence. The records of each row are read, and figures, findings, verdicts,
// searches and twins are derived from them again: what is stored must be equal. Each file of figures or evidence must
// have the SHA-256 that the run states: run.json those of its rows and of itself, a row those of its requests and
// samples. A run that is forged as a whole is consistent: only a signature shows who states it. What no record shows
// stays the claim of whoever signs: hardware, model, server and its counters, connections, clock.
package verify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/report"
)

// Result is what was found.
type Result struct {
	Rows, Requests int
	Problems       []string // a sentence each; empty = the run is as its records have it
	Unstated       int      // rows without a stated SHA-256: of an earlier bench, or of a killed run
	// Other is what measured the run, whose rules and last bits can differ; empty = this program on such a processor.
	Other string
}

// Run verifies a run that is loaded with its files checked (report.Run.CheckEvidence), and leaves it recomputed by this
// program.
func Run(run *report.Run, by report.Evaluation, this record.ClientInfo) (*Result, error) {
	v := &Result{Rows: len(run.Rows)}
	if c := &run.Manifest.Client; c.Commit != this.Commit || c.OS != this.OS {
		v.Other = "bench " + cmp.Or(c.Commit, c.Version) + " on " + c.OS
	}
	for _, name := range run.Altered {
		v.add("%s was changed after the run, or cannot be read", name)
	}
	for _, id := range slices.Concat(run.Lost(), run.WithoutRecords) {
		v.add("%s lacks files: its figures cannot be recomputed", id)
	}
	for i := range run.Rows {
		if row := &run.Rows[i]; row.Evidence == nil || run.Stated(row.ID) == "" {
			v.Unstated++
		}
	}
	if !slices.Contains([]string{"running", "done", "interrupted", "failed"}, run.Manifest.State) {
		v.add("run.json: its state %q is none of a run", run.Manifest.State)
	}
	if len(v.Problems) > 0 { // the records can be anything
		return v, nil
	}
	stored := [3]any{}
	for i, part := range []any{run.Rows, run.Manifest.Searches, run.Manifest.Twins} {
		var err error
		if stored[i], err = plain(part); err != nil {
			return nil, err
		}
	}
	rows, _ := stored[0].([]any)
	// A twin that is fitted to forged rows can take hours.
	by.Rows = func(again []record.Row) error { return v.compareRows(rows, again) }
	if err := run.EvaluateAgain(by); err != nil {
		if !errors.Is(err, errDiffers) {
			v.add("%s", err)
		}
		return v, nil
	}
	if err := v.compare("the searches of run.json", stored[1], run.Manifest.Searches); err != nil {
		return nil, err
	}
	if state := run.Manifest.State; stored[2] == nil && (state == "running" || state == "interrupted") {
		return v, nil // twins are fitted at the end
	}
	return v, v.compare("the twins of run.json", stored[2], run.Manifest.Twins)
}

var errDiffers = errors.New("a row differs")

func (v *Result) compareRows(stored []any, again []record.Row) error {
	for i := range again {
		q := &again[i].Summary.Requests
		v.Requests += q.Planned + q.Warmup
		if err := v.compare(again[i].ID, stored[i], &again[i]); err != nil {
			return err
		}
	}
	if len(v.Problems) > 0 {
		return errDiffers
	}
	return nil
}

// compare compares what is stored, as JSON has it, with what the records give.
func (v *Result) compare(name string, stored, again any) error {
	now, err := plain(again)
	if where, was, is, differ := difference(stored, now); differ {
		v.add("%s: %s is %s, its records give %s", name, cmp.Or(where, "it"), was, is)
	}
	return err
}

func (v *Result) add(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// plain is a value as JSON has it.
func plain(v any) (out any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// digits is how many digits of a figure are compared: processors round its last bits differently, as some multiply and
// add in one step.
const digits = 9

// difference is the first place at which two JSON values differ, as summary.ttft_ms.p95, and the values there.
func difference(a, b any) (where, was, is string, differ bool) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			both := maps.Clone(x)
			maps.Copy(both, y)
			for _, key := range slices.Sorted(maps.Keys(both)) {
				if where, was, is, differ := difference(x[key], y[key]); differ {
					return strings.TrimSuffix(key+"."+where, "."), was, is, true
				}
			}
			return "", "", "", false
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				if where, was, is, differ := difference(at(x, i), at(y, i)); differ {
					return strings.TrimSuffix(fmt.Sprint(i)+"."+where, "."), was, is, true
				}
			}
			return "", "", "", false
		}
	case float64:
		if y, ok := b.(float64); ok && math.Abs(x-y) <= math.Pow10(-digits)*max(math.Abs(x), math.Abs(y)) {
			return "", "", "", false
		}
	}
	if a == b { // two maps and two lists have returned
		return "", "", "", false
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
