package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/report"
	"bench/report/foreign"
)

// everyKind has rows of every kind whose verdicts can need something else than its records.
const everyKind = `
name = "kinds"
[target]
hardware = "h100-sxm"
gpus = 1
model = "llama-3.1-8b"
gpu_hour_usd = 2.0
[slo]
e2e_p95 = "2s"
min_output_tokens_per_s = 1
usd_per_million_output_tokens = 1000.0
[slo.each]
e2e = "1s"
[mock]
ttft = "2ms"
itl = "1ms"
faults = ["cut-mid=5@17", "short=6@11", "multi=2@13"] # after the two tokens of a probe
[defaults]
requests = 40
[[row]]
name = "closed"
concurrency = 4
warmup = 4
input = 64
output = 8
[[row]]
name = "open"
rate = 200
input = 64
output = 8
prefix = { tokens = 32, groups = 2, state = "warm" }
[row.slo]
tpot_mean = "100ms"
itl_p90 = "50ms"
[[row]]
name = "shared"
api = "chat"
rate = 200
input = 64
output = 8
prefix = { tokens = 32, groups = 2, state = "shared" }
[[row]]
name = "lengths"
concurrency = 2
input = { dist = "empirical", file = "lengths.txt" }
output = 8
prefix = { tokens = 16, groups = 1, state = "shared" }
[[row]]
name = "whole"
concurrency = 2
input = 64
output = 8
stream = false
[[row]]
name = "cold"
kind = "cold_start"
idle = "1ms"
requests = 3
input = 64
output = 8
[row.slo]
ttft_p50 = "1s"
[[row]]
name = "tiles"
workload = "tiling"
concurrency = 2
input = 64
output = 8
[row.tile]
contexts = 5
rounds = 2
[[row]]
name = "talk"
concurrency = 2
input = 64
output = 8
session = { turns = 3, user = 16 }
[[row]]
name = "decided"
rate = 500
requests = 200
until = "decided"
input = 16
output = 4
[[row]]
name = "found"
concurrency = { search = "slo", min = 1, max = 4 }
input = 16
output = 4
[row.slo]
error_rate = 0.5
[[row]]
name = "mixed"
rate = 100
isolate = true
[[row.mix]]
name = "chat"
weight = 0.7
input = 32
output = 8
[row.mix.slo]
ttft_p90 = "1s"
error_rate = 0.3
[[row.mix]]
name = "batch"
weight = 0.3
input = 64
output = 16
`

// measured runs a matrix against the simulated server, in a directory of its own.
func measured(t *testing.T, matrix string) *report.Run {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"m.toml": matrix, "lengths.txt": "40\n64\n100\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	if code := bench(t.Context(), strings.NewReader(""), io.Discard, &said, []string{"sweep", "m.toml", "--plain"}); code > codeFailed { // 1: no row is valid
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	dirs, err := filepath.Glob("results/*/*")
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	run, err := foreign.Load(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// evaluation is that of the flag --recompute.
func evaluation(t *testing.T) report.Evaluation {
	t.Helper()
	models, hardware, err := readTables(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return report.Evaluation{Models: models, Hardware: hardware}
}

func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRecomputeIsExact: the records and the row's file hold everything that the row was concluded from. Other
// limits apply to every kind of row.
func TestRecomputeIsExact(t *testing.T) {
	run := measured(t, everyKind)
	if len(run.Missing) > 0 || len(run.Manifest.Searches) != 1 {
		t.Fatalf("missing %q, searches %v", run.Missing, run.Manifest.Searches)
	}
	rows, searches := plain(t, run.Rows), plain(t, run.Manifest.Searches)
	if err := os.Remove("lengths.txt"); err != nil { // the plan of a stored row can't be made again
		t.Fatal(err)
	}
	if err := run.EvaluateAgain(evaluation(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, plain(t, run.Rows)); diff != "" {
		t.Errorf("stored (-) and recomputed (+) rows differ:\n%s", diff)
	}
	if diff := cmp.Diff(searches, plain(t, run.Manifest.Searches)); diff != "" {
		t.Errorf("stored (-) and recomputed (+) searches differ:\n%s", diff)
	}
	if len(run.Evaluated.Stored) > 0 {
		t.Errorf("not evaluated: %q", run.Evaluated.Stored)
	}

	limits, err := limitsFor("e2e_p50=1us", []*report.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	by := evaluation(t)
	by.Given, by.Limits = limits.Given, limits.Apply
	if err := run.EvaluateAgain(by); err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Rows {
		if len(r.SLO) != 1 || r.SLO[0].Metric != "e2e_p50" || r.SLO[0].Verdict == "PASS" || r.SLO[0].Verdict == "FAIL" && r.Cost != nil {
			t.Errorf("%s under a limit that no request meets: %+v, cost %v", r.ID, r.SLO, r.Cost)
		}
	}
	if f := run.Manifest.Searches[0]; f.State != "none" || f.Met() || f.Probes != 4 {
		t.Errorf("%s: %s", f.State, f.Text)
	}
	if want := "evaluated again with E2E p50 ≤ 0.001 ms (the run's own: limits by row)"; run.Evaluated.Text != want {
		t.Errorf("%s, want %s", run.Evaluated.Text, want)
	}
	stored := *run
	run.Records = func(row *record.Row) ([]*record.Record, error) {
		if row.ID == "found,concurrency=2-r1" {
			return nil, nil
		}
		return stored.Requests(row)
	}
	if err := run.EvaluateAgain(by); err != nil || run.Manifest.Searches[0].Probes != 3 {
		t.Errorf("a probe without records counts: %v, %s", err, run.Manifest.Searches[0].Text)
	}
}
