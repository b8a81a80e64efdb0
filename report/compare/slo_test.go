package compare

import (
	"slices"
	"testing"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// underSLO gives every row of a run a verdict on a limit.
func underSLO(r Run, key string, verdicts ...stats.Verdict) Run {
	r.Rows = slices.Clone(r.Rows)
	for i := range r.Rows {
		v := verdicts[i%len(verdicts)]
		r.Rows[i].SLO = []record.Verdict{{Metric: key, Limit: 50, Verdict: v}}
	}
	return r
}

// The verdict of a side is that of each of its runs: the worst repeat of a valid row. Runs that differ have none, and
// SLOs that differ cannot be compared.
func TestVerdictsOnSLO(t *testing.T) {
	pass, fail := stats.Pass, stats.Fail
	base, changed := pairOf(61)
	other, _ := pairOf(62)
	for _, x := range []struct {
		name          string
		base, changed []Run
		was, is       stats.Verdict
	}{
		{"changed", []Run{underSLO(base, "ttft_p90", pass)}, []Run{underSLO(changed, "ttft_p90", pass, fail, pass)}, pass, fail},
		{"runs of base differ", []Run{underSLO(base, "ttft_p90", pass), underSLO(other, "ttft_p90", fail)},
			[]Run{underSLO(changed, "ttft_p90", fail)}, "", fail},
		{"other limits", []Run{underSLO(base, "ttft_p90", pass)}, []Run{underSLO(changed, "ttft_p95", fail)}, "", ""},
	} {
		c := compared(t, side(x.base...), side(x.changed...), Options{})
		if p := c.Points[0]; p.BaseSLO != x.was || p.NewSLO != x.is {
			t.Errorf("%s: %q, %q", x.name, p.BaseSLO, p.NewSLO)
		}
	}
	changed = underSLO(changed, "ttft_p90", pass, fail, pass)
	changed.Rows[1].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	c := compared(t, side(underSLO(base, "ttft_p90", pass)), side(changed), Options{})
	if c.Points[0].NewSLO != pass {
		t.Errorf("an invalid row has a verdict: %q", c.Points[0].NewSLO)
	}
	if m := c.find("ttft_p90"); m == nil || !m.Limited || m.Change == nil || c.find("ttft_p95").Limited {
		t.Errorf("the limited figure: %+v", m)
	}
}

// Each limit has its figure: that of TTFO is TTFT where no answer reasons.
func TestLimitedFigures(t *testing.T) {
	row := record.Row{}
	for _, key := range []string{"ttfo_p95", "min_output_tokens_per_s", "error_rate", "e2e_per_token_p90", "usd_per_million_output_tokens", "ttft_p95"} {
		row.SLO = append(row.SLO, record.Verdict{Metric: key})
	}
	row.SLO = append(row.SLO, record.Verdict{Metric: "tpot_mean", Class: "chat"})
	row.Spec.SLO.Each = []experiment.Limit{{Key: "ttfo"}}
	p := pair{base: []sample{{row: &row}}}
	equal := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	equal(p.limited(""), "ttft_p95", "output_tokens_per_s", "error_rate", metric.Interactivity, "goodput_requests_per_s")
	equal(p.limited("chat"), "tpot_mean")
	row.Summary.Reasoning = &record.Reasoning{}
	equal(p.limited(""), "ttfo_p95", "output_tokens_per_s", "error_rate", metric.Interactivity, "ttft_p95", "goodput_requests_per_s")
}
