package series_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// limitRate is the highest rate of batchedRow's server with a true ttft p95 of 500 ms.
const limitRate = 15.58

// batchedRow runs an open-loop point in virtual time, on a server that batches 16 requests.
func batchedRow(t *testing.T, s experiment.Spec, rng *rand.Rand) record.Row {
	t.Helper()
	rate, warmup, seconds := float64(s.Rate), time.Duration(s.Warmup.Time).Seconds(), time.Duration(s.Duration).Seconds()
	var jobs []mock.Job
	for at := rng.ExpFloat64() / rate; at < warmup+seconds; at += rng.ExpFloat64() / rate {
		jobs = append(jobs, mock.Job{ID: strconv.Itoa(len(jobs)), At: time.Duration(at * 1e9), Prompt: make([]int32, 64), Output: 32})
	}
	ended, _, err := mock.Simulate(mock.Config{MaxNumSeqs: 16, StepBase: 20 * time.Millisecond, StepPerSeq: 500 * time.Microsecond, Queue: 1 << 20},
		jobs, func(*mock.Record) (mock.Job, bool) { return mock.Job{}, false }, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	row := record.Row{Spec: s, PromptForm: "token_ids", StartedAt: start, Epoch: start,
		Window: record.Window{StartUs: int64(warmup * 1e6), EndUs: int64((warmup + seconds) * 1e6)}}
	e := &verdict.Measured{Row: &row}
	last := row.Window.EndUs
	for _, r := range ended {
		us := func(ns int64) int64 { return ns / 1000 }
		q := fixture.OKRequest(us(r.ArrivalNS), us(r.DueNS[0]), us(r.DueNS[len(r.DueNS)-1]))
		if q.I, err = strconv.Atoi(r.ID); err != nil {
			t.Fatal(err)
		}
		if q.Arrival.Us() < row.Window.StartUs {
			q.Phase = record.PhaseWarmup
		}
		last = max(last, q.End.Us())
		e.Records = append(e.Records, q)
	}
	row.EndedAt = start.Add(time.Duration(last) * time.Microsecond)
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	return row
}

// closed counts verdicts.
type closed struct {
	right, wrong, seconds, nearest float64 // nearest: of the points next to the limit, how many are decided
}

func (c *closed) add(rows []record.Row) {
	for _, s := range series.FromRows(rows) {
		for i := range s.Points {
			p := &s.Points[i]
			load, _ := p.FiniteLoad()
			switch {
			case p.SLO == stats.Undecided:
				continue
			case (p.SLO == stats.Pass) == (load <= limitRate):
				c.right++
			default:
				c.wrong++
			}
			if load > 13 && load < 18.5 {
				c.nearest++
			}
		}
	}
	for i := range rows {
		c.seconds += rows[i].EndedAt.Sub(rows[i].StartedAt).Seconds()
	}
}

// TestSimulationBudget compares fixed repeats, fixed windows and budgets on eight rates around a known limit.
func TestSimulationBudget(t *testing.T) {
	if os.Getenv("BENCH_LONG") == "" {
		t.Skip("minutes: BENCH_LONG=1")
	}
	const trials = 10
	rates := []float64{4, 8, 10, 12, 14, 15, 17, 20}
	points := func(window float64) []experiment.Spec {
		out := make([]experiment.Spec, len(rates))
		for i, rate := range rates {
			out[i] = experiment.Spec{Name: "a", Point: []experiment.Axis{{Key: "rate", Value: strconv.FormatFloat(rate, 'g', -1, 64)}}, Repeat: 1,
				Workload: workload.Workload{Input: workload.Fixed(64), Output: workload.Fixed(32), Rate: workload.Rate(rate)},
				Load:     workload.Load{Warmup: workload.Extent{Time: workload.Span(5 * time.Second)}, Duration: workload.Span(window * 1e9)},
				SLO:      fixture.SLO(t, `ttft_p95 = "500ms"`)}
		}
		return out
	}
	fixed := func(repeats int, window float64, rng *rand.Rand) (rows []record.Row) {
		for _, s := range points(window) {
			for i := range repeats {
				s.Repeat = i + 1
				rows = append(rows, batchedRow(t, s, rng))
			}
		}
		return rows
	}
	budget := func(total time.Duration, rng *rand.Rand) []record.Row {
		rows := fixed(1, 20, rng)
		spent := time.Duration(0)
		for i := range rows {
			spent += rows[i].EndedAt.Sub(rows[i].StartedAt)
		}
		for {
			added := false
			for _, o := range series.OpenPoints(rows) {
				if o.Longer == nil || spent+o.LongerTime > total {
					continue
				}
				row := batchedRow(t, *o.Longer, rng)
				spent += row.EndedAt.Sub(row.StartedAt)
				rows, added = append(rows, row), true
				break
			}
			if !added {
				return rows
			}
		}
	}
	report := func(name string, run func(*rand.Rand) []record.Row) closed {
		rng := rand.New(rand.NewPCG(18, 4))
		var c closed
		for range trials {
			c.add(run(rng))
		}
		t.Logf("%-22s %4.0f s: %.2f of %d right, %.2f wrong, %.2f of the 3 next to the limit; %.2f verdicts per 100 s", name,
			c.seconds/trials, c.right/trials, len(rates), c.wrong/trials, c.nearest/trials, 100*(c.right+c.wrong)/c.seconds)
		return c
	}
	for _, n := range []int{1, 3} {
		report("fixed, repeats = "+strconv.Itoa(n), func(rng *rand.Rand) []record.Row { return fixed(n, 20, rng) })
	}
	for _, window := range []float64{60, 120} {
		report("fixed, "+strconv.Itoa(int(window))+" s windows", func(rng *rand.Rand) []record.Row { return fixed(1, window, rng) })
	}
	for _, total := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		c := report("budget = "+total.String(), func(rng *rand.Rand) []record.Row { return budget(total, rng) })
		if c.wrong > 0.02*(c.right+c.wrong)+3 {
			t.Errorf("%s: %v wrong verdicts of %v", total, c.wrong, c.right+c.wrong)
		}
	}
}
