package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	fixture "bench/internal/fixturetest"
)

// onWorkers is a row of four workers, of which worker 2 gets its answers slow ms late.
func onWorkers(slow float64) *Measured {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &Measured{Row: &record.Row{Spec: fixture.Spec()}}
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Mix = 20, 0, nil
	for k := range 4 {
		e.Workers = append(e.Workers, record.Worker{Worker: k, Host: "host-" + string(rune('a'+k))})
	}
	at := 0.0
	for i := range 400 {
		at += 50 * rng.ExpFloat64()
		ms := 100 * math.Exp(0.05*rng.NormFloat64())
		if i%4 == 2 {
			ms += slow
		}
		sent, first := record.At(int64(1000*at)), record.At(int64(1000*(at+ms)))
		e.Records = append(e.Records, &record.Record{I: i, Worker: new(i % 4), Phase: record.PhaseWindow, Outcome: "ok",
			Arrival: sent, Ready: sent, Sent: sent, First: first, Last: first.Add(70_000), End: first.Add(70_000),
			Gaps: record.Pack(int64(70_000)), PromptTokens: new(256), OutputTokens: 8})
		e.Window.EndUs = max(e.Window.EndUs, first.Us()+70_000)
	}
	return e
}

func workersFinding(e *Measured) (f record.Finding, is bool) {
	for _, f := range e.Findings {
		if f.Code == "workers" {
			return f, true
		}
	}
	return f, false
}

func TestWorkersDiffer(t *testing.T) {
	e := onWorkers(300)
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	f, is := workersFinding(e)
	const text = "worker 2 (host-c): ttft_from_send lies far above the others': quartiles "
	if !is || f.Severity != record.Caution || !strings.HasPrefix(f.Text, text) {
		t.Fatalf("%+v", f)
	}
	touched := map[string]float64{}
	for _, x := range f.Effects {
		if x.Direction != record.Inflated || x.Bound == nil {
			t.Errorf("%+v", x)
			continue
		}
		touched[x.Metric] = *x.Bound
	}
	if most := touched["ttft"]; len(touched) != 4 || most < 300 || most > 320 || touched["e2e_from_send"] != most {
		t.Errorf("%v", touched)
	}
	for name, change := range map[string]func(*Measured){
		"alike":       func(e *Measured) { *e = *onWorkers(0) },
		"not far":     func(e *Measured) { *e = *onWorkers(80) },
		"no workers":  func(e *Measured) { e.Workers = nil },
		"immaterial":  func(e *Measured) { scale(e, 1e-4) },
		"few of each": func(e *Measured) { e.Records = e.Records[:28] },
	} {
		e := onWorkers(300)
		change(e)
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if f, is := workersFinding(e); is {
			t.Errorf("%s: %s", name, f.Text)
		}
	}
}

// scale makes all latencies shorter.
func scale(e *Measured, by float64) {
	for _, r := range e.Records {
		r.First = r.Sent.Add(int64(by * float64(r.First.Us()-r.Sent.Us())))
		r.Last = r.First.Add(70_000)
	}
}

// Only the slow worker's requests move at the end of what the finding leaves possible: a FAIL that they alone bring
// about is UNDECIDED, one that the others share stands.
func TestSlowWorkerInTheVerdict(t *testing.T) {
	for limit, want := range map[string]stats.Verdict{
		`ttft_p90 = "130ms"`: "UNDECIDED",
		`ttft_p50 = "80ms"`:  "FAIL",
		`ttft_p95 = "600ms"`: "PASS",
	} {
		e := onWorkers(300)
		e.Spec.SLO = fixture.SLO(t, limit)
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if v := e.SLO[0]; v.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", limit, v.Verdict, want, v.Why)
		}
	}
}

// Without streaming, workers are compared by e2e; of a worker that decodes slowly the tpot is.
func TestOtherMetricsOfWorkers(t *testing.T) {
	e := onWorkers(500)
	e.Spec.Stream = new(false)
	if f := checkWorkers(e); !strings.HasPrefix(f.problem, "worker 2 (host-c): e2e_from_send lies far above") {
		t.Errorf("%+v", f)
	}
	e = onWorkers(0)
	for _, r := range e.Records {
		if *r.Worker == 2 {
			r.Last, r.End = r.Last.Add(140_000), r.End.Add(140_000)
		}
	}
	const text = "worker 2 (host-c): tpot lies far above the others': quartiles 30 to 30 ms, theirs 10 to 10 ms"
	f := checkWorkers(e)
	if f.problem != text {
		t.Errorf("%+v", f)
	}
	last := f.effects[len(f.effects)-1]
	if last.Metric != "e2e_from_send" || *last.Bound != 140 || last.own(e.Records[2]) != 140 || last.own(e.Records[1]) != 0 {
		t.Errorf("%+v", last)
	}
}

// Few requests can't be compared, nor answers without a first token.
func TestWorkersNotCompared(t *testing.T) {
	for name, change := range map[string]func(*Measured){
		"7 requests each": func(e *Measured) { e.Records = e.Records[:28] },
		"no first token": func(e *Measured) {
			for _, r := range e.Records {
				r.First = record.Micros{}
			}
		},
	} {
		e := onWorkers(300)
		change(e)
		if f := checkWorkers(e); f.possible {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
