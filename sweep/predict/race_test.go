package predict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/tune"
)

// race is a race in virtual time.
func race(t *testing.T, goal, load string) *record.Manifest {
	t.Helper()
	m, p, err := planned(t, strings.NewReplacer("[target]", `[server]
command = ["vllm", "serve", "m", "--max-num-seqs", "{seqs}", "--enforce-eager={eager}"]
knobs = { seqs = [16, 64, 4], eager = ["no", "yes"] }
[tune]
order = "all"
goal = "`+goal+`"
[target]
endpoint = "http://127.0.0.1:1"`, "endpoint = \"mock\"\n", "").Replace(head)+`
[slo]
ttft_p95 = "1s"
[[row]]
name = "r"
input = 256
output = 16
warmup = "1s"
duration = "3s"
`+load)
	if err != nil {
		t.Fatal(err)
	}
	return &ran(t, m, p).Manifest
}

// A setting that cannot beat the best one is raced out at the load of that, the best is confirmed with other requests, and
// what was decided stands in the manifest.
func TestRace(t *testing.T) {
	manifest := race(t, tune.MaxLoad, `rate = { search = "slo", min = 1, max = 500, tolerance = "10%", budget = "10s" }`)
	x := manifest.Tune
	state := map[string]record.TunedSetting{}
	for _, s := range x.Settings {
		state[strings.Join(s.Values, "/")] = s
	}
	if x.Best != "seqs=64 eager=no" || x.State != tune.Certified || !x.Confirmed || x.RatioInterval.Lo < 1 || x.Excess == nil {
		t.Errorf("%+v", x)
	}
	if out := state["4/no"]; out.State != tune.RacedOut || *out.Bound < *state["16/no"].Estimate || out.CostS > 15 {
		t.Errorf("%+v", out)
	}
	if s := state["64/yes"]; s.State != tune.Infeasible || !strings.Contains(s.Reason, "no such setting") {
		t.Errorf("%+v", s)
	}
	rounds := 0
	for _, f := range manifest.Searches {
		confirms := slices.ContainsFunc(f.Others, func(a experiment.Axis) bool { return a.Key == "confirm" })
		if confirms {
			rounds++
		}
		if beaten := f.State == "beaten"; beaten && (confirms || f.Probes > 2) {
			t.Errorf("%+v", f)
		}
	}
	if rounds != 4 {
		t.Errorf("%d rounds", rounds)
	}
}

// Settings that pass at the search's max, or lean to it, are not known to be alike: nothing bounds them.
func TestRaceAboveMax(t *testing.T) {
	x := race(t, tune.MaxLoad, `rate = { search = "slo", min = 25, max = 30, tolerance = "10%", budget = "20s" }`).Tune
	if x.Excess != nil || !x.AtMax || x.Best != x.Default || x.Interval != nil || math.Round(*x.Estimate) != 30 || !x.Settings[2].AtMax {
		t.Errorf("%+v", x)
	}
}

// The throughput of a fixed load is known as well as the window shows it: better than two starts are alike only if it is
// steady.
func TestRaceOfThroughput(t *testing.T) {
	x := race(t, "output_tokens_per_s", "concurrency = 64\n").Tune
	if x.Best != "seqs=64 eager=no" || !x.Confirmed {
		t.Errorf("%+v", x)
	}
	for _, s := range x.Settings {
		if s.State == tune.Measured && math.Log(s.Interval.Hi/s.Interval.Lo) < 0.09 {
			t.Errorf("%+v", s)
		}
	}
}
