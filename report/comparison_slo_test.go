package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment/stats"
	"bench/report/compare"
)

// limited is a figure that the SLO limits.
func limited(m compare.Metric) compare.Metric {
	m.Limited = true
	return m
}

// The answer states a verdict on the SLO that changed: as a fact, with what proves it or that nothing does.
func TestSLOInAnswer(t *testing.T) {
	ttfo, ttft := tested("ttfo_p95", compare.Worse, 159, 98, 239), tested("ttft_p50", compare.Worse, 200, 150, 300)
	tokens := tested("output_tokens_per_s", compare.Worse, -9, -14, -4)
	same := tested("tpot_p50", compare.NoChange, 0.2, -1, 1.4)
	const at, where = "D concurrency=8", "D at concurrency 8"
	const none = "No change: the largest is TPOT p50 100 → 100 ms, +0.20 % [-1.0, +1.4], " + where
	for _, x := range []struct {
		want          string
		metrics       []compare.Metric
		base, changed stats.Verdict
	}{
		{"TTFT p50 100 → 300 ms, +200 % [+150, +300], worse, " + where + "; SLO PASS → FAIL at " + at,
			[]compare.Metric{tokens, ttft, limited(ttfo)}, stats.Pass, stats.Fail},
		{none + "; SLO PASS → FAIL at " + at + " (no limited figure is proven worse)",
			[]compare.Metric{limited(same)}, stats.Pass, stats.Fail},
		{none + "; SLO FAIL → PASS at " + at + " (no limited figure is proven better)",
			[]compare.Metric{limited(same)}, stats.Fail, stats.Pass},
		{none, []compare.Metric{limited(same)}, stats.Undecided, stats.Fail},
	} {
		c := comparison(x.metrics...)
		c.Points[0].BaseSLO, c.Points[0].NewSLO = x.base, x.changed
		if a := AnswerComparison(c); a.Sentence() != x.want {
			t.Errorf("%s\nwant %s", a.Sentence(), x.want)
		}
	}
	c := comparison(gated(same, 0.05, stats.Pass))
	c.Gate = &compare.Outcome{Verdict: stats.Pass, Passes: true, Cases: []compare.Case{{Point: at, Metric: "tpot_p50", Verdict: stats.Pass}}}
	c.Points[0].BaseSLO, c.Points[0].NewSLO = stats.Pass, stats.Fail
	want := "PASS: none of 1 figure is worse by more than its threshold; " +
		"the largest is TPOT p50 +0.20 % [-1.0, +1.4], " + where +
		"; SLO PASS → FAIL at"
	if a := AnswerComparison(c); !strings.HasPrefix(a.Sentence(), want) {
		t.Error(a.Sentence())
	}
}

// Figures that the SLO limits are in the picture, even untested if n carries them.
func TestForestOfSLO(t *testing.T) {
	gone := compare.Metric{Name: "goodput_requests_per_s", Base: new(16.0), New: new(0.0), RawChange: new(-1.0), Limited: true}
	none := compare.Metric{Name: "error_rate", Base: new(0.0), New: new(0.0), RawChange: new(0.0), Limited: true}
	metrics := []compare.Metric{tested("ttft_p50", compare.Inconclusive, 9, -5, 20), tested("itl_p50", compare.Worse, 5, 4, 6),
		tested("ttfo_p50", compare.Inconclusive, 3, -5, 12), tested("ttft_p95", compare.Worse, 4, 3, 5), limited(tested("ttft_p90", compare.Worse, 3, 2, 4)),
		limited(raw("e2e_p99", 40)), gone, none, tested("itl_p99", compare.Worse, 5, 4, 6)}
	var got []string
	for _, l := range NewForest(comparison(metrics...)).Main {
		got = append(got, l.Figure)
	}
	if want := "TTFT p90, TTFT p50, TTFO p50, goodput requests/s"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of equal runs at most 5 % are called worse or better, with a gate or without: the figures that its picture adds because
// they are worse count among all.
func TestEqualRunsAreSeldomNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	names := []string{"output_tokens_per_s", "ttfo_p50", "ttfo_p99", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "e2e_p50", "e2e_p99", "ttft_p90"}
	const trials = 1000
	for _, gate := range []bool{false, true} {
		named := 0
		for range trials {
			shared := r.NormFloat64()
			var metrics []compare.Metric
			for i, name := range names {
				z := 0.5*shared + math.Sqrt(0.75)*r.NormFloat64()
				p := math.Erfc(math.Abs(z) / math.Sqrt2)
				v := compare.Inconclusive
				if worse := compare.WorseBy(name, z) > 0; p <= 0.05 {
					v = map[bool]compare.Verdict{true: compare.Worse, false: compare.Better}[worse]
				}
				m := limited(tested(name, v, z, z-2, z+2))
				m.P, m.Adjusted = &p, &p
				if gate && i == 0 {
					m = gated(tested(name, compare.Inconclusive, 0, -2, 2), 0.05, stats.Pass)
				}
				metrics = append(metrics, m)
			}
			c := comparison(metrics...)
			if gate {
				c.Gate = &compare.Outcome{}
			}
			f := NewForest(c)
			if found := f.findings(); len(found.worse)+len(found.better) > 0 {
				named++
			}
		}
		if named > trials*65/1000 { // 5 %, and two standard errors
			t.Errorf("gate %t: %d of %d equal comparisons are called different", gate, named, trials)
		}
		t.Logf("gate %t: %d of %d", gate, named, trials)
	}
}
