package check

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// onWorkers is a row of four workers, of which worker 2 gets its answers slow ms late.
func onWorkers(slow float64) *evidence {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &evidence{Row: &record.Row{Spec: fixture.Spec()}}
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
		e.records = append(e.records, &record.Record{I: i, Worker: new(i % 4), Phase: record.PhaseWindow, Outcome: "ok",
			Arrival: sent, Ready: sent, Sent: sent, First: first, Last: first.Add(70_000), End: first.Add(70_000),
			Gaps: record.Pack(int64(70_000)), PromptTokens: new(256), OutputTokens: 8})
		e.Window.EndUs = max(e.Window.EndUs, first.Us()+70_000)
	}
	return e
}

func workersFinding(e *evidence) (f record.Finding, is bool) {
	for _, f := range e.Findings {
		if f.Code == "workers" {
			return f, true
		}
	}
	return f, false
}

func TestWorkersDiffer(t *testing.T) {
	e := onWorkers(300)
	e.checked()
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
	for name, change := range map[string]func(*evidence){
		"alike":       func(e *evidence) { *e = *onWorkers(0) },
		"not far":     func(e *evidence) { *e = *onWorkers(80) },
		"no workers":  func(e *evidence) { e.Workers = nil },
		"immaterial":  func(e *evidence) { scale(e, 1e-4) },
		"few of each": func(e *evidence) { e.records = e.records[:28] },
	} {
		e := onWorkers(300)
		change(e)
		e.checked()
		if f, is := workersFinding(e); is {
			t.Errorf("%s: %s", name, f.Text)
		}
	}
}

// scale makes all latencies shorter.
func scale(e *evidence, by float64) {
	for _, r := range e.records {
		r.First = r.Sent.Add(int64(by * float64(r.First.Us()-r.Sent.Us())))
		r.Last = r.First.Add(70_000)
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
	for _, r := range e.records {
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
	if last.Metric != "e2e_from_send" || *last.Bound != 140 || last.Own(e.records[2]) != 140 || last.Own(e.records[1]) != 0 {
		t.Errorf("%+v", last)
	}
}

// Few requests can't be compared, nor answers without a first token.
func TestWorkersNotCompared(t *testing.T) {
	for name, change := range map[string]func(*evidence){
		"7 requests each": func(e *evidence) { e.records = e.records[:28] },
		"no first token": func(e *evidence) {
			for _, r := range e.records {
				r.First = record.Micros{}
			}
		},
	} {
		e := onWorkers(300)
		change(e)
		if f := checkWorkers(e); f.outcome != impossible {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
