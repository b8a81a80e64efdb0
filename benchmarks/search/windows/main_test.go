package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"bench/benchmarks/search/world"
)

// Two questions over the protocol; the second replaces the server's Poisson arrivals by even gaps.
func TestServe(t *testing.T) {
	var out strings.Builder
	questions := `{"server": "queueing", "load": 10, "warmup_s": 1, "window_s": 2, "seed": 3}
{"server": "queueing", "kind": "constant", "load": 10, "warmup_s": 1, "window_s": 2}`
	if err := run([]string{"-servers", "../servers/*.toml"}, strings.NewReader(questions), &out); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(strings.NewReader(out.String()))
	for _, even := range []bool{false, true} {
		var a answer
		if err := answers.Decode(&a); err != nil {
			t.Fatal(err)
		}
		n := len(a.ArrivalS)
		if n == 0 || len(a.FirstS) != n || len(a.EndS) != n || a.Output[0] != 32 || a.EndS[0] <= a.FirstS[0] {
			t.Fatalf("%+v", a)
		}
		if even && (n != 30 || a.Warmup != 10 || a.ArrivalS[7] != 0.7) || a.ArrivalS[a.Warmup] < 1 {
			t.Errorf("%+v", a)
		}
	}
	for _, bad := range []string{`{"server": "no"}`, `{"server": "queueing", "kind": "burst"}`, `{"rate": 1}`, `{`} {
		if err := run([]string{"-servers", "../servers/*.toml"}, strings.NewReader(bad), &out); err == nil {
			t.Errorf("no error for %s", bad)
		}
	}
}

func TestCrossing(t *testing.T) {
	var points []world.Point
	for load := 1.0; load < 6; load++ {
		points = append(points, world.Point{Load: load, Ms: 100 * math.Exp(load/10)})
	}
	if got := crossing(points, 100*math.Exp(0.345)); math.Abs(got-3.45) > 1e-9 {
		t.Errorf("%v", got)
	}
}

func TestTruthOutput(t *testing.T) {
	var out strings.Builder
	args := []string{"-servers", "../servers/*.toml", "-server", "queueing", "-times", "2", "-window", "100s"}
	if err := run(append(args, "-loads", "8,16.5"), nil, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "{load = 8, ms = ") || !strings.Contains(out.String(), "# line through all") {
		t.Error(out.String())
	}
}
