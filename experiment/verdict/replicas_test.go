package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// onReplicas is a row on two replicas, of which the second takes a factor longer for a first token.
func onReplicas(factor float64) *Measured {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &Measured{Row: &record.Row{Window: record.Window{EndUs: 2000e6}}}
	e.Spec.Concurrency = 2
	e.Server.Replicas = []record.Replica{{Endpoint: "a:8000"}, {Endpoint: "b:8000", Differs: []string{"version: 1 → 2"}}}
	for i := range int64(2000) {
		at, ttft := i*1e6, 100e3*(1+0.2*rng.NormFloat64())
		if i%2 == 1 {
			ttft *= factor
		}
		e.Records = append(e.Records, &record.Record{I: int(i), Phase: record.PhaseWindow, Outcome: "ok", Endpoint: new(int(i % 2)), Model: []string{"x", "y", "y"}[i%3],
			Arrival: record.At(at), Ready: record.At(at), Sent: record.At(at), First: record.At(at + int64(ttft)), Last: record.At(at + int64(ttft) + 100e3),
			Gaps: record.Pack(int64(100e3)), End: record.At(at + int64(ttft) + 100e3), OutputTokens: 2})
	}
	return e
}

func TestSlowReplica(t *testing.T) {
	for factor, slow := range map[float64]bool{1: false, 1.5: false, 4: true} {
		e := onReplicas(factor)
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if len(e.Replicas) != 2 || e.Replicas["a:8000"].Requests.Completed != 1000 || e.Models["y"].Requests.Completed != 1333 {
			t.Fatalf("%d replicas, %d models", len(e.Replicas), len(e.Models))
		}
		found := map[record.Severity]string{}
		for _, f := range e.Findings {
			if f.Code == "replicas" {
				found[f.Severity] = f.Text
			}
		}
		if !strings.Contains(found[record.Caution], "replica 1 (b:8000)") {
			t.Error(found)
		}
		text, is := found[record.Note]
		if is != slow || slow && !strings.Contains(text, "replica 1 (b:8000) is slower: its ttft lies far above the others'") {
			t.Errorf("factor %v: %q", factor, text)
		}
		t.Log(text)
	}
}

// Users who left say nothing about the SLO, not even about the error rate.
func TestLeaversAreNotJudged(t *testing.T) {
	e := onReplicas(1)
	for i, r := range e.Records {
		if i%2 == 0 {
			r.Outcome, r.First, r.Last, r.Gaps = "left", record.Micros{}, record.Micros{}, record.Packed{}
		}
	}
	e.Spec.SLO = fixture.SLO(t, "ttft_p95 = \"300ms\"\nerror_rate = 0.0")
	e.Left = record.LeaversOf(e.Records, e.Window, nil, nil)
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	for _, v := range e.SLO {
		if v.Verdict != "PASS" || v.Observed != 1000 {
			t.Errorf("%+v", v)
		}
	}
	if e.Findings[len(e.Findings)-1].Code == "" || e.Left.BeforeFirst != 1000 {
		t.Errorf("%+v %+v", e.Findings, e.Left)
	}
}

// A record that names no replica of the row, as a damaged file can, has none.
func TestReplicaOf(t *testing.T) {
	e := &Measured{Row: &record.Row{}}
	e.Server.Replicas = []record.Replica{{Endpoint: "a:1"}, {Endpoint: "b:1"}}
	for i, want := range map[int]string{-1: "", 0: "a:1", 1: "b:1", 2: ""} {
		if got := e.replicaOf(&record.Record{Endpoint: &i}); got != want {
			t.Errorf("replica %d: %q", i, got)
		}
	}
}

// A server's own queue makes its successive latencies alike for long: near saturation that is no slow replica.
func TestQueuesOfReplicas(t *testing.T) {
	const servers, rows, load = 4, 20, 0.95
	rng := rand.New(rand.NewPCG(8, 9))
	for slow, most := range map[float64]int{1: 0, 3: rows} {
		found := 0
		for range rows {
			e := onReplicas(1)
			e.Spec.Rate = 1
			e.Server.Replicas = []record.Replica{{Endpoint: "a"}, {Endpoint: "b"}, {Endpoint: "c"}, {Endpoint: "d"}}
			free, now := [servers]float64{}, 0.0
			for i, r := range e.Records[:800] {
				now += rng.ExpFloat64() * 100 / load / servers
				k := i % servers
				ms := 100 * math.Exp(0.5*rng.NormFloat64()-0.125)
				if k == 2 {
					ms *= slow
				}
				free[k] = max(now, free[k]) + ms
				at, first := int64(1000*now), int64(1000*free[k])
				r.Endpoint, r.Model, r.Arrival, r.Sent = &k, "", record.At(at), record.At(at)
				r.First, r.Last, r.End = record.At(first), record.At(first+50e3), record.At(first+50e3)
			}
			e.Records = e.Records[:800]
			e.Conclude(experiment.Target{}, record.RooflineSource{})
			for _, f := range e.Findings {
				if f.Code == "replicas" {
					found++
				}
			}
		}
		if found > most || slow > 1 && found < rows {
			t.Errorf("%v times as slow: found in %d of %d rows", slow, found, rows)
		}
	}
}
