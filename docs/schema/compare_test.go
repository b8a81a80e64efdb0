package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/report/compare"
)

// resultOf is a result of one point, with classes, whose latencies are as said.
func resultOf(name string, ms float64, repeats int) compare.Run {
	run := compare.Run{Name: name, Run: record.Run{Manifest: record.Manifest{Run: name, Matrix: "m", Target: record.TargetInfo{Model: "llama", Hardware: name}}}}
	for i := range repeats {
		values := make([]float64, 400)
		for j := range values {
			values[j] = ms * (1 + 0.01*float64(i) + 0.0001*float64(j))
		}
		row := record.Row{ID: fmt.Sprintf("A-r%d", i+1), Spec: experiment.Spec{Name: "A", Repeat: i + 1}, Checks: record.Checks{Passed: []string{"lag"}}}
		row.Spec.Mix = []workload.Class{{Name: "chat", Weight: 1}, {Name: "rag", Weight: 1}}
		row.Summary = record.Summary{TTFT: stats.Summarize(values), Requests: record.Requests{Planned: 400, Completed: 400}, Throughput: record.Throughput{RequestsPerS: 1e3 / ms}}
		row.Classes = map[string]record.Summary{"chat": row.Summary, "rag": row.Summary}
		run.Rows = append(run.Rows, row)
	}
	return run
}

// TestSchemaOfCompare: what bench compare --format json writes is a document of the schema: tested, gated,
// refused, and without a point.
func TestSchemaOfCompare(t *testing.T) {
	side := func(run compare.Run) compare.Side { return compare.Side{Name: run.Name, Runs: []compare.Run{run}} }
	base, changed := resultOf("base", 80, 4), resultOf("new", 100, 4)
	flagged := resultOf("flagged", 80, 1)
	flagged.Rows[0].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}, {Code: "client_machine", Severity: record.Caution}}
	o := compare.Options{Allow: []string{"hardware"}}
	o.Gate.Thresholds = []experiment.Threshold{{Metric: "ttft_p50", Worse: 0.05}, {Metric: "goodput_requests_per_s", Worse: 0.05}}
	var tested []byte
	for _, x := range []struct {
		base, changed compare.Side
		o             compare.Options
		want          string
	}{
		{side(base), side(flagged), o, `"need_runs":`},
		{side(base), compare.Side{Name: "none"}, o, `"only_in_base":["A"]`},
		{side(base), side(changed), compare.Options{}, `"refused":true`},
		{side(base), side(changed), o, `"gate":"FAIL"`},
	} {
		c, err := compare.Compare(x.base, x.changed, x.o)
		if err != nil {
			t.Fatal(err)
		}
		tested = marshalled(t, c)
		if !strings.Contains(string(tested), x.want) {
			t.Errorf("no %s in %s", x.want, tested)
		}
		validate(t, compile(t), x.changed.Name, documents{"comparison": {tested}})
	}
	point := func(d map[string]any) map[string]any { return d["points"].([]any)[0].(map[string]any) }
	metric := func(d map[string]any) map[string]any {
		class := point(d)["classes"].([]any)[1].(map[string]any)
		return class["metrics"].([]any)[0].(map[string]any)
	}
	spoiled(t, "comparison", tested, map[string]func(d map[string]any){
		"later version":        func(d map[string]any) { d["schema"] = "bench/comparison/v3" },
		"no points":            func(d map[string]any) { d["points"] = nil },
		"unknown verdict":      func(d map[string]any) { metric(d)["verdict"] = "slower" },
		"unknown verdict of a": func(d map[string]any) { d["gate"].(map[string]any)["verdict"] = "OK" },
		"change as text":       func(d map[string]any) { metric(d)["change"] = "5 %" },
		"half an interval":     func(d map[string]any) { metric(d)["change_ci95"] = []any{1} },
		"repeats of one side":  func(d map[string]any) { metric(d)["repeats"] = []any{[]any{1}} },
		"no p":                 func(d map[string]any) { delete(metric(d), "p") },
		"unknown field":        func(d map[string]any) { point(d)["class"] = "chat" },
	})
}

// TestSchemaOfHistory: the same for what bench history --format json writes, and for the index that it keeps.
func TestSchemaOfHistory(t *testing.T) {
	nights := []compare.Night{{Dir: "b", Stamp: "1", Error: "no rows"}}
	for i := range 32 {
		x, version := 100+float64(i*7%5), "0.11"
		if i >= 20 {
			x, version = x*1.3, "0.12"
		}
		if i == 31 {
			x *= 3
		}
		nights = append(nights, compare.Night{Dir: fmt.Sprint(i), Stamp: "2", Run: fmt.Sprint(i), StartedAt: time.Unix(0, 0).UTC().AddDate(0, 0, i),
			Group: compare.GroupKey{Matrix: "m"}, Facts: []compare.Fact{{What: "server version", Value: version}},
			Points: []compare.NightPoint{{Name: "A", Workload: "1",
				Figures: map[string]compare.Value{"ttft_p99": {X: x, Repeats: 1}}}}})
	}
	compiled := compile(t)
	h := compare.NewHistory(nights)
	if tr := h.Groups[0].Trends[0]; len(tr.Changes) == 0 || len(tr.Changes[0].Suspects) == 0 || tr.Alarm == nil {
		t.Fatalf("there is no change or no alarm to write: %+v", tr)
	}
	text := marshalled(t, h)
	validate(t, compiled, "a history", documents{"trends": {text, marshalled(t, compare.NewHistory(nights[:1])), marshalled(t, compare.NewHistory(nil))}})
	index := marshalled(t, compare.Index{Schema: compare.SchemaIndex, Nights: nights})
	validate(t, compiled, "an index", documents{"history": {index}})
	trend := func(d map[string]any) map[string]any {
		return d["groups"].([]any)[0].(map[string]any)["trends"].([]any)[0].(map[string]any)
	}
	spoiled(t, "trends", text, map[string]func(d map[string]any){
		"later version":   func(d map[string]any) { d["schema"] = "bench/trends/v3" },
		"no groups":       func(d map[string]any) { d["groups"] = nil },
		"no alarm at all": func(d map[string]any) { delete(trend(d), "alarm") },
		"alarm as text":   func(d map[string]any) { trend(d)["alarm"] = "slower" },
		"night by name":   func(d map[string]any) { trend(d)["nights"].([]any)[0] = "monday" },
		"no date":         func(d map[string]any) { trend(d)["changes"].([]any)[0].(map[string]any)["date"] = "monday" },
	})
	spoiled(t, "history", index, map[string]func(d map[string]any){
		"the schema of trends": func(d map[string]any) { d["schema"] = "bench/trends/v2" },
		"no stamp":             func(d map[string]any) { delete(d["nights"].([]any)[1].(map[string]any), "stamp") },
	})
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// spoiled breaks a valid document in one place at a time.
func spoiled(t *testing.T, kind string, valid []byte, cases map[string]func(d map[string]any)) {
	t.Helper()
	schema := compile(t)[kind]
	for name, spoil := range cases {
		d := parse(t, valid).(map[string]any)
		spoil(d)
		if schema.Validate(d) == nil {
			t.Errorf("%s, %s: valid", kind, name)
		}
	}
}

// TestSchemaOfGate: the same for the gate.json that bench compare --base writes: failed, and of a new base.
func TestSchemaOfGate(t *testing.T) {
	o := compare.Options{Allow: []string{"hardware"}}
	o.Gate.Thresholds = []experiment.Threshold{{Metric: "ttft_p50", Worse: 0.05},
		{Metric: "goodput_requests_per_s", Worse: 0.05}}
	base, changed := resultOf("base", 80, 4), resultOf("new", 100, 4)
	changed.Manifest.StartedAt = time.Unix(1, 0)
	earlier := []compare.Candidate{{Name: "base", Read: func() (compare.Run, error) { return base, nil }}}
	var texts [][]byte
	for _, candidates := range [][]compare.Candidate{nil, earlier} {
		c, err := compare.ChooseBase(changed, candidates, 5, o.Allow).Compare(changed, o)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, marshalled(t, c.Record("new")))
		validate(t, compile(t), "a comparison with earlier runs", documents{"comparison": {marshalled(t, c)}})
	}
	if !strings.Contains(string(texts[1]), `"since":"new"`) ||
		!strings.Contains(string(texts[1]), `"undecided":[{`) {
		t.Fatalf("nothing failed or is undecided: %s", texts[1])
	}
	validate(t, compile(t), "a gate", documents{"gate": texts})
	spoiled(t, "gate", texts[1], map[string]func(d map[string]any){
		"later version":   func(d map[string]any) { d["schema"] = "bench/gate/v2" },
		"unknown verdict": func(d map[string]any) { d["verdict"] = "OK" },
		"no regressions":  func(d map[string]any) { d["regressions"] = nil },
		"no since": func(d map[string]any) {
			delete(d["regressions"].([]any)[0].(map[string]any),
				"since")
		},
	})
}
