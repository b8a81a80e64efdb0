// Package foreign reads result files of other tools (vllm bench serve, SGLang's bench_serving, guidellm, aiperf,
// genai-bench, and the Benchmark Reports of llm-d, which inference-perf writes) as runs of bench. Read recognizes the
// tool by the content of the file. A figure takes the name of bench's metric with the same meaning, whatever the tool
// calls it; if the meanings differ, the tool's definition goes with it, so that no comparison ignores the difference.
// Figures that a file lacks stay missing.
//
// Load, LoadSide and LoadNight take whatever a user names on the command line: a run of bench, one of its row
// files, or a file of another tool.
package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report"
)

var ErrUnknown = errors.New("not a result file of vllm bench serve, SGLang bench_serving, guidellm, aiperf, " +
	"genai-bench or llm-d (Benchmark Report 0.2)")

type tool struct {
	name        string
	is          func(object) bool
	read        func(object) ([]measurement, error)
	definitions map[string]string
}

var tools = []tool{guidellm, aiperf, genaiBench, sglang, vllm}

// measurement is one row with what is stated once for a run.
type measurement struct {
	record.Row
	model     string
	client    string // that measured; empty: the tool
	version   string // of the client; empty: not reported
	records   []*record.Record
	predicted *record.Prediction // nil = measured
	origin    *record.Manifest   // of a row of bench: its target and facts; nil = of another tool
}

// Read recognizes the tool by content. A file can have several measurements, in consecutive objects or an array: each
// is a row.
func Read(name string, text []byte) (*report.Run, error) {
	var t tool
	var all []measurement
	n := 0
	for o, err := range objectsOf(name, text) {
		if n++; err == nil && n == 1 {
			t, err = toolOf(o)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		ms, err := t.read(o)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %s, object %d: %w", name, t.name, n, err)
		}
		all = append(all, ms...)
	}
	if n == 0 {
		return nil, fmt.Errorf("reading %s: %w", name, ErrUnknown)
	}
	r := &report.Run{Dir: name}
	var err error
	if r.Run, err = t.run(filepath.Base(name), all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return r, nil
}

func toolOf(o object) (tool, error) {
	if o.has("version", "run", "results") && strings.HasPrefix(strings.Trim(string(o["version"]), `"`), "0.2") {
		return reportTool(o), nil
	}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.is(o) })
	if i < 0 {
		return tool{}, ErrUnknown
	}
	return tools[i], nil
}

// defined adds what a tool defines alike: its latencies are from the send, and it counts prompt and output tokens
// alike.
func (t tool) defined() map[string]string {
	all := maps.Clone(t.definitions)
	for key, like := range map[string]string{"ttft_from_send": "ttft", "e2e_from_send": "e2e",
		"prompt_tokens_per_s": "output_tokens_per_s"} {
		if d, ok := all[like]; ok && all[key] == "" {
			all[key] = d
		}
	}
	return all
}

// run makes rows of measurements; measurements of one name are repeats.
func (t tool) run(file string, all []measurement) (r record.Run, err error) {
	records := map[string][]*record.Record{}
	r.Definitions, r.Records = t.defined(), record.RecordsOf(records)
	r.Manifest = record.Manifest{Schema: record.SchemaRun, Run: file, Matrix: t.name, State: "done",
		Unspecified: []string{"hardware", "gpus", "precision"},
		Notes:       []string{"imported from a file of " + t.name + "; its figures follow that tool's definitions"}}
	for _, latency := range metric.Latencies {
		if d, ok := t.definitions[latency]; ok {
			r.Manifest.Notes = append(r.Manifest.Notes, latency+" is "+d)
		}
	}
	repeats := map[string]int{}
	for _, m := range all {
		if m.Schema == "" { // else it is a row of bench
			t.complete(&m)
		}
		point := m.Spec.Label()
		repeats[point]++
		m.Spec.Repeat = repeats[point]
		m.ID = fmt.Sprintf("%s-r%d", strings.ReplaceAll(point, " ", ","), m.Spec.Repeat)
		records[m.ID] = m.records
		if !slices.Contains([]string{"", m.model}, r.Manifest.Target.Model) {
			return r, fmt.Errorf("the file contains models %q and %q\nhint: use one file per model",
				r.Manifest.Target.Model, m.model)
		}
		r.Manifest.Target.Model = m.model
		r.Manifest.Client = record.ClientInfo{Tool: cmp.Or(m.client, t.name), Version: m.version}
		if m.origin != nil {
			r.Manifest.Target, r.Manifest.Facts = m.origin.Target, m.origin.Facts
			r.Manifest.Unspecified = m.origin.Unspecified
		}
		for _, what := range m.missing() {
			if !slices.Contains(r.Manifest.Unspecified, what) {
				r.Manifest.Unspecified = append(r.Manifest.Unspecified, what)
			}
		}
		if m.predicted != nil {
			r.Manifest.Predicted = m.predicted
		}
		r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: m.ID, Name: m.Spec.Name, State: "done"})
		if r.Manifest.StartedAt.IsZero() || m.StartedAt.Before(r.Manifest.StartedAt) {
			r.Manifest.StartedAt = m.StartedAt
		}
		end := m.StartedAt.Add(time.Duration(m.Summary.DurationS * 1e9))
		if !m.StartedAt.IsZero() && end.After(r.Manifest.EndedAt) {
			r.Manifest.EndedAt = end
		}
		r.Rows = append(r.Rows, m.Row)
	}
	return r, nil
}

func (m *measurement) missing() (out []string) {
	s := &m.Summary
	for _, x := range []struct {
		what string
		is   bool
	}{
		{"version", m.version == ""}, {"model", m.model == ""}, {"load", m.Spec.Rate == 0 && m.Spec.Concurrency == 0},
		{"start", m.StartedAt.IsZero()}, {"duration", s.DurationS == 0},
		{"prompt tokens", s.Tokens.Prompt == 0}, {"output tokens", s.Tokens.Output == 0},
		{"TTFT", s.TTFT == nil}, {"TPOT", s.TPOT == nil}, {"ITL", s.ITL == nil}, {"E2E", s.E2E == nil},
	} {
		if x.is {
			out = append(out, x.what)
		}
	}
	return out
}

func (t tool) complete(m *measurement) {
	m.Schema, m.PromptForm, m.NoRoofline = record.SchemaRow, "not reported", "the file does not report the hardware"
	m.Predicted, m.Simulated = m.predicted != nil, m.predicted != nil
	m.Checks.NotPossible = []string{"every check: " + t.name + " has none"}
	tokens, n := m.Summary.Tokens, m.Summary.Requests.Completed
	m.Lengths = record.Lengths{PromptTokens: perRequest(tokens.Prompt, n), OutputTokens: perRequest(tokens.Output, n)}
	m.Spec.Name, _, _ = strings.Cut(t.name, " ")
	m.Spec.Point = axes(m.Spec.Rate, m.Spec.Concurrency, m.Lengths)
	m.Findings = append(m.Findings, record.Finding{Code: "foreign", Severity: record.Note,
		Text: "measured by " + t.name + ": client, workload and timestamps were not checked",
		Hint: "see the notes for its definitions; compare with results of the same tool, or measure with bench sweep"})
}

type object map[string]json.RawMessage

// split reads one object after the other: of a long file of no tool only the first one. Python writes Infinity and NaN,
// which JSON lacks: Infinity becomes "inf", -Infinity and NaN null.
func split(text []byte) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		d := json.NewDecoder(bytes.NewReader(pythonNumbers(text)))
		for {
			var value json.RawMessage
			err := d.Decode(&value)
			if errors.Is(err, io.EOF) {
				return
			}
			var some []object
			if err == nil {
				some, err = objects(value)
			}
			if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
				err = fmt.Errorf("expected JSON objects, found: %s", wrong.Value)
			} else if err != nil {
				err = fmt.Errorf("not JSON objects: %w", err)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, o := range some {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

func objects(value json.RawMessage) (out []object, err error) {
	if value[0] == '[' {
		err = json.Unmarshal(value, &out)
		return out, err
	}
	out = make([]object, 1)
	return out, json.Unmarshal(value, &out[0])
}

var pythonTokens = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

func pythonNumbers(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	return pythonTokens.ReplaceAllFunc(text, func(token []byte) []byte {
		switch string(token) {
		case "Infinity":
			return []byte(`"inf"`)
		case "-Infinity", "NaN":
			return []byte("null")
		}
		return token
	})
}

func (o object) has(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { _, ok := o[k]; return !ok })
}

// as is nil if there is no value, or one of another type.
func as[T any](o object, key string) (x *T) {
	if json.Unmarshal(o[key], &x) != nil {
		return nil
	}
	return x
}

func (o object) number(key string) (float64, bool) {
	x := as[float64](o, key)
	return *cmp.Or(x, new(float64)), x != nil
}

func (o object) or0(key string) float64      { return *cmp.Or(as[float64](o, key), new(float64)) }
func (o object) count(key string) int        { return int(math.Round(o.or0(key))) }
func (o object) text(key string) string      { return *cmp.Or(as[string](o, key), new(string)) }
func (o object) object(key string) object    { return *cmp.Or(as[object](o, key), new(object)) }
func (o object) objects(key string) []object { return *cmp.Or(as[[]object](o, key), new([]object)) }

// list reads an array; nil: absent. Another type is an error.
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

// column is list; its error goes to wrong, which keeps the first.
func column[T any](o object, key string, wrong *error) []T {
	out, err := list[T](o, key)
	if *wrong == nil {
		*wrong = err
	}
	return out
}

// distribution is totals of an object with a number for each statistic: under its name in names, else under its own.
func distribution(o object, n int, scale float64, names map[string]string) *stats.Summary {
	return totals(n, func(stat string) (float64, bool) {
		x, ok := o.number(cmp.Or(names[stat], stat))
		return x * scale, ok
	})
}

// totals has NaN for what is not known; nil: neither mean nor median is.
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
	for _, p := range metric.Percentiles {
		s.CI95[p] = stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	if !known || n == 0 {
		return nil
	}
	return s
}

func perRequest(total, n int) *stats.Summary {
	if total == 0 || n == 0 {
		return nil
	}
	mean := float64(total) / float64(n)
	return totals(n, func(stat string) (float64, bool) { return mean, stat == "mean" })
}
