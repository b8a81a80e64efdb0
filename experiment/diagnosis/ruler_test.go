package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/experiment/workload"
	fixture "bench/internal/reporttest"
)

// TestRuler: what is measured and what is likely, from 0 to beyond the highest load.
func TestRuler(t *testing.T) {
	at := func(n int, v stats.Verdict) record.Row { return offered(n, float64(100*n), judged("ttft_p99", v)) }
	likely := offered(8, 800, needs("ttft_p99", 40))
	for name, c := range map[string]struct {
		rows []record.Row
		want []RulerPart
	}{
		"pass and fail":   {[]record.Row{at(2, stats.Pass), at(4, stats.Pass), at(16, stats.Fail)}, []RulerPart{{4, Meets}, {16, Open}, {16 * rulerEnd, Misses}}},
		"likely":          {[]record.Row{at(4, stats.Pass), likely, at(16, stats.Fail)}, []RulerPart{{4, Meets}, {8, Likely}, {16, Open}, {16 * rulerEnd, Misses}}},
		"nothing fails":   {[]record.Row{at(2, stats.Pass), at(4, stats.Pass)}, []RulerPart{{4, Meets}, {4 * rulerEnd, Open}}},
		"all loads fail":  {[]record.Row{at(2, stats.Fail), at(4, stats.Fail)}, []RulerPart{{2, Open}, {4 * rulerEnd, Misses}}},
		"one load":        {[]record.Row{at(2, stats.Pass)}, nil},
		"pass after fail": {[]record.Row{at(2, stats.Fail), at(4, stats.Pass)}, []RulerPart{{2, Open}, {4 * rulerEnd, Misses}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := answerOf(c.rows).Workloads[0].Ruler
			if r == nil && c.want == nil {
				return
			}
			if r == nil || !slices.Equal(r.Parts, c.want) || r.End != r.Parts[len(r.Parts)-1].To {
				t.Errorf("%+v, want %v", r, c.want)
			}
		})
	}
}

// TestBringsAtAnEstimate: throughput follows from the rate and the tokens of a request, not from the edges of a window.
func TestBringsAtAnEstimate(t *testing.T) {
	row := func(rate float64) record.Row {
		r := offered(8, 128*rate*0.97, judged("ttft_p99", stats.Pass))
		r.ID, r.Spec.Concurrency, r.Spec.Rate, r.Spec.Point = fmt.Sprintf("r,rate=%g-r1", rate), 0, workload.Rate(rate), fixture.Axis("rate", fmt.Sprint(rate))
		r.Summary.Throughput.RequestsPerS, r.Summary.Tokens.Output = 1.01*rate, 128*300
		r.Summary.Throughput.OutputTokensPerSPerGPU = new(128 * rate * 0.97)
		return r
	}
	s := series.FromRows([]record.Row{row(20), row(40)})[0]
	m := &record.Manifest{GPUHourUSD: new(3.6), Target: record.TargetInfo{GPUs: 1}}
	b := bringsAt(m, &s, 50)
	if *b.UsersPerMinute != 3000 || *b.OutputTokensPerS != 6400 || math.Abs(*b.OutputTokensPerSPerGPU-6400) > 1e-9 || math.Abs(*b.USDPerMillion-1e6*3.6/3600/6400) > 1e-12 {
		t.Errorf("%+v", b)
	}
	if want := "≈ 3,000 users who ask once a minute · 6,400 tok/s/GPU · 0.156 USD per million output tokens · TPOT floor 62 % of TPOT at 40/s"; b.text() != want {
		t.Errorf("%q, want %q", b.text(), want)
	}
	b.atLeast, b.gpus, b.UsersPerKW, b.EnergyPerToken = true, 2, new(7000.), new(0.5)
	if want := "at least 3,000 users who ask once a minute, 1,500 per GPU · ≈ 7,000 users/kW, 0.500 J/token at 40/s · at least 6,400 tok/s/GPU · at most 0.156 USD per million output tokens · TPOT floor 62 % of TPOT at 40/s"; b.text() != want {
		t.Errorf("%q, want %q", b.text(), want)
	}
	if b := bringsAt(m, &s, 40); *b.OutputTokensPerS != 128*40*0.97 || b.sharedAt != "" { // as measured
		t.Errorf("%+v", b)
	}
}

func TestTwinCaution(t *testing.T) {
	d := &record.Twin{Axis: "rate", Residuals: []record.TwinResidual{{Metric: "ttft_p95", Residual: twin.Residual{Load: 52, Log: math.Log(1.64)}},
		{Metric: "tpot_p95", Residual: twin.Residual{Load: 50, Log: 0.1}}, {Metric: "ttft_p95", Residual: twin.Residual{Load: 10, Log: 2}}}}
	d.Best = new(50.)
	if got, want := twinCaution(d), "the twin misses TTFT p95 at 52/s by 64 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.Residuals = d.Residuals[1:]
	if got := twinCaution(d); got != "" { // 11 %; the load of the other is far from the estimate
		t.Error(got)
	}
}

// TestBelowAPass: the ruler is PASS up to the highest load that passed; a lower one that is undecided by itself says why.
func TestBelowAPass(t *testing.T) {
	rows := []record.Row{offered(2, 200, needs("ttft_p99", 40)), offered(4, 400, judged("ttft_p99", stats.Pass)), offered(8, 800, needs("ttft_p99", 40))}
	points := answerOf(rows).Workloads[0].Points
	if got, want := points[0].Text, "undecided: TTFT p99 on 51 requests; 40 more decide it; concurrency 4 above it meets the SLO"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(points[2].Text, "above it") {
		t.Error(points[2].Text)
	}
}

// The price of the run counts at every load, also where no row meets the SLO and has a cost of its own.
func TestPriceWithoutAPass(t *testing.T) {
	rows := []record.Row{offered(2, 200, judged("ttft_p99", stats.Fail))}
	all := series.FromRows(rows)
	m := &record.Manifest{GPUHourUSD: new(2.0), Target: record.TargetInfo{GPUs: 2}}
	b := bringsAt(m, &all[0], 2)
	if want := 4 / (3600 * *b.OutputTokensPerS) * 1e6; b.USDPerMillion == nil || math.Abs(*b.USDPerMillion-want) > 1e-9 {
		t.Errorf("%+v, want %g", b, want)
	}
}
