package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/verdict"
)

// expectations set the hypothesis and every row's expectation beside what came.
func expectations(m *record.Manifest, series []series.Series, found []Diagnosis) []Expectation {
	out := []Expectation{}
	if m.Hypothesis != "" {
		e := Expectation{Expected: m.Hypothesis, Regimes: []string{}}
		count := map[Regime]int{}
		for i := range series {
			for j := range series[i].Points {
				if d := firstAt(found, i, j); d != nil {
					count[d.Regime]++
				}
			}
		}
		var parts []string
		for _, r := range Regimes {
			if n := count[r]; n > 0 {
				e.Regimes = append(e.Regimes, string(r))
				parts = append(parts, fmt.Sprintf("%s at %d", r.Words(), n))
			}
		}
		e.Happened = "of the points: " + strings.Join(parts, ", ")
		out = append(out, e)
	}
	for i := range series {
		s := &series[i]
		e := Expectation{Of: s.Label(), Expected: s.Points[0].Rows[0].Spec.Expect, Happened: s.Sentence, Regimes: []string{}}
		if e.Expected == "" {
			continue
		}
		for j := range s.Points {
			if d := firstAt(found, i, j); d != nil {
				e.Regimes = append(e.Regimes, string(d.Regime))
			}
		}
		out = append(out, e)
	}
	return out
}

// unmeasured is what is not in the results, and could be taken to be.
func unmeasured(m *record.Manifest, series []series.Series, missing []string) []string {
	out := []string{"the quality of the answers: only their speed was measured"}
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if m.Target.Simulated {
		add("a real server: this one is simulated")
	}
	for _, id := range missing {
		add(id + ": planned, and without a result")
	}
	for i := range series {
		for j := range series[i].Points {
			for _, r := range series[i].Points[j].Rows {
				unmeasuredOf(r, add)
			}
		}
	}
	if len(m.NotStated) > 0 {
		add("of the target nobody stated: " + strings.Join(m.NotStated, ", "))
	}
	return out
}

func unmeasuredOf(r *record.Row, add func(string)) {
	if r.NoRoofline != "" {
		add("bounds: " + r.NoRoofline)
	}
	switch u := r.Server.Metrics; {
	case u == nil:
		add("the server's own metrics: nobody looked")
	case u.Missing != "":
		add("the server's own metrics: " + u.Missing)
	}
	switch u := r.GPU; {
	case u == nil:
		add("the GPUs: nobody looked")
	case u.Missing != "":
		add("the GPUs: " + u.Missing)
	}
	if r.NoCost == verdict.NoPrice {
		add("cost: " + r.NoCost)
	}
}
