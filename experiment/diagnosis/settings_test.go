package diagnosis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
)

// knob is a row at concurrency 8 of a server with a knob.
func knob(value string, output, ttft, tpot float64, slo ...record.Verdict) record.Row {
	r := offered(8, output, slo...)
	r.Spec.Variant, r.Spec.Point = "parallel="+value, append(r.Spec.Point, experiment.Axis{Key: "parallel", Value: value})
	r.ID += value
	r.Summary.TTFT, r.Summary.TPOT = narrow(ttft), narrow(tpot)
	r.Summary.E2E = narrow(ttft + 31*tpot)
	if len(slo) == 0 {
		r.Spec.SLO = experiment.SLO{}
	}
	return r
}

// narrow is a latency whose intervals are within 1 % of it.
func narrow(ms float64) *stats.Summary {
	s := flat(ms, ms)
	s.N, s.CI95 = 4000, map[string]stats.Interval{}
	for _, name := range append([]string{"mean"}, metric.Percentiles...) {
		s.CI95[name] = stats.Interval{Lo: 0.995 * ms, Hi: 1.005 * ms}
	}
	return s
}

func repeated(rows []record.Row, factors ...float64) (out []record.Row) {
	for _, r := range rows {
		for i, f := range factors {
			own := r
			own.Spec.Repeat, own.ID = i+1, r.ID+strings.Repeat("+", i)
			own.Summary.Throughput.OutputTokensPerS *= f
			out = append(out, own)
		}
	}
	return out
}

func TestSettings(t *testing.T) {
	pass, fail := judged("ttft_p99", stats.Pass), judged("ttft_p99", stats.Fail)
	for name, c := range map[string]struct {
		rows  []record.Row
		best  string
		first int      // workload to read first
		texts []string // of the comparison, then of the settings
		leads []string
	}{
		"more throughput within the SLO": {
			[]record.Row{knob("2", 63, 331, 12, pass), knob("8", 86.6, 101, 65, pass)}, "parallel=8", 1,
			[]string{"best: parallel=8 at concurrency 8: 86.6 tok/s, +37 % [23, 54]; TTFT p99 ÷ 3.3 [2.9, 3.7], compared with parallel=2 (one run each, 2 % between server starts assumed)",
				"parallel=2 at concurrency 8: 63.0 tok/s"}, []string{LeadMet, LeadShip},
		},
		"the first is the best": {
			[]record.Row{knob("2", 90, 100, 12, pass), knob("8", 60, 100, 12, pass)}, "parallel=2", 0,
			[]string{"best: parallel=2, the first", "", "parallel=8 at concurrency 8: 60.0 tok/s, −33 % [−40, −25]"}, []string{LeadShip, LeadMet},
		},
		"more throughput misses the SLO": {
			[]record.Row{knob("2", 63, 331, 12, pass), knob("8", 86.6, 900, 65, fail)}, "parallel=2", 0,
			[]string{"best: parallel=2, the first", "", "parallel=8 at concurrency 8: 86.6 tok/s, +37 % [23, 54]; TTFT p99 × 2.7 [2.4, 3]: misses the SLO"}, []string{LeadShip, LeadNone},
		},
		"a trade without an SLO": {
			[]record.Row{knob("2", 63, 3310, 12), knob("8", 86.6, 1010, 65)}, "", 1,
			[]string{"a trade: no setting is better in all", "parallel=2: 63.0 tok/s", "parallel=8: 86.6 tok/s, +37 % [23, 54]; TTFT p50 ÷ 3.3 [2.9, 3.7]; TPOT p50 × 5.4 [4.8, 6.1]: a trade"}, []string{LeadMeasured, LeadMeasured},
		},
		"better in all without an SLO": {
			[]record.Row{knob("2", 63, 3310, 65), knob("8", 86.6, 1010, 12)}, "parallel=8", 1, []string{"best: parallel=8: 86.6 tok/s"}, []string{LeadMeasured, LeadMeasured},
		},
		"too few requests": {
			func() []record.Row {
				rows := []record.Row{knob("2", 63, 331, 12, pass), knob("8", 86.6, 331, 12, pass)}
				rows[1].Summary.E2E.CI95["mean"] = stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
				return rows
			}(), "", 1, []string{"undecided: too few requests", "", "parallel=8 at concurrency 8: 86.6 tok/s, +37 %, n too small; TTFT p99 +0 % ["}, []string{LeadShip, LeadShip},
		},
		"noise": {
			[]record.Row{knob("2", 63, 331, 12, pass), knob("8", 64, 331, 12, pass)}, "", 1,
			[]string{"no difference beyond the noise", "", "parallel=8 at concurrency 8: 64.0 tok/s, +2 % [−9, 14], inconclusive"}, []string{LeadShip, LeadShip},
		},
		"equal throughput, less latency": {
			[]record.Row{knob("2", 63, 331, 12, pass), knob("8", 64, 101, 12, pass)}, "parallel=8", 1, []string{"best: parallel=8"}, []string{LeadMet, LeadShip},
		},
		"repeats of one start": {
			repeated([]record.Row{knob("2", 63, 331, 12, pass), knob("8", 86.6, 331, 12, pass)}, 0.99, 1, 1.01), "parallel=8", 1,
			[]string{"best: parallel=8 at concurrency 8: 86.6 tok/s, +37 % [", "parallel=2 at"}, []string{LeadMet, LeadShip},
		},
		"prefixes are no settings": {
			func() []record.Row {
				rows := []record.Row{knob("cold", 63, 85, 12, pass), knob("warm", 64, 49, 12, pass)}
				for i := range rows {
					rows[i].Spec.Variant, rows[i].Spec.Point[1].Key = "", "prefix.state"
				}
				return rows
			}(), "", 0, []string{"compared with prefix.state=cold", "", "prefix.state=warm at concurrency 8: 64.0 tok/s, +2 % [−9, 14], inconclusive; TTFT p99 −42 % [−48, −36]"}, []string{LeadShip, LeadShip},
		},
	} {
		a := answerOf(c.rows)
		if len(a.Settings) != 1 {
			t.Errorf("%s: %d comparisons", name, len(a.Settings))
			continue
		}
		g := &a.Settings[0]
		texts := []string{g.Text}
		for _, x := range g.Settings {
			texts = append(texts, x.Text)
		}
		for i, want := range c.texts {
			if !strings.HasPrefix(texts[i], want) {
				t.Errorf("%s: %q, want %q", name, texts[i], want)
			}
		}
		var leads []string
		for _, w := range a.Workloads {
			leads = append(leads, w.Lead)
			if ships := slices.ContainsFunc(w.Points, func(p PointStatus) bool { return p.Status == Ship }); ships != (w.Lead == LeadShip) {
				t.Errorf("%s: %s ships: %v, its lead is %s", name, w.Name, ships, w.Lead)
			}
		}
		if g.Best != c.best || *a.First != c.first || !slices.Equal(leads, c.leads) {
			t.Errorf("%s: best %q, first %d, leads %q", name, g.Best, *a.First, leads)
		}
	}
}

// Interleaved repeats are compared in pairs: what both share cancels, and no spread is assumed.
func TestSettingsInPairs(t *testing.T) {
	rows := repeated([]record.Row{knob("2", 63, 331, 12), knob("8", 86.6, 331, 12)}, 0.8, 1, 1.2)
	a := NewAnswer(&record.Manifest{Order: "interleaved"}, series.FromRows(rows), nil, nil)
	g := &a.Settings[0]
	c := g.Settings[1].Changes[0]
	if g.Basis != "3 pairs of repeats" || c.Spread != stats.SpreadOfPairs || c.CI95.Lo < 1.35 || c.CI95.Hi > 1.4 {
		t.Errorf("%q, %+v", g.Basis, c)
	}
}

// If the server starts for each repeat, the starts show their own spread.
func TestSettingsByStart(t *testing.T) {
	rows := repeated([]record.Row{knob("2", 63, 331, 12), knob("8", 86.6, 331, 12)}, 0.99, 1, 1.01)
	m := &record.Manifest{Order: "blocked"}
	for range 3 {
		for _, v := range []string{"parallel=2", "parallel=8"} {
			m.Servers = append(m.Servers, record.ServerStart{Variant: v, Command: []string{"serve"}, ReadyS: 1})
		}
	}
	g := &NewAnswer(m, series.FromRows(rows), nil, nil).Settings[0]
	if c := g.Settings[1].Changes[0]; g.Basis != "3 server starts each" || c.Spread != stats.SpreadOfRuns || c.CI95.Lo < 1.33 || c.CI95.Hi > 1.42 {
		t.Errorf("%q, %+v", g.Basis, c)
	}
}

// Of different highest loads the change is what is known of them, not the ratio of the loads that the row lists.
func TestChangeOfCapacities(t *testing.T) {
	at := func(load float64) *series.Series {
		return &series.Series{Axis: "rate", Points: []series.Point{{LoadValue: load, Rows: []*record.Row{{}}}}}
	}
	estimated := func(best, low, high float64) *Setting {
		e := &Estimate{Bracket: stats.Bracket{Best: &best, Low: &low, High: &high}}
		return &Setting{w: &Workload{Verdict: stats.Pass, Estimate: e}, s: at(best)}
	}
	passed := func(load float64, verdict stats.Verdict) *Setting {
		return &Setting{w: &Workload{Verdict: verdict}, s: at(load)}
	}
	for _, c := range []struct {
		base, changed *Setting
		want          string
		result        Result
	}{
		{estimated(10, 9, 11), estimated(30, 28, 32), "× 3 [2.7, 3.4]", Better},
		{estimated(20, 15, 26), passed(24, stats.Pass), "+20 % [−8, –]", Inconclusive},
		{passed(12, stats.Pass), passed(24, stats.Pass), "", Inconclusive}, // neither shows its limit
		{passed(30, stats.Fail), passed(60, stats.Pass), "× 2 [2, –]", Better},
		{passed(30, stats.Pass), passed(10, stats.Fail), "÷ 3 [3, –]", Worse},
		{passed(8, stats.Pass), passed(math.Inf(1), stats.Pass), "", Inconclusive},
	} {
		var change Change
		change.Metric, change.Result = outputTokens, Inconclusive
		known := change.ofCapacities(c.base, c.changed)
		text, within := change.Parts()
		got := strings.TrimSpace(text + " " + within)
		if known != (c.want != "") || known && got != c.want || change.Result != c.result {
			t.Errorf("%s %s, want %s %s", got, change.Result, c.want, c.result)
		}
	}
}
