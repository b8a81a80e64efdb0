package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report/compare"
)

// Figures that are gated, as in the manual's [gate].
const (
	ttft = iota
	tpot
	throughput
	figures
)

// median is the value of each figure without noise: ms, ms, tokens/s.
var median = [figures]float64{80, 12, 640}

// world draws the nights of one trial.
type world struct {
	*Setting
	rng *rand.Rand

	requested bool // rows have request records
}

// draw draws all nights: base, the new one, and those before base.
func (w world) draw() (base, now compare.Side, before []compare.Run) {
	base.Name, now.Name = "base", "new"
	if w.Paired {
		old, changed := w.sideBySide()
		base.Runs, now.Runs = append(base.Runs, old), append(now.Runs, changed)
		return base, now, nil
	}
	levels := w.levels(w.Earlier + len(w.Base) + w.NewRuns)
	for i, level := range levels {
		k := i - w.Earlier
		switch {
		case k < 0:
			before = append(before, w.run(i, w.Before, w.Repeat, level))
		case k < len(w.Base):
			base.Runs = append(base.Runs, w.run(i, w.Base[k], w.Repeat, level))
		default:
			now.Runs = append(now.Runs, w.run(i, w.New, w.Repeat*w.Louder, level))
		}
	}
	return base, now, before
}

// run is a night in memory; spread is the spread of its repeats.
func (w world) run(night, repeats int, spread float64, level []factors) compare.Run {
	run := newRun(night)
	var failing float64
	if w.Failing > 0 {
		failing = w.Failing * math.Exp(w.FailingNight*w.rng.NormFloat64())
	}
	for p, x := range level {
		noise := w.Repeats(w.rng)
		for k := range repeats {
			noise = w.Memory*noise + math.Sqrt(1-w.Memory*w.Memory)*w.Repeats(w.rng)
			row := w.row(p, k, x, noise, spread)
			w.fail(&row, failing)
			run.Rows = append(run.Rows, row)
		}
	}
	if w.requested {
		w.addRequests(&run)
	}
	return run
}

// sideBySide is one run of two variants whose repeats take turns: what is a night elsewhere is a turn here.
func (w world) sideBySide() (base, now compare.Run) {
	base, now = newRun(0), newRun(0)
	for k, level := range w.levels(w.New) {
		for p, x := range level {
			base.Rows = append(base.Rows, w.row(p, k, x, w.Repeats(w.rng), w.Repeat))
			now.Rows = append(now.Rows, w.row(p, k, x, w.Repeats(w.rng), w.Repeat))
		}
	}
	return base, now
}

var firstNight = time.Date(2026, 1, 1, 2, 30, 0, 0, time.UTC)

func newRun(night int) compare.Run {
	run := compare.Run{Name: fmt.Sprintf("night %d", night)}
	run.Manifest = record.Manifest{Matrix: "nightly", StartedAt: firstNight.AddDate(0, 0, night)}
	run.Manifest.Target = record.TargetInfo{Model: "llama", API: "completions", Hardware: "h100-sxm", GPUs: 1}
	run.Manifest.Client = record.ClientInfo{Version: "1.0", Host: "loader", Cores: 8}
	return run
}

// row is one repeat; noise is what all its figures share.
func (w world) row(point, repeat int, level factors, noise, spread float64) record.Row {
	for f := range level {
		level[f] += spread*mix(w.alike(), noise, w.Repeats(w.rng)) + w.Heating*float64(repeat)
		if w.Grid > 0 {
			level[f] = w.Grid * math.Round(level[f]/w.Grid)
		}
	}
	row := record.Row{ID: fmt.Sprintf("p%d-r%d", point, repeat+1), PromptForm: "text"}
	row.Checks.Passed = []string{"lag"}
	row.Spec = experiment.Spec{Name: fmt.Sprintf("p%d", point), Repeat: repeat + 1}
	row.Spec.Concurrency = workers
	s := &row.Summary
	s.TTFT, s.TPOT = w.summary(median[ttft]*math.Exp(level[ttft])),
		w.summary(median[tpot]*math.Exp(level[tpot]))
	s.Requests = record.Requests{Planned: requests, Sent: requests, Completed: requests}
	s.Throughput.OutputTokensPerS = median[throughput] * math.Exp(-level[throughput])
	s.Throughput.RequestsPerS = s.Throughput.OutputTokensPerS / answer
	return row
}

const requests = 600 // of a repeat

// fail lets a share of a row's requests fail.
func (w world) fail(row *record.Row, share float64) {
	if share == 0 {
		return
	}
	failed := 0
	for range requests {
		if w.rng.Float64() < share {
			failed++
		}
	}
	s := &row.Summary
	s.Requests.Completed, s.Requests.Failed, s.ErrorRate = requests-failed, failed, new(float64(failed)/requests)
}

// summary has a median with the interval that its requests give, Setting.Within of the repeats' spread.
func (w world) summary(p50 float64) *stats.Summary {
	end := math.Exp(1.96 * w.Within * w.Repeat)
	x := math.NaN() // not in the file
	return &stats.Summary{N: requests, P50: p50, Mean: x, Std: x, Min: x, P90: x, P95: x, P99: x, P999: x,
		Max:  x,
		CI95: map[string]stats.Interval{"p50": {Lo: p50 / end, Hi: p50 * end}}}
}
