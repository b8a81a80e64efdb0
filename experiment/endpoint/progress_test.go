package endpoint

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
)

func TestDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 10_000_000_000), 1, 500).Draw(t, "µs")
		d := new(latencyHistogram)
		for _, x := range values {
			d.add(x)
		}
		slices.Sort(values)
		for _, p := range []float64{0.01, 0.5, 0.99} {
			want := float64(values[int(math.Ceil(p*float64(len(values))))-1])
			if got := d.quantile(p); math.Abs(got-want) > 0.00501*want {
				t.Fatalf("p%g of %d values is %g µs, want %g", 100*p, len(values), got, want)
			}
		}
	})
	if d := new(latencyHistogram); d.quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	d := new(latencyHistogram)
	d.add(-3)
	d.add(math.MaxInt64)
	if d.quantile(0.5) != 0 || d.quantile(1) < 1e10 {
		t.Errorf("what has no range of its own: %g, %g", d.quantile(0.5), d.quantile(1))
	}
}

func TestProgress(t *testing.T) {
	p := new(Progress)
	if r := p.Snapshot(); !r.Begun.IsZero() || r.Phase != record.PhaseWarmup || r.FirstToken.N != 0 || !math.IsNaN(r.FirstToken.P50) {
		t.Errorf("before the load: %+v", r)
	}
	p.loadStarted()
	ends := func(phase load.Phase, at, first time.Duration, outcome openai.Outcome) {
		job := &load.Job{Phase: phase, At: at, Ready: at, Result: openai.Result{
			Sent: at + 50*time.Microsecond, First: at + first, Last: at + 2*first, Gaps: []time.Duration{first / 4, 3 * first / 4}, FirstEvent: openai.Never, End: at + 2*first, OutputTokens: 7, Outcome: outcome,
		}}
		p.requestSent(job)
		p.requestEnded(requestRecord(job), true)
	}
	ends(load.Warmup, 0, time.Second, openai.OK)
	if r := p.Snapshot(); r.FirstToken.N != 1 || r.FirstToken.Max != 1000 {
		t.Errorf("in the warm-up: %+v", r)
	}
	for range stats.MinSamples(0.5, 0.95) {
		ends(load.Window, time.Second, 100*time.Millisecond, openai.OK)
	}
	ends(load.Window, time.Second, time.Hour, openai.Timeout)
	ends(load.Cooldown, 2*time.Second, time.Hour, openai.Unfinished)
	p.requestSent(&load.Job{Phase: load.Cooldown})
	r := p.Snapshot()
	if r.Begun.IsZero() || !r.Ended.IsZero() || r.Phase != record.PhaseCooldown || r.Sent != 10 || r.Done != 9 || r.Counted != 7 || r.InFlight != 1 || r.Failed != 1 || r.Tokens != 63 {
		t.Errorf("%+v", r)
	}
	if f := r.FirstToken; f.N != 6 || math.Abs(f.P50-100) > 0.6 || !math.IsNaN(f.P99) || f.Max != 100 {
		t.Errorf("first token: %+v", f)
	}
	if x := r.TPOT; x.N != 6 || math.Abs(x.P50-100.0/6) > 0.1 || !math.IsNaN(x.P90) {
		t.Errorf("TPOT: %+v", x)
	}
	if x := r.ITL; x.N != 12 || math.Abs(x.P50-25) > 0.2 || x.Max != 75 {
		t.Errorf("ITL: %+v", x)
	}
	if l := r.Lag; l.N != 9 || math.Abs(l.P50-0.05) > 0.0005 || l.Max != 0.05 {
		t.Errorf("lag: %+v", l)
	}

	if p.loadEnded(); p.Snapshot().Ended.Before(r.Begun) {
		t.Errorf("ended: %+v", p.Snapshot())
	}

	whole := &load.Job{Phase: load.Window, Result: openai.Result{First: openai.Never, Last: 3 * time.Second, Outcome: openai.OK}}
	p = new(Progress)
	p.requestEnded(requestRecord(whole), false)
	if f := p.Snapshot().FirstToken; f.N != 1 || f.Max != 3000 {
		t.Errorf("without streaming: %+v", f)
	}
}

// With workers, records come after their counts: what is in flight is what the workers count.
func TestProgressOfWorkers(t *testing.T) {
	p := new(Progress)
	p.Done.Store(10)
	p.Take([]Counts{{Sent: 6, Done: 4}, {Sent: 7, Done: 6}})
	p.Done.Store(14) // more records than the counts know
	if s := p.Snapshot(); s.Sent != 17 || s.Done != 14 || s.InFlight != 3 {
		t.Errorf("%d sent, %d done, %d in flight", s.Sent, s.Done, s.InFlight)
	}
}
