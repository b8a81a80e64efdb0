package verdict

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/fixture"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// sentRow is an open loop at 20 requests/s for 100 s; gap draws the time to the next one as a share of the
// mean.
func sentRow(gap func(i int) float64) *Measured {
	e := flawless()
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Arrival.Process = 20, 0, ""
	e.Window = record.Window{EndUs: 100_000_000}
	e.Records = e.Records[:1]
	for i, at := 0, 0.0; at < 100e6; i++ {
		r := fixture.OKRequest(int64(at), int64(at)+5000, int64(at)+9000)
		r.I = i
		e.Records = append(e.Records, r)
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
		{"constant that is poisson", "constant", poisson, "the gaps vary by "},
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
	for i, r := range capped.Records {
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
	for _, r := range turns.Records {
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
func plannedRow(seed uint64, arrival string, load workload.Load) *Measured {
	e := sentRow(func(int) float64 { return 1e9 })
	e.Spec.Arrival.Process, e.Spec.Seed, e.Spec.Load = arrival, seed, load
	start := time.Duration(load.Warmup.Time)
	e.Window = record.Window{StartUs: start.Microseconds(), EndUs: (start + time.Minute).Microseconds()}
	e.Records = nil
	for at := range e.Spec.Plan("").Arrivals {
		us := record.RoundMicros(at)
		r := fixture.OKRequest(us, us+5000, us+9000)
		if us < e.Window.StartUs {
			r.Phase = record.PhaseWarmup
		}
		if us >= e.Window.EndUs {
			return e
		}
		e.Records = append(e.Records, r)
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
			for i, r := range e.Records {
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
			e.Records = slices.DeleteFunc(e.Records, func(r *record.Record) bool { return r.Arrival.Us() >= e.Window.EndUs })
			if e.Arrivals = e.observeArrivals(); e.Arrivals.Fixed || checkArrivals(e).problem != "" {
				t.Errorf("%s, cut: %q, %+v", arrival, checkArrivals(e).problem, e.Arrivals)
			}
		}
	}
}
