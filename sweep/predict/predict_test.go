package predict

import (
	"math"
	"os"
	"testing"
	"time"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/sweep"
	"bench/sweep/matrix"
)

const head = `name = "m"
[target]
model = "llama-3.1-8b"
hardware = "h100-sxm"
gpus = 1
`

func tables(t testing.TB) mock.Config {
	t.Helper()
	text, err := os.ReadFile("../../" + roofline.ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	models, err := roofline.ParseModels(text)
	if err != nil {
		t.Fatal(err)
	}
	return mock.Config{Models: models, Devices: roofline.BuiltinHardware()}
}

func planned(t testing.TB, text string) (*matrix.Matrix, *Plan, error) {
	t.Helper()
	base := tables(t)
	m, err := matrix.ParseSet("m.toml", []byte(text), nil, matrix.Extension{Table: "mock", Into: &base})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(m, base)
	return m, p, err
}

// predicted runs the prediction of a matrix and returns its directory and its rows by name.
func predicted(t testing.TB, text string) (string, map[string]*record.Row) {
	t.Helper()
	m, p, err := planned(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return carriedOut(t, m, p)
}

func ran(t testing.TB, m *matrix.Matrix, p *Plan) *sweep.Result {
	t.Helper()
	o := sweep.Options{Out: t.TempDir()}
	p.Apply(&o)
	result, err := sweep.Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func carriedOut(t testing.TB, m *matrix.Matrix, p *Plan) (string, map[string]*record.Row) {
	t.Helper()
	rows := map[string]*record.Row{}
	o := sweep.Options{Out: t.TempDir(), Event: func(e sweep.Event) {
		if e.Finished != nil {
			rows[e.Finished.Row.Spec.Label()] = e.Finished.Row
		}
	}}
	p.Apply(&o)
	result, err := sweep.Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Manifest.Predicted == nil || result.Manifest.Predicted.Hardware != "h100-sxm" || result.Manifest.State != "done" {
		t.Errorf("manifest %+v", result.Manifest.Predicted)
	}
	return result.Dir, rows
}

// A lone request takes the times of the roofline; a closed loop with a worker for each sequence has their steps.
func TestKnownAnswers(t *testing.T) {
	_, rows := predicted(t, head+`
[[row]]
name = "alone"
input = 1000
output = 50
concurrency = 1
requests = 20
[[row]]
name = "cached"
input = 1000
output = 50
concurrency = 1
requests = 20
prefix = { tokens = 800, state = "warm" }
[[row]]
name = "talk"
input = 480
output = 32
concurrency = 2
requests = 30
session = { turns = 3, user = 64, think = "1s" }
[[row]]
name = "whole"
stream = false
input = 100
output = 10
concurrency = 3
requests = 30
`)
	s := roofline.Setup{Model: model(t), Device: device(t), GPUs: 1}
	within := func(what string, got, want, share float64) {
		t.Helper()
		if math.Abs(got-want) > share*want {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	alone := rows["alone"]
	within("TTFT alone", alone.Summary.TTFT.P50, s.PrefillMs(1000, 0)+s.FrontEndMs(), 1e-3)
	within("TPOT alone", alone.Summary.TPOT.P50, s.DecodeMs(1, 1025), 1e-2)
	within("TTFT of a cached prefix", rows["cached"].Summary.TTFT.P50, s.PrefillMs(1000, 800)+s.FrontEndMs(), 1e-3)
	if n := *rows["cached"].Summary.Tokens.Cached; n != 20*800 {
		t.Errorf("%d cached tokens", n)
	}
	// Of three turns, the second finds 480+32−1 tokens in whole blocks, the third 480+2·32+64−1.
	if n, want := *rows["talk"].Summary.Tokens.Cached, 10*(496+560); math.Abs(float64(n-want)) > 0.05*float64(want) {
		t.Errorf("%d cached tokens of conversations, want about %d", n, want)
	}
	if w := rows["whole"].Summary; w.TTFT != nil || w.E2E == nil || w.Requests.Completed != 30 {
		t.Errorf("without streaming: %+v", w)
	}
	for name, row := range rows {
		if !row.Predicted || row.Summary.Lag.Max != 0 || row.Summary.Requests.Failed > 0 || !row.Valid() || row.Server.Metrics.Running == nil {
			t.Errorf("%s: %+v", name, row.Findings)
		}
	}
}

func model(t testing.TB) roofline.Model {
	m, err := tables(t).Models.Find("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func device(t testing.TB) roofline.Device {
	d, err := roofline.BuiltinHardware().Find("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// With lengths that vary, workers fall out of step, and the engine's steps give the closed form of the roofline for a
// load. The closed form has no spread of lengths and no queue for a place in a step: TTFT is wider.
func TestClosedForm(t *testing.T) {
	_, rows := predicted(t, head+`
[defaults]
input = { dist = "uniform", min = 820, max = 1228 }
output = { dist = "uniform", min = 52, max = 76 }
warmup = "10s"
duration = "60s"
[[row]]
name = "closed"
concurrency = [1, 4, 8, 16]
[[row]]
name = "open"
rate = [2, 8]
arrival = "poisson"
`)
	s := roofline.Setup{Model: model(t), Device: device(t), GPUs: 1}
	work := roofline.Workload{Input: 1024, Output: 64}
	for name, row := range rows {
		load := s.AtConcurrency(float64(row.Spec.Concurrency), work)
		if row.Spec.Rate > 0 {
			load = s.AtRate(float64(row.Spec.Rate), work)
		}
		for what, x := range map[string][3]float64{
			"TTFT": {row.Summary.TTFT.P50, load.TTFT.ExpectedMs, 0.10},
			"TPOT": {row.Summary.TPOT.P50, load.TPOT.ExpectedMs, 0.05},
		} {
			if got, want, share := x[0], x[1], x[2]; math.Abs(got-want) > share*want {
				t.Errorf("%s: %s p50 %g ms, in closed form %g", name, what, got, want)
			}
		}
	}
}

// One sequence at a time, each request in one step of 10 ms: an M/D/1 queue, whose mean wait is ρ/(2(1−ρ)) steps
// (Pollaczek–Khinchine).
func TestQueue(t *testing.T) {
	m, p, err := planned(t, head+`
[[row]]
name = "queue"
input = 16
output = 1
rate = 60
arrival = "poisson"
requests = 60000
`)
	if err != nil {
		t.Fatal(err)
	}
	p.servers[""].config = mock.Config{StepBase: 10 * time.Millisecond, MaxNumSeqs: 1, NoPrefixCaching: true}
	o := sweep.Options{Out: t.TempDir()}
	var row *record.Row
	o.Event = func(e sweep.Event) {
		if e.Finished != nil {
			row = e.Finished.Row
		}
	}
	p.Apply(&o)
	if _, err := sweep.Run(t.Context(), m, o); err != nil {
		t.Fatal(err)
	}
	const rho, step = 0.6, 10.0
	if want := step + step*rho/(2*(1-rho)); math.Abs(row.Summary.TTFT.Mean-want) > 0.03*want {
		t.Errorf("mean TTFT %g ms, want %g", row.Summary.TTFT.Mean, want)
	}
}

// The same matrix gives the same figures, whatever the salt.
func TestPredictionIsReproducible(t *testing.T) {
	text := head + `
[[row]]
name = "open"
input = { dist = "lognormal", p50 = 300, p95 = 1200, max = 4000 }
output = 40
rate = 30
arrival = "poisson"
requests = 300
`
	_, one := predicted(t, text)
	_, two := predicted(t, text)
	if a, b := one["open"], two["open"]; a.Salt == b.Salt || a.Summary.TTFT.P99 != b.Summary.TTFT.P99 || a.Summary.E2E.Mean != b.Summary.E2E.Mean {
		t.Errorf("TTFT p99 %g and %g", a.Summary.TTFT.P99, b.Summary.TTFT.P99)
	}
}

// BenchmarkHour predicts an hour of traffic: 36,000 requests of 200 output tokens.
func BenchmarkHour(b *testing.B) {
	for b.Loop() {
		predicted(b, head+`
[[row]]
name = "hour"
input = { dist = "lognormal", p50 = 300, p95 = 1200, max = 4000 }
output = 200
rate = 10
arrival = "poisson"
duration = "1h"
`)
	}
}
