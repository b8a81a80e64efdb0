package world

import (
	"math"
	"strings"
	"testing"
	"time"
)

func servers(t *testing.T) []*World {
	t.Helper()
	all, err := Read("../servers/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func probe(t *testing.T, w *World, load float64, warmup, window time.Duration, seed uint64) []Request {
	t.Helper()
	out, err := w.Probe(load, warmup, window, seed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A client that stops at a time has seen the same as one that goes on.
func TestLongerWindow(t *testing.T) {
	const warmup, short, long = 5 * time.Second, 15 * time.Second, 30 * time.Second
	for _, w := range servers(t) {
		load := w.Truth.Load * 1.2
		a, b := probe(t, w, load, warmup, short, 7), probe(t, w, load, warmup, long, 7)
		for i, r := range b {
			if r.Arrival >= warmup+short {
				break
			}
			if r.End < warmup+short && r != a[i] {
				t.Fatalf("%s: request %d is %+v in the short window, %+v in the long one", w.Name, i, a[i], r)
			}
		}
		if len(b) < len(a)*13/10 {
			t.Errorf("%s: %d requests, %d in a longer window", w.Name, len(a), len(b))
		}
	}
}

// Known answers: alone in the server, and an M/D/c queue whose capacity follows from the step times.
func TestProbe(t *testing.T) {
	w := &World{SLO: SLO{Metric: "ttft", Percentile: 95}, Work: Work{Input: 64, Output: 32}}
	w.Search.Load = "concurrency"
	w.Mock.StepBase, w.Mock.StepPerSeq, w.Mock.MaxNumSeqs = 20*time.Millisecond, 500*time.Microsecond, 16
	alone := probe(t, w, 1, 0, 10*time.Second, 1)
	if r := alone[3]; r.TTFT() != 20*time.Millisecond || r.TPOT() != 20500*time.Microsecond || r.Arrival != alone[2].End {
		t.Errorf("%+v", r)
	}
	full := probe(t, w, 32, 0, 100*time.Second, 1)
	if got, want := float64(len(full))/ServerTime(full).Seconds(), 16/(0.020+31*0.028); math.Abs(got/want-1) > 0.02 {
		t.Errorf("%v requests/s of a full batch, want %v", got, want)
	}
	if n := InFlight(full, 10*time.Second); n[3] != 32 {
		t.Errorf("%v in flight", n)
	}
	w.Search.Load = "rate"
	if n := len(probe(t, w, 10, 0, 1000*time.Second, 1)); math.Abs(float64(n)-10000) > 400 {
		t.Errorf("%d Poisson arrivals, want 10000 ± 4 standard deviations", n)
	}
	w.Search.Load = "constant"
	if even := probe(t, w, 10, 0, 10*time.Second, 1); len(even) != 100 || even[99].Arrival != 9900*time.Millisecond {
		t.Errorf("%d even arrivals, the last %+v", len(even), even[len(even)-1])
	}
}

// The truth of a file is where its points cross the limit, and short simulations agree with the points.
func TestTruth(t *testing.T) {
	for _, w := range servers(t) {
		limit, below := float64(w.SLO.Limit)/1e6, 0
		for below+2 < len(w.Truth.Points) && w.Truth.Points[below+1].Ms <= limit {
			below++
		}
		a, b := w.Truth.Points[below], w.Truth.Points[below+1]
		if x := a.Load + (b.Load-a.Load)*(limit-a.Ms)/(b.Ms-a.Ms); math.Abs(x/w.Truth.Load-1) > 0.003 {
			t.Errorf("%s: the points cross the limit at %v, truth is %v", w.Name, x, w.Truth.Load)
		}
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"nam = 1", `[slo]
metric = "itl"`, `[search]
load = "users"`} {
		if _, err := parse(text); err == nil {
			t.Errorf("no error for %s", strings.ReplaceAll(text, "\n", " "))
		}
	}
	if _, err := Read("../servers/none*"); err == nil {
		t.Error("no error without files")
	}
}
