package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/verdict"
)

// Expectation is a text of the matrix beside the result. It gets no verdict.
type Expectation struct {
	Of          string   `json:"of"` // the row; empty: the run's hypothesis
	Expected    string   `json:"expected"`
	Happened    string   `json:"happened"`
	Bottlenecks []string `json:"bottlenecks"` // of the row's points, by ascending load
}

func expectations(m *record.Manifest, series []series.Series, diagnoses []Diagnosis) []Expectation {
	out := []Expectation{}
	count := map[Bottleneck]int{}
	var rows []Expectation
	for i := range series {
		s := &series[i]
		e := Expectation{Of: s.Label(), Expected: s.Points[0].Rows[0].Spec.Expect, Happened: s.Sentence,
			Bottlenecks: []string{}}
		for j := range s.Points {
			if d := firstAt(diagnoses, i, j); d != nil {
				count[d.Bottleneck]++
				e.Bottlenecks = append(e.Bottlenecks, string(d.Bottleneck))
			}
		}
		if e.Expected != "" {
			rows = append(rows, e)
		}
	}
	if m.Hypothesis != "" {
		e := Expectation{Expected: m.Hypothesis, Bottlenecks: []string{}}
		var parts []string
		for _, b := range Bottlenecks {
			if n := count[b]; n > 0 {
				e.Bottlenecks = append(e.Bottlenecks, string(b))
				parts = append(parts, fmt.Sprintf("%s %d", b.Name(), n))
			}
		}
		e.Happened = "points by bottleneck: " + strings.Join(parts, ", ")
		out = append(out, e)
	}
	return append(out, rows...)
}

func notMeasured(m *record.Manifest, series []series.Series, missing []string) []string {
	out := []string{"answer quality: only speed was measured"}
	add := func(what, why string) {
		if text := what + ": " + why; why != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	switch {
	case m.Predicted != nil:
		add("a server", "the run is a prediction")
		for _, out := range m.Predicted.LeftOut {
			add(out.Row, "not predicted: "+out.Why)
		}
	case m.Target.Simulated:
		add("a real server", "the target is simulated")
	}
	for _, id := range missing {
		add(id, "planned, no result")
	}
	const notCollected = "not collected"
	for i := range series {
		for j := range series[i].Points {
			for _, r := range series[i].Points[j].Rows {
				add("roofline", r.NoRoofline)
				if u := r.Server.Metrics; u == nil {
					add("server metrics", notCollected)
				} else {
					add("server metrics", u.Missing)
				}
				if u := r.GPU; u == nil {
					add("GPU metrics", notCollected)
				} else {
					add("GPU metrics", u.Missing)
				}
				if r.NoCost == verdict.NoPrice {
					add("cost", r.NoCost)
				}
			}
		}
	}
	add("not specified in [target]", strings.Join(m.Unspecified, ", "))
	return out
}
