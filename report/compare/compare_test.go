package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// process is a simulated server: the latencies of a minute of requests, and the spread of repeats.
type process struct {
	ttft, tpot float64 // ms, medians
	nightly    float64 // standard deviation of a run's level, of the logarithm
	between    float64 // standard deviation of a repeat's level within a run, of the logarithm
	wander     float64 // standard deviation that neighbouring requests share, of the logarithm
	rate       float64 // requests/s
}

// quiet is a well-behaved server whose repeats differ by 1 %.
var quiet = process{ttft: 80, tpot: 12, between: 0.01, wander: 0.03, rate: 12}

// run measures `repeats` repeats of 60 s of virtual time.
func (p process) run(name string, repeats int, r *rand.Rand) Run {
	run := Run{Name: name, Run: record.Run{Manifest: manifest()}}
	records := map[string][]*record.Record{}
	night := p.nightly * r.NormFloat64()
	for i := range repeats {
		level := math.Exp(night + p.between*r.NormFloat64())
		row, rs := p.repeat("A", i+1, level, r)
		records[row.ID] = rs
		run.Rows = append(run.Rows, row)
	}
	run.Records = func(row *record.Row) ([]*record.Record, error) { return records[row.ID], nil }
	return run
}

// nights measures n runs, one a day, which end on the given day.
func (p process) nights(n, repeats, end int, r *rand.Rand) (out []Run) {
	for i := range n {
		run := p.run(fmt.Sprintf("night-%d", end-n+i+1), repeats, r)
		run.Manifest.StartedAt = run.Manifest.StartedAt.AddDate(0, 0, end-n+i)
		for k := range run.Rows {
			run.Rows[k].StartedAt = run.Manifest.StartedAt.Add(time.Duration(k) * time.Minute)
		}
		run.Records = nil
		out = append(out, run)
	}
	return out
}

// repeat draws a minute of requests whose latencies wander together, as those in a batch do.
func (p process) repeat(name string, repeat int, level float64, r *rand.Rand) (record.Row, []*record.Record) {
	const window = 60_000_000
	var records []*record.Record
	wander := 0.0
	for at := 0.0; ; {
		at += r.ExpFloat64() / p.rate * 1e6
		if at >= window {
			break
		}
		wander = 0.8*wander + p.wander*r.NormFloat64()
		ttft := p.ttft * level * math.Exp(wander+0.2*r.NormFloat64())
		tpot := p.tpot * level * math.Exp(wander/2+0.05*r.NormFloat64())
		const tokens = 33
		first := int64(at + ttft*1e3)
		gaps := make([]int64, tokens-1)
		last := first
		for i := range gaps {
			gaps[i] = int64(tpot * 1e3)
			last += gaps[i]
		}
		t := record.At(int64(at))
		records = append(records, &record.Record{I: len(records), Phase: record.PhaseWindow, Arrival: t, Ready: t, Sent: t, FirstEvent: record.At(first),
			First: record.At(first), Last: record.At(last), End: record.At(last), Gaps: record.Pack(gaps...), PromptRequested: 256,
			OutputRequested: tokens, OutputTokens: tokens, Outcome: "ok"})
	}
	row := record.Row{ID: fmt.Sprintf("%s-r%d", name, repeat), PromptForm: "text", Spec: experiment.Spec{Name: name, Repeat: repeat},
		Checks: record.Checks{Passed: []string{"lag"}}}
	row.Spec.Concurrency = 4
	row.Salt = fmt.Sprint(r.Uint64())
	row.Summary = summary(records)
	return row, records
}

// summary holds only what these tests read: a whole one would take most of their time.
func summary(records []*record.Record) record.Summary {
	values := map[string][]float64{}
	for _, r := range records {
		for _, metric := range []string{"ttft", "tpot", "e2e"} {
			ms, _ := r.Latency(metric, true)
			values[metric] = append(values[metric], ms)
		}
	}
	n := len(records)
	return record.Summary{TTFT: stats.Summarize(values["ttft"]), TPOT: stats.Summarize(values["tpot"]), E2E: stats.Summarize(values["e2e"]),
		Requests: record.Requests{Planned: n, Sent: n, Completed: n}, Throughput: record.Throughput{RequestsPerS: float64(n) / 60}}
}

func manifest() record.Manifest {
	m := record.Manifest{Matrix: "m", StartedAt: time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)}
	m.Target = record.TargetInfo{Model: "llama", API: "completions", Hardware: "h100-sxm", GPUs: 1}
	m.Client = record.ClientInfo{Version: "1.0", Host: "loader", Cores: 8}
	return m
}

func side(runs ...Run) Side { return Side{Name: runs[0].Name, Runs: runs} }

func compared(t *testing.T, base, changed Side, o Options) *Comparison {
	t.Helper()
	c, err := Compare(base, changed, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func gate(lines ...string) (g experiment.Gate) {
	for _, line := range lines {
		metric, change, _ := strings.Cut(line, " ")
		t, problem, _ := experiment.ParseThreshold(metric, change)
		if problem != "" {
			panic(problem)
		}
		g.Thresholds = append(g.Thresholds, t)
	}
	return g
}

func (c *Comparison) find(name string) *Metric {
	var found *Metric
	c.each(func(m *Metric) {
		if m.Name == name {
			found = m
		}
	})
	return found
}

// long asks for the trials that take minutes.
func long() bool { return os.Getenv("BENCH_LONG") != "" }

// A night of the same noisy process seldom differs from the nights before: of 40 at most 6 are called different, of
// 200 at most 18, bounds that a test at 5 % passes 99 times in 100. Gated figures share that risk.
func TestSameProcessSeldomDiffers(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	noisy := process{ttft: 80, tpot: 12, nightly: 0.02, between: 0.005, wander: 0.06, rate: 3}
	thresholds := gate("ttft_p50 +1%", "ttft_p90 +1%", "tpot_p50 +1%", "e2e_p50 +1%")
	nights, trials, most := []int{5}, 40, 6
	if long() {
		nights, trials, most, noisy.rate = []int{1, 2, 5, 10}, 200, 18, 8
	}
	for _, n := range nights {
		r := rand.New(rand.NewPCG(11, uint64(n)))
		plain, gated := 0, 0
		for range trials {
			c := compared(t, side(noisy.nights(n, 3, n, r)...), side(noisy.nights(1, 3, n+1, r)...),
				Options{Gate: thresholds})
			called := false
			c.each(func(m *Metric) {
				differs := m.Verdict == Better || m.Verdict == Worse
				called = called || m.Threshold != nil && differs
				if m.Name == "ttft_p95" && differs {
					plain++
				}
			})
			if called {
				gated++
			}
		}
		t.Logf("%d nights: called different: %d of %d by ttft_p95 alone, %d by any of four gated figures", n,
			plain, trials, gated)
		if plain > most || gated > most {
			t.Errorf("at most %d each", most)
		}
	}
}

// A server that is 5 % slower is found against five nights of three repeats of a minute, with ten earlier
// ones for the spread, and fails a gate of 2 %.
func TestSlowdownIsFound(t *testing.T) {
	slow := quiet
	slow.ttft, slow.tpot = quiet.ttft*1.05, quiet.tpot*1.05
	r := rand.New(rand.NewPCG(11, 20))
	trials := 10
	if long() {
		trials = 400
	}
	found, failed := map[string]int{}, 0
	for range trials {
		earlier, base := quiet.nights(10, 3, 10, r), quiet.nights(5, 3, 15, r)
		o := Options{Gate: gate("tpot_p50 +2%", "ttft_p50 +2%"), Nights: slices.Concat(earlier, base)}
		c := compared(t, side(base...), side(slow.nights(1, 3, 16, r)...), o)
		if s := c.find("tpot_p50").Spread; s.Source != stats.SpreadOfHistory || c.Nights != 15 {
			t.Fatalf("the spread is of %s", s.Source)
		}
		for _, name := range []string{"tpot_p50", "ttft_p50", "e2e_p50"} {
			if c.find(name).Verdict == Worse {
				found[name]++
			}
		}
		if c.Gate.Verdict == stats.Fail && !c.Gate.Passes {
			failed++
		}
	}
	t.Logf("found in %v, the gate failed in %d, of %d trials", found, failed, trials)
	if min(found["tpot_p50"], found["ttft_p50"], found["e2e_p50"], failed) < trials*9/10 {
		t.Error("want nine of ten at least, for each")
	}
}
