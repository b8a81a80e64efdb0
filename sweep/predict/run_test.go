package predict

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/sweep"
	"bench/sweep/matrix"
)

// A search drives the simulated engine as it drives a server, and a budget counts the time that the rows would take.
func TestSearchAndBudget(t *testing.T) {
	dir, rows := predicted(t, strings.Replace(head, "[target]", "budget = \"90s\"\n[target]", 1)+`
[slo]
ttft_p95 = "500ms"
[[row]]
name = "search"
input = 1000
output = 50
rate = { search = "slo", min = 1, max = 64 }
`)
	m := manifest(t, dir)
	if len(m.Searches) != 1 || m.Searches[0].Low == nil || len(rows) < 3 {
		t.Errorf("%d probes, searches %+v", len(rows), m.Searches)
	}
	if m.Budget.SpentS < 20 || m.Budget.SpentS > 120 {
		t.Errorf("%g s of the budget are spent", m.Budget.SpentS)
	}
	if _, err := sweep.Run(t.Context(), read(t, head+"[[row]]\nname = \"a\"\ninput = 1\noutput = 1\nconcurrency = 1\nrequests = 1\n"), sweep.Options{Resume: dir}); err == nil || !strings.Contains(err.Error(), "is a prediction") {
		t.Errorf("resumed: %v", err)
	}
}

// The budget of a search is the time of the simulated server, too, and its answer says what was spent.
func TestSearchBudget(t *testing.T) {
	for _, limit := range []struct {
		keys, spent string
		seconds     float64
	}{{`budget = "60s"`, "; budget spent at", 60}} {
		dir, rows := predicted(t, head+`
[slo]
ttft_p95 = "500ms"
[[row]]
name = "search"
input = 1000
output = 50
rate = { search = "slo", min = 1, max = 64, tolerance = "1%", `+limit.keys+` }
`)
		total := 0.0
		for _, r := range rows {
			total += r.Took().Seconds()
		}
		f := manifest(t, dir).Searches[0]
		if total < 10 || total > 1.2*limit.seconds || math.Abs(f.TookS-total) > 0.01 || !strings.Contains(f.Text, limit.spent) {
			t.Errorf("%s: %d probes took %g s: %s", limit.keys, len(rows), total, f.Text)
		}
	}
}

func read(t testing.TB, text string) *matrix.Matrix {
	m, err := matrix.ParseSet("m.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func manifest(t testing.TB, dir string) record.Manifest {
	t.Helper()
	var m record.Manifest
	if err := readJSON(filepath.Join(dir, "run.json"), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A window by time outlasts its last request: readings stay in order until its end, and its whole time counts.
func TestSparseWindow(t *testing.T) {
	dir, rows := predicted(t, head+`
[[row]]
name = "sparse"
input = 100
output = 10
rate = 0.1
arrival = "poisson"
duration = "60s"
`)
	last := int64(-1)
	f, err := os.Open(filepath.Join(dir, rows["sparse"].ID+".telemetry.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = record.ReadSamples(f, func(s *record.Sample) error {
		if s.TUs < last {
			t.Errorf("a reading at %d µs follows one at %d", s.TUs, last)
		}
		last = s.TUs
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if row := rows["sparse"]; row.Time.WindowS != 60 || last < 60e6 || row.Server.Metrics.Whole == nil {
		t.Errorf("window of %g s, last reading at %d µs", row.Time.WindowS, last)
	}
}

// An interrupted prediction leaves no file that is taken for a whole row.
func TestInterruptedPrediction(t *testing.T) {
	m, p, err := planned(t, head+`
[[row]]
name = "long"
input = 100
output = 100
concurrency = 4
duration = "500h"
`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := sweep.Options{Out: t.TempDir(), Event: func(e sweep.Event) {
		if e.Begun != nil {
			e.Begun.Progress.Each = func(*record.Record) { cancel() }
		}
	}}
	p.Apply(&o)
	result, err := sweep.Run(ctx, m, o)
	if !errors.Is(err, context.Canceled) || !endpoint.Interrupted(err) {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(result.Dir, "*"))
	for _, f := range files {
		if name := filepath.Base(f); name != "run.json" && name != ".lock" && !strings.HasSuffix(name, ".partial") {
			t.Errorf("%s was left", name)
		}
	}
	if m := manifest(t, result.Dir); m.State != "interrupted" || m.Plan[0].State != "planned" {
		t.Errorf("state %s, %s", m.State, m.Plan[0].State)
	}
}

func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
