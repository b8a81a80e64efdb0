package check

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// sentRow is an open loop at 20 requests/s for 100 s; gap draws the time to the next one as a share of the
// mean.
func sentRow(gap func(i int) float64) *evidence {
	e := flawless()
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Arrival.Process = 20, 0, ""
	e.Window = record.Window{EndUs: 100_000_000}
	e.records = e.records[:1]
	for i, at := 0, 0.0; at < 100e6; i++ {
		r := fixture.OKRequest(int64(at), int64(at)+5000, int64(at)+9000)
		r.I = i
		e.records = append(e.records, r)
		at += gap(i) * 50_000
	}
	return e
}

func TestArrivalsNotAsAsked(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	poisson := func(int) float64 { return rng.ExpFloat64() }
	bursts := func(i int) float64 { // ten at once
		if i%10 > 0 {
			return 0.001
		}
		return 9.99
	}
	for _, c := range []struct {
		name    string
		process string
		gap     func(int) float64
		want    string
	}{
		{"poisson", "", poisson, ""},
		{"poisson that is constant", "", func(int) float64 { return 1 }, "the distribution of the gaps differs from the process"},
		{"poisson that comes in bursts", "", bursts, "the distribution of the gaps differs from the process"},
		{"constant", "constant", func(int) float64 { return 1 + 0.02*rng.NormFloat64() }, ""},
		{"constant that is poisson", "constant", poisson, "requested constant arrivals, but the gaps vary by "},
		{"a fifth too slow", "", func(int) float64 { return 1.25 * rng.ExpFloat64() }, "requested 20 requests/s, sent"},
	} {
		e := sentRow(c.gap)
		e.Spec.Arrival = workload.Arrival{Process: c.process}
		got := e.checked().findingOf("arrivals")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q (%+v)", c.name, got, c.want, e.Arrivals)
		}
	}
	// Under a cap requests wait, as they should; what was to be sent is looked at.
	capped := sentRow(poisson)
	capped.Spec.Concurrency = 1000
	for i, r := range capped.records {
		r.Sent = r.Sent.Add(int64(i) * 5000)
	}
	if got := capped.checked().findingOf("arrivals"); got != "" {
		t.Errorf("capped: %q", got)
	}
	// A trace has its own times; what can be wrong with them is that they were rounded.
	replay := sentRow(func(int) float64 { return 1 })
	replay.Spec.Arrival.Process, replay.Spec.Trace = "trace", &workload.Trace{Head: workload.Head{StepS: 3, SameTime: 0.05}}
	if got := replay.checked().findingOf("arrivals"); got != "" || replay.Arrivals != nil {
		t.Errorf("replay: %q, %+v", got, replay.Arrivals)
	}
	replay.Spec.Trace.Head.SameTime = 0.9
	if got := replay.checked().findingOf("arrivals"); got != "trace times are rounded to 3s: 90 % of the requests arrive together with the previous one" {
		t.Errorf("rounded times: %q", got)
	}
	// The turns of a trace arrive when it says, by a process too.
	turns := sentRow(poisson)
	turns.Spec.Trace = &workload.Trace{}
	for _, r := range turns.records {
		r.Turn = new(1)
	}
	if got := turns.checked().findingOf("arrivals"); got != "" {
		t.Errorf("turns of a trace: %q", got)
	}
	closed := sentRow(poisson)
	closed.Spec.Rate, closed.Spec.Concurrency = 0, 3
	if closed.checked(); !slices.Contains(closed.Checks.NotPossible, "arrivals") {
		t.Errorf("closed loop: %+v", closed.Checks)
	}
}

// Requests that a starved client sends in bunches wait for the work of those that were overdue together; with other
// intended arrivals the row has another load.
func TestBunchedArrivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const tick = 200_000 // µs
	e := sentRow(func(int) float64 { return rng.ExpFloat64() })
	late := int64(0)
	for _, r := range e.records {
		at := r.Arrival.Us()
		wait := (tick - at%tick) % tick
		r.Sent, late = r.Sent.Add(wait), max(late, wait)
	}
	e.Arrivals, e.Summary = e.observeArrivals(), record.Summarize(e.records, e.Window, record.Mode{Streams: true}, nil, 0)
	f := checkArrivals(e)
	if f.severity != record.Caution || !strings.Contains(f.problem, "ms late: the distribution of the gaps differs") {
		t.Fatalf("%s: %s", f.severity, f.problem)
	}
	if want := fmt.Sprintf("up to %s ms late", unit.Brief(float64(late)/1000, 3)); !strings.Contains(f.problem, want) {
		t.Errorf("%s, want %s", f.problem, want)
	}
	for _, metric := range []string{"ttft", "e2e", "tpot", "itl", "requests_per_s", "goodput_requests_per_s"} {
		i := slices.IndexFunc(f.effects, func(x Effect) bool { return x.Metric == metric })
		if i < 0 || f.effects[i].Direction != record.Unknown || (f.effects[i].Bound == nil) != (metric == "goodput_requests_per_s") {
			t.Errorf("effect on %s: %+v, want an unknown one", metric, f.effects)
		}
	}
	// All that were due in one tick are overdue at its end, each worth the server's time for a request.
	together := map[int64]int{}
	for _, r := range e.records {
		together[r.Sent.Us()]++
	}
	want := float64(slices.Max(slices.Collect(maps.Values(together)))) * 1000 / e.Summary.Throughput.RequestsPerS
	if got := *f.effects[0].Bound; math.Abs(got-want) > 1e-9 {
		t.Errorf("delayed by up to %g ms, want %g", got, want)
	}
	for _, r := range e.records {
		r.Arrival = r.Sent
	}
	e.Arrivals = e.observeArrivals()
	if f := checkArrivals(e); f.severity != record.Invalid {
		t.Errorf("intended in bunches: %s: %s", f.severity, f.problem)
	}
	// Late requests of the warm-up that leave in the window are not another load either.
	e = plannedRow(1, "poisson", workload.Load{Duration: workload.Span(time.Minute), Warmup: workload.Extent{Time: workload.Span(10 * time.Second)}})
	for _, r := range e.records {
		if before := e.Window.StartUs - r.Arrival.Us(); before > 0 && before < 2_000_000 {
			r.Sent = r.Sent.Add(before)
		}
	}
	e.Arrivals = e.observeArrivals()
	if f := checkArrivals(e); f.severity != record.Caution || !strings.Contains(f.problem, "sent 20.") {
		t.Errorf("late warm-up: %s: %s", f.severity, f.problem)
	}
}

// slowClient sends at most perS requests per second, so that it falls further and further behind.
func slowClient(e *evidence, perS float64) {
	free := int64(math.MinInt64)
	for _, r := range e.records[1:] {
		at := max(r.Arrival.Us(), free)
		late := at - r.Arrival.Us()
		r.Sent, r.First, r.Last, r.End = r.Sent.Add(late), r.First.Add(late), r.Last.Add(late), r.End.Add(late)
		free = at + int64(1e6/perS)
	}
}

// Requests that cross the end of the window are another load only if the client was behind long before it.
func TestRequestsCrossTheEnd(t *testing.T) {
	for held, want := range map[int64]record.Severity{2_000_000: record.Caution, 20_000_000: record.Invalid} {
		e := plannedRow(1, "poisson", workload.Load{Duration: workload.Span(time.Minute)})
		for _, r := range e.records {
			if left := e.Window.EndUs - r.Arrival.Us(); left < held {
				r.Sent = r.Sent.Add(left)
			}
		}
		e.Arrivals = e.observeArrivals()
		if f := checkArrivals(e); f.severity != want || !strings.Contains(f.problem, "requested 20 requests/s, sent 1") {
			t.Errorf("behind for %d µs: %s: %s", held, f.severity, f.problem)
		}
	}
}

// True Poisson arrivals are hardly ever taken for something else.
func TestArrivalsErr(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	flagged := 0
	for range 150 {
		e := sentRow(func(int) float64 { return rng.ExpFloat64() })
		if e.Arrivals = e.observeArrivals(); checkArrivals(e).severity != "" {
			flagged++
		}
	}
	if flagged > 1 {
		t.Errorf("%d of 150 have a finding", flagged)
	}
}

// plannedRow is a row of 60 s at 20 requests/s whose requests are sent as planned.
func plannedRow(seed uint64, arrival string, load workload.Load) *evidence {
	e := sentRow(func(int) float64 { return 1e9 })
	e.Spec.Arrival.Process, e.Spec.Seed, e.Spec.Load = arrival, seed, load
	start := time.Duration(load.Warmup.Time)
	e.Window = record.Window{StartUs: start.Microseconds(), EndUs: (start + time.Minute).Microseconds()}
	e.records = nil
	for at := range e.Spec.Plan("").Arrivals {
		us := record.RoundMicros(at)
		r := fixture.OKRequest(us, us+5000, us+9000)
		if us < e.Window.StartUs {
			r.Phase = record.PhaseWarmup
		}
		if us >= e.Window.EndUs {
			return e
		}
		e.records = append(e.records, r)
	}
	return e
}

// A fixed number of arrivals is known without a standard error: a client that skips 3 in 100 shows.
func TestFixedArrivals(t *testing.T) {
	loads := []workload.Load{
		{Duration: workload.Span(time.Minute), Warmup: workload.Extent{Time: workload.Span(10 * time.Second)}},
		{Requests: 1200, Warmup: workload.Extent{Time: workload.Span(5 * time.Second)}},
	}
	for _, load := range loads {
		for _, arrival := range []string{"poisson", "gamma"} {
			for seed := range uint64(50) {
				e := plannedRow(seed, arrival, load)
				if e.Arrivals = e.observeArrivals(); !e.Arrivals.Fixed || e.Arrivals.Arrivals != 1200 || checkArrivals(e).problem != "" {
					t.Fatalf("%s, seed %d: %q, %+v", arrival, seed, checkArrivals(e).problem, e.Arrivals)
				}
			}
			e := plannedRow(1, arrival, load)
			for i, r := range e.records {
				if i%33 == 0 {
					r.Sent = record.Micros{}
				}
			}
			if e.Arrivals = e.observeArrivals(); !strings.Contains(checkArrivals(e).problem, "requested 20 requests/s, sent 19.") {
				t.Errorf("%s, 3 %% less: %q", arrival, checkArrivals(e).problem)
			}
			// A row that was cut has the number that chance gave it.
			e = plannedRow(1, arrival, load)
			e.Window.EndUs -= 20_000_000
			e.records = slices.DeleteFunc(e.records, func(r *record.Record) bool { return r.Arrival.Us() >= e.Window.EndUs })
			if e.Arrivals = e.observeArrivals(); e.Arrivals.Fixed || checkArrivals(e).problem != "" {
				t.Errorf("%s, cut: %q, %+v", arrival, checkArrivals(e).problem, e.Arrivals)
			}
		}
	}
}
