package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// steadyRow is an open loop of n requests in 100 s; latency (ms, from the arrival to the first token, as
// much again to the last) is a function of the request's place from 0 to 1.
func steadyRow(n int, latency func(at float64) float64) *evidence {
	e := flawless()
	e.Spec.Rate, e.Spec.Concurrency = workload.Rate(float64(n)/100), 0
	e.Window = record.Window{EndUs: 100_000_000}
	e.records = e.records[:1]
	for i := range n {
		at := int64(i) * e.Window.EndUs / int64(n)
		us := int64(1000 * latency(float64(i)/float64(n)))
		r := fixture.OKRequest(at, at+us, at+2*us)
		r.I = i
		e.records = append(e.records, r)
	}
	// As they are collected: by their ends.
	slices.SortStableFunc(e.records, func(a, b *record.Record) int { return int(a.End.Us() - b.End.Us()) })
	return e
}

// doubtOf is the text of a row's finding of one code; empty: it has none.
func (e *evidence) findingOf(code string) string {
	i := slices.IndexFunc(e.Findings, func(d record.Finding) bool { return d.Code == code })
	if i < 0 {
		return ""
	}
	return e.Findings[i].Text
}

func TestUnsteady(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func() float64 { return 50 * math.Exp(0.3*rng.NormFloat64()) }
	for _, c := range []struct {
		name    string
		latency func(at float64) float64
		want    string // a part of the finding; empty: none
	}{
		{"steady", func(float64) float64 { return noise() }, ""},
		{"heavy tail", func(float64) float64 { return 50 * math.Exp(1.2*rng.NormFloat64()) }, ""},
		{"a slow beginning", func(at float64) float64 { return noise() + 500*math.Exp(-at/0.04) }, "the warm-up was too short: the first"},
		{"a beginning that is hardly slower", func(at float64) float64 { return noise() + 20*math.Exp(-at/0.04) }, ""},
		{"it slows down", func(at float64) float64 { return noise() * (1 + 0.5*at) }, "requests in flight rose by"},
		{"it slows down a little", func(at float64) float64 { return noise() * (1 + 0.05*at) }, ""},
		{"an overload", func(at float64) float64 { return 50 + 20_000*at }, "the queue grows: requests in flight rose by"},
		{"one outlier", func(at float64) float64 {
			if at == 0.5 {
				return 20_000
			}
			return noise()
		}, ""},
	} {
		e := steadyRow(2000, c.latency).checked()
		if got := e.findingOf("unsteady"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q (%+v)", c.name, got, c.want, e.Steady)
		}
	}
}

// In a closed loop the number in flight can't grow, and a trend of the latency tells.
func TestUnsteadyClosedLoop(t *testing.T) {
	e := steadyRow(2000, func(at float64) float64 { return 50 * (1 - 0.5*at) })
	e.Spec.Rate, e.Spec.Concurrency = 0, 4
	if got := e.checked().findingOf("unsteady"); !strings.Contains(got, "fell by") && !strings.Contains(got, "too short") {
		t.Errorf("%q", got)
	}
}

func TestSteadinessNeedsARow(t *testing.T) {
	all := steadyRow(200, func(float64) float64 { return 9 })
	all.Spec.Rate = workload.Rate(math.Inf(1))
	few := steadyRow(20, func(float64) float64 { return 9 })
	if all.checked(); all.Steady != nil || !slices.Contains(all.Checks.NotPossible, "unsteady") {
		t.Errorf("all at once: %+v", all.Steady)
	}
	if few.checked(); few.Steady == nil || few.Steady.Cut != nil || len(few.Steady.Trends) != 1 {
		t.Errorf("20 requests: %+v", few.Steady)
	}
}

func TestHeterogeneous(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	twice := func(share, by float64) func(float64) float64 {
		return func(float64) float64 {
			x := 50 * math.Exp(0.2*rng.NormFloat64())
			if rng.Float64() < share {
				x *= by
			}
			return x
		}
	}
	for _, c := range []struct {
		name    string
		latency func(float64) float64
		want    string
	}{
		{"one kind", twice(0, 1), ""},
		{"a fifth takes eight times as long", twice(0.2, 8), "e2e has two modes without declared classes: "},
		{"two in a hundred do", twice(0.02, 8), ""},
		{"half takes half as long again", twice(0.5, 1.5), ""},
		{"a heavy tail", func(float64) float64 { return 50 * math.Exp(rng.NormFloat64()) }, ""},
		{"exponential", func(float64) float64 { return 50 * rng.ExpFloat64() }, ""},
		{"all alike", func(float64) float64 { return 50 }, ""},
		{"steps of an engine", func(float64) float64 { return 50 + 2*float64(rng.IntN(8)) }, ""},
	} {
		if got := steadyRow(2000, c.latency).checked().findingOf("heterogeneous"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	mixed := steadyRow(2000, twice(0.2, 8))
	mixed.Spec.Mix = []workload.Class{{Name: "a"}, {Name: "b"}}
	if got := mixed.checked().findingOf("heterogeneous"); strings.Contains(got, "two modes") {
		t.Errorf("its classes are declared: %q", got)
	}
	few := steadyRow(49, twice(0.2, 8)).checked()
	if !slices.Contains(few.Checks.NotPossible, "heterogeneous") {
		t.Errorf("49 requests: %+v", few.Checks)
	}
}
