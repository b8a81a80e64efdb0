package verdict

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/fixture"
	"bench/experiment/record"
)

// onWorkers is a row of four workers, of which worker 2 gets its answers slow ms late.
func onWorkers(slow float64) *Measured {
	p := process{n: 400, workers: 4, rate: 20, prefill: fixed(100, 256), spread: 0.05}
	e := p.run(slow, rand.New(rand.NewPCG(1, 2)))
	for k := range e.Workers {
		e.Workers[k] = record.Worker{Worker: k, Host: "host-" + string(rune('a'+k))}
	}
	return e
}

func workersFinding(e *Measured) (f record.Finding, is bool) {
	for _, f := range e.Findings {
		if f.Code == "workers_differ" {
			return f, true
		}
	}
	return f, false
}

func TestWorkersDiffer(t *testing.T) {
	e := onWorkers(5)
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	f, is := workersFinding(e)
	if !is || f.Severity != record.Caution || !strings.HasPrefix(f.Text, "worker 2 (host-c): ttft_from_send is ") || !strings.Contains(f.Text, "longer than of the other workers") {
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
	if most := touched["ttft"]; len(touched) != 4 || most < 5 || most > 9 || touched["e2e_from_send"] != most {
		t.Errorf("%v", touched)
	}
	for name, change := range map[string]func(*Measured){
		"alike":      func(e *Measured) { *e = *onWorkers(0) },
		"no workers": func(e *Measured) { e.Workers = nil },
		"a hair": func(e *Measured) { // certain, and too small to matter
			*e = *onWorkers(0)
			for _, r := range e.Records {
				r.First = record.At(r.Sent.Us() + 100_000 + int64(50*(*r.Worker/3)))
				r.Last = r.First.Add(70_000)
			}
			if d := differences(e); len(d) == 0 {
				t.Error("50 µs are not certain")
			}
		},
	} {
		e := onWorkers(5)
		change(e)
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if f, is := workersFinding(e); is {
			t.Errorf("%s: %s", name, f.Text)
		}
	}
}

// Only the slow worker's requests move at the end of what the finding leaves possible: a FAIL that they alone bring
// about is UNDECIDED, one that the others share stands.
func TestSlowWorkerInTheVerdict(t *testing.T) {
	for limit, want := range map[string]string{"ttft_p90 = \"130ms\"": "UNDECIDED", "ttft_p50 = \"80ms\"": "FAIL", "ttft_p95 = \"200ms\"": "PASS"} {
		e := onWorkers(40)
		e.Spec.SLO = fixture.SLO(t, limit)
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if v := e.SLO[0]; v.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", limit, v.Verdict, want, v.Why)
		}
	}
}

// Without streaming, workers are compared by e2e. All at once can be compared, few requests and arrivals of another
// dealing can't, unless a worker lies far above.
func TestWorkersOfOtherRows(t *testing.T) {
	e := onWorkers(5)
	e.Spec.Stream = new(false)
	if d := differences(e); len(d) == 0 || d[0].metric != "e2e_from_send" || d[0].party != 2 {
		t.Errorf("%+v", d)
	}
	e = onWorkers(5)
	for _, r := range e.Records {
		r.Arrival = record.At(0)
	}
	if d := differences(e); len(d) != 1 || d[0].party != 2 {
		t.Errorf("all at once: %+v", d)
	}
	for name, change := range map[string]func(*Measured){
		"15 requests each": func(e *Measured) { e.Records = e.Records[:60] },
		"another dealing":  func(e *Measured) { e.Spec.Seed++ },
		"no first token": func(e *Measured) {
			for _, r := range e.Records {
				r.First = record.Micros{}
			}
		},
	} {
		e := onWorkers(5)
		change(e)
		if f := checkWorkers(e); f.possible {
			t.Errorf("%s: %+v", name, f)
		}
	}
	e = onWorkers(300)
	e.Spec.Seed++
	if f := checkWorkers(e); !f.possible || !strings.HasPrefix(f.problem, "worker 2 (host-c): ttft_from_send lies far above the other workers': quartiles ") {
		t.Errorf("%+v", f)
	}
}

// Of two workers that are slow alike both are named; a fast one is named alone.
func TestOtherOutliers(t *testing.T) {
	for name, c := range map[string]struct {
		late []float64
		want string
	}{
		"two slow":   {[]float64{0, 300, 0, 300}, "13"},
		"two unlike": {[]float64{30, 0, 0, 300}, "30"},
		"three slow": {[]float64{300, 300, 0, 300}, "2"},
		"all unlike": {[]float64{0, 10, 20, 400}, "3"},
		"one slow":   {[]float64{0, 0, 0, 1000}, "3"},
	} {
		e := onWorkers(0)
		for _, r := range e.Records {
			late := int64(1000 * c.late[*r.Worker])
			r.First, r.Last, r.End = r.First.Add(late), r.Last.Add(late), r.End.Add(late)
		}
		got := ""
		for _, d := range differences(e) {
			got += strconv.Itoa(d.party)
		}
		if !strings.HasPrefix(got, c.want) || len(got) > 3 {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
