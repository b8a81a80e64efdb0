package gateway

import (
	"bytes"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/columns"
	"bench/experiment/selftest"
	"bench/experiment/stats"
)

var update = flag.Bool("update", false, "write testdata anew")

// delay is of requests with that p50 and p99, µs.
func delay(p50, p99 float64) *selftest.Delay {
	return &selftest.Delay{N: 2000, P50Us: p50, P99Us: p99, MaxUs: 2 * p99}
}

// round is one through a gateway that adds so much, with a noise of the round.
func round(added, noise float64) Round {
	return Round{
		Requests: 2000,
		TTFT:     delay(50_100+added, 51_000+2*added+noise), Transit: delay(100+added, 1_000+2*added+noise),
		E2E: delay(150_200+added, 151_000+2*added+noise), Gap: delay(100_000, 100_300+added), Lag: delay(10, 200),
		ClientCores: new(0.25), ServerCores: new(0.375), GatewayCores: new(0.0), OtherCores: new(0.05),
	}
}

// path has six rounds; the last is disturbed.
func path(name string, added float64) Path {
	p := Path{Name: name}
	for i := range 6 {
		r := round(added, float64(10*i))
		if added > 0 {
			r.CPUUsPerRequest, r.GatewayCores = new(added), new(added/1000)
		}
		p.Rounds = append(p.Rounds, r)
	}
	return p
}

func step(kind string, size float64, paths ...Path) Step {
	s := Step{Step: selftest.Step{Kind: kind, Size: size, Tokens: 20, WindowS: 2}, Paths: paths}
	s.Measure()
	return s
}

func TestMeasure(t *testing.T) {
	through := path("proxy", 200)
	through.Rounds[5].TTFT.P99Us = 90_000 // disturbed
	s := step(selftest.Rate, 1000, path("direct", 0), through)
	if s.Paths[0].Added != nil {
		t.Error("the direct path adds to itself")
	}
	a := s.Paths[1].Added
	want := &Figures{P50: Difference{200, stats.Interval{Lo: 200, Hi: 200}}, P99: Difference{400, stats.Interval{Lo: 400, Hi: 38_950}}}
	if diff := cmp.Diff(want, a.TTFT); diff != "" || a.Rounds != 6 {
		t.Error(a.Rounds, diff)
	}
	if got := s.Paths[1].Verdict(LimitUs); got != Undecided {
		t.Error(got)
	}
}

// A round counts if both paths were measured in it; one that lacks a figure takes it from all.
func TestMeasureCounts(t *testing.T) {
	direct, through := path("direct", 0), path("proxy", 200)
	direct.Rounds[1] = Round{Problem: "no files left"}
	through.Rounds[2] = Round{Requests: 900, Failed: 100, FirstFailure: "status: HTTP 502"}
	through.Rounds[2].Assess()
	through.Rounds[3].Transit = nil
	s := step(selftest.Rate, 1000, direct, through)
	a := s.Paths[1].Added
	if a.Rounds != 4 || a.Transit != nil || !math.IsInf(a.TTFT.P99.CI95.Hi, 1) || s.Paths[1].Problem != "" {
		t.Errorf("%+v %q", a, s.Paths[1].Problem)
	}
	if through.Rounds[2].Problem != "status: HTTP 502" {
		t.Errorf("%+v", through.Rounds[2])
	}
	none := Path{Name: "proxy", Rounds: []Round{{Problem: "refused"}}}
	s = step(selftest.Rate, 1000, path("direct", 0), none)
	if p := s.Paths[1]; p.Added != nil || p.Problem != "refused" || p.Verdict(LimitUs) != "" {
		t.Errorf("%+v", p)
	}
	if (&Result{Steps: []Step{s}}).Measured() {
		t.Error("nothing was measured")
	}
}

func TestVerdict(t *testing.T) {
	for want, ci := range map[string]stats.Interval{
		Pass: {Lo: -100, Hi: 999}, Fail: {Lo: 1000, Hi: 2000}, Undecided: {Lo: 999, Hi: 1000},
	} {
		p := Path{Added: &Added{TTFT: &Figures{P99: Difference{CI95: ci}}}}
		if got := p.Verdict(LimitUs); got != want {
			t.Errorf("%v: %s, want %s", ci, got, want)
		}
	}
}

// shown is a result with every kind of figure.
func shown() *Result {
	lost := Path{Name: "your gateway", Problem: "did not start"}
	slow := path("nginx", 2500)
	slow.Rounds[5].TTFT.P99Us -= 4200
	busy := step(selftest.Spread, 1000, path("direct", 0), path("bench trace record", 1650), path("Go reverse proxy", 230), path("nginx", 120), lost)
	for i := range busy.Paths[1].Rounds {
		r := &busy.Paths[1].Rounds[i]
		r.OtherCores, r.Lag = new(0.75), delay(20, 1500)
	}
	return &Result{
		Machine: selftest.Machine{CPU: "Some CPU @ 2.80GHz", Cores: 2, OS: "linux/amd64", Kernel: "6.1", MaxProcs: 2, Bench: "1.2.3 (abc)"},
		TTFTMs:  50, ITLMs: 100, LimitUs: LimitUs,
		Steps: []Step{
			step(selftest.Rate, 1000, path("direct", 0), path("bench trace record", 210), path("Go reverse proxy", 190), path("nginx", 95), lost),
			step(selftest.Rate, 2000, path("direct", 0), path("bench trace record", 600), path("Go reverse proxy", 450), slow, lost),
			busy,
		},
	}
}

func TestText(t *testing.T) {
	for golden, width := range map[string]int{"testdata/text.txt": 80, "testdata/verbose.txt": 100} {
		var got bytes.Buffer
		if err := Text(&got, shown(), width, width == 100); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
			t.Error(diff)
		}
		for line := range strings.Lines(got.String()) {
			if n := columns.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%s: %d columns: %s", golden, n, line)
			}
		}
	}
}

// Without request rates the loads of streams are in the conclusion.
func TestConclusionOfStreams(t *testing.T) {
	r := &Result{LimitUs: LimitUs, Steps: []Step{step(selftest.Spread, 100, path("direct", 0), path("nginx", 95))}}
	want := "added to TTFT p99 at 100 streams (limit 1.00 ms)\n    nginx  +190 µs  +190 µs to +190 µs  PASS\n"
	if diff := cmp.Diff(want, r.Conclusion()); diff != "" {
		t.Error(diff)
	}
}
