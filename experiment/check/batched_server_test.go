package check_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// batchedRow is a window behind a warm-up of 5 s on a simulated server that batches 16 requests, in virtual time. It
// serves 17.86 requests/s at most; the highest rate with a true ttft p95 of 500 ms is 15.58/s.
func batchedRow(t *testing.T, rate, seconds float64, rng *rand.Rand) *verdict.Measured {
	t.Helper()
	const warmup = 5.0
	var jobs []mock.Job
	for at := rng.ExpFloat64() / rate; at < warmup+seconds+20; at += rng.ExpFloat64() / rate {
		jobs = append(jobs, mock.Job{ID: strconv.Itoa(len(jobs)), At: time.Duration(at * 1e9), Prompt: make([]int32, 64), Output: 32})
	}
	ended, _, err := mock.Simulate(mock.Config{MaxNumSeqs: 16, StepBase: 20 * time.Millisecond, StepPerSeq: 500 * time.Microsecond, Queue: 1 << 20},
		jobs, func(*mock.Record) (mock.Job, bool) { return mock.Job{}, false }, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	e := &verdict.Measured{Row: &record.Row{Window: record.Window{StartUs: warmup * 1e6, EndUs: int64((warmup + seconds) * 1e6)}}}
	e.Spec.Rate, e.Spec.SLO = workload.Rate(rate), fixture.SLO(t, `ttft_p95 = "500ms"`)
	e.Spec.Warmup = workload.Extent{Time: workload.Span(warmup * 1e9)}
	for _, r := range ended {
		i, _ := strconv.Atoi(r.ID)
		us := func(ns int64) int64 { return ns / 1000 }
		q := fixture.OKRequest(us(r.ArrivalNS), us(r.DueNS[0]), us(r.DueNS[len(r.DueNS)-1]))
		q.I = i
		switch at := q.Arrival.Us(); {
		case at < e.Window.StartUs:
			q.Phase = record.PhaseWarmup
		case at >= e.Window.EndUs:
			q.Phase = record.PhaseCooldown
		}
		e.Records = append(e.Records, q)
	}
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	return e
}

// An overload nearly always fails in three seconds of window, and the rate just above the limit is not failed in one window and
// passed in the next.
func TestBatchedServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	tenths := 5 // of the windows
	if os.Getenv("BENCH_LONG") != "" {
		tenths = 10
	}
	rng := rand.New(rand.NewPCG(61, 1))
	verdicts := func(rate, seconds float64, windows int) map[stats.Verdict]int {
		out := map[stats.Verdict]int{}
		for range windows * tenths / 10 {
			out[batchedRow(t, rate, seconds, rng).SLO[0].Verdict]++
		}
		t.Logf("%v/s, %v s: %v", rate, seconds, out)
		return out
	}
	for _, rate := range []float64{32, 64} {
		if got := verdicts(rate, 3, 20); got["FAIL"] < 2*tenths-2 {
			t.Errorf("%v/s for 3 s: %v", rate, got)
		}
	}
	if got := verdicts(16, 40, 40); got["PASS"] > 1 {
		t.Errorf("16/s for 40 s, which is too much: %v", got)
	}
	if got := verdicts(14.8, 40, 40); got["FAIL"] > 1 {
		t.Errorf("14.8/s for 40 s, which is not: %v", got)
	}
	if got := verdicts(8, 40, 20); got["PASS"] < 2*tenths-2 {
		t.Errorf("8/s for 40 s, half the load: %v", got)
	}
}
