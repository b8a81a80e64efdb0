// Package foreign reads the results of other tools as if they were ours (Read), and writes ours in the forms of others. A figure
// goes under the name that means the same here, whatever the other tool calls it, and where no name means quite the same the
// definition goes with it: no figure of two tools is compared in silence. What a file does not hold stays missing.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Result is a file of another tool, read.
type Result struct {
	Tool        string
	Manifest    record.Manifest
	Rows        []record.Row                // one for each measurement of the file
	Records     map[string][]*record.Record // by the row's id; absent where the file has no requests one by one
	Definitions map[string]string           // metric → what the tool means by it, where that is not docs/metrics.md
}

// ErrUnknown says that a file is JSON of none of the tools.
var ErrUnknown = errors.New("not a result of vllm bench serve, SGLang's bench_serving, guidellm or aiperf")

// tool is one format: how to know it, and how to read one object of it.
type tool struct {
	name        string
	is          func(object) bool
	read        func(object) ([]measurement, error)
	definitions map[string]string
}

var tools = []tool{guidellm, aiperf, sglang, vllm}

// measurement is one row before it has a name.
type measurement struct {
	name     string
	axes     []experiment.Axis
	rate     string // of the spec, as JSON; empty: closed loop
	slots    int    // 0 = no cap
	model    string
	started  time.Time
	summary  record.Summary
	lengths  record.Lengths
	records  []*record.Record
	findings []record.Finding
}

// Read finds out by its content which tool wrote a file, and reads it. A file can hold several measurements, as JSON objects one
// after the other.
func Read(name string, text []byte) (*Result, error) {
	objects, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("reading %s: %w", name, ErrUnknown)
	}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.is(objects[0]) })
	if i < 0 {
		return nil, fmt.Errorf("reading %s: %w", name, ErrUnknown)
	}
	t := tools[i]
	var all []measurement
	for n, o := range objects {
		ms, err := t.read(o)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %s, object %d: %w", name, t.name, n+1, err)
		}
		all = append(all, ms...)
	}
	r, err := t.result(filepath.Base(name), all)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return r, nil
}

// result makes rows of measurements; those of one name are repeats.
func (t tool) result(file string, all []measurement) (*Result, error) {
	r := &Result{Tool: t.name, Definitions: t.definitions, Records: map[string][]*record.Record{}}
	r.Manifest = record.Manifest{Schema: record.SchemaRun, Run: file, Matrix: t.name, State: "done",
		NotStated: []string{"hardware", "gpus", "precision", "everything else that " + t.name + " does not write"},
		Client:    record.ClientInfo{Version: t.name},
		Notes:     []string{"imported from a file of " + t.name + "; figures are that tool's"}}
	for _, metric := range experiment.Latencies {
		if d, ok := t.definitions[metric]; ok {
			r.Manifest.Notes = append(r.Manifest.Notes, metric+" is "+d)
		}
	}
	repeats := map[string]int{}
	for _, m := range all {
		row, err := t.row(m)
		if err != nil {
			return nil, err
		}
		point := row.Spec.Pretty()
		repeats[point]++
		row.Spec.Repeat = repeats[point]
		row.ID = fmt.Sprintf("%s-r%d", strings.ReplaceAll(point, " ", ","), row.Spec.Repeat)
		if m.records != nil {
			r.Records[row.ID] = m.records
		}
		if !slices.Contains([]string{"", m.model}, r.Manifest.Target.Model) {
			return nil, fmt.Errorf("it holds the models %q and %q\nhint: put each model's results into a file of its own", r.Manifest.Target.Model, m.model)
		}
		r.Manifest.Target.Model = m.model
		r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: row.ID, Name: row.Spec.Name, State: "done"})
		if r.Manifest.StartedAt.IsZero() || m.started.Before(r.Manifest.StartedAt) {
			r.Manifest.StartedAt = m.started
		}
		r.Rows = append(r.Rows, row)
	}
	r.Manifest.EndedAt = r.Manifest.StartedAt
	return r, nil
}

func (t tool) row(m measurement) (record.Row, error) {
	row := record.Row{Schema: record.SchemaRow, StartedAt: m.started, Summary: m.summary, Lengths: m.lengths, PromptForm: "not stated",
		NoRoofline: "the file does not say on what hardware", Findings: m.findings,
		Checks: record.Checks{NotPossible: []string{"every check: " + t.name + " made none"}}}
	spec := map[string]any{"concurrency": m.slots}
	if m.rate != "" {
		spec["rate"] = json.RawMessage(m.rate)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return row, fmt.Errorf("the rate %s: %w", m.rate, err)
	}
	if err := json.Unmarshal(text, &row.Spec); err != nil {
		return row, fmt.Errorf("the rate %s: %w", m.rate, err)
	}
	row.Spec.Name, row.Spec.Point = m.name, m.axes
	row.Findings = append(row.Findings, record.Finding{Code: "foreign",
		Text: "measured by " + t.name + ": no check of the client, the workload or the stamps was made",
		Hint: "the notes say what its figures mean; compare them with those of the same tool, or measure again with bench sweep"})
	return row, nil
}

// object is one JSON object, its values not read yet.
type object map[string]json.RawMessage

// split reads the objects of a file, one after the other. Python writes Infinity and NaN, which are not JSON: the first becomes
// "inf", the other null.
func split(text []byte) ([]object, error) {
	d := json.NewDecoder(bytes.NewReader(pythonNumbers(text)))
	var out []object
	for {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON objects: %w", err)
		}
		out = append(out, o)
	}
}

func pythonNumbers(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			n := stringLength(text[i:])
			out = append(out, text[i:i+n]...)
			i += n
		case bytes.HasPrefix(text[i:], []byte("-Infinity")):
			out = append(out, "null"...)
			i += len("-Infinity")
		case bytes.HasPrefix(text[i:], []byte("Infinity")):
			out = append(out, `"inf"`...)
			i += len("Infinity")
		case bytes.HasPrefix(text[i:], []byte("NaN")):
			out = append(out, "null"...)
			i += len("NaN")
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// stringLength is that of the string literal that text begins with, its quotes included.
func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func (o object) has(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { _, ok := o[k]; return !ok })
}

// number is a value, or false where there is none.
func (o object) number(key string) (float64, bool) {
	var x *float64
	if err := json.Unmarshal(o[key], &x); err != nil || x == nil {
		return 0, false
	}
	return *x, true
}

// or0 is a value where 0 says nothing wrong: counts of what a file may leave out.
func (o object) or0(key string) float64 {
	x, _ := o.number(key)
	return x
}

func (o object) count(key string) int { return int(math.Round(o.or0(key))) }

func (o object) text(key string) string {
	var s string
	_ = json.Unmarshal(o[key], &s) // another type, or none, is no text
	return s
}

func (o object) object(key string) object {
	var inner object
	_ = json.Unmarshal(o[key], &inner) // likewise
	return inner
}

// list reads an array into a slice; absent is empty, of another type an error.
func list[T any](o object, key string) ([]T, error) {
	if !o.has(key) {
		return nil, nil
	}
	var out []T
	if err := json.Unmarshal(o[key], &out); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return out, nil
}

// percentiles are the names that a summary of ours has.
var percentiles = []string{"p50", "p90", "p95", "p99", "p999"}

// totals is a summary of n values of which only some figures are known: the others are NaN, as they are no zeros. nil where not
// even a mean or a median is known.
func totals(n int, get func(stat string) (float64, bool)) *stats.Summary {
	s := &stats.Summary{N: n, CI95: map[string]stats.Interval{}}
	known := false
	for name, into := range map[string]*float64{"mean": &s.Mean, "std": &s.Std, "min": &s.Min, "max": &s.Max,
		"p50": &s.P50, "p90": &s.P90, "p95": &s.P95, "p99": &s.P99, "p999": &s.P999} {
		x, ok := get(name)
		if !ok {
			x = math.NaN()
		}
		*into = x
		known = known || ok && (name == "mean" || name == "p50")
	}
	for _, p := range percentiles {
		s.CI95[p] = stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	if !known || n == 0 {
		return nil
	}
	return s
}

// perRequest is the mean length of n requests, as a summary that says no more; nil without tokens: a file that counts none has none.
func perRequest(total, n int) *stats.Summary {
	if total == 0 {
		return nil
	}
	mean := float64(total) / float64(n)
	return totals(n, func(stat string) (float64, bool) { return mean, stat == "mean" })
}
