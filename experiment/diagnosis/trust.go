package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

type Trust struct {
	Rows     int      `json:"rows"`              // with a result
	Invalid  int      `json:"invalid"`           // left out of every answer; probes of a search that overshoot are none
	Cautions int      `json:"cautions"`          // valid rows with a caution
	Codes    []string `json:"codes"`             // of the findings behind the two, the invalid ones first
	Missing  int      `json:"missing"`           // planned rows without a result
	Skipped  int      `json:"skipped,omitempty"` // loads above a certain FAIL, which did not run
	Passed   int      `json:"checks_passed"`
	Checks   int      `json:"checks"` // passed, failed and not possible ones
	Text     string   `json:"text"`   // in one sentence
}

func newTrust(all []series.Series, missing []string) Trust {
	t := Trust{Missing: len(missing), Codes: []string{}}
	var invalid, cautions []string
	add := func(to *[]string, codes []string) {
		for _, c := range codes {
			if !slices.Contains(*to, c) {
				*to = append(*to, c)
			}
		}
	}
	eachRow(all, func(p *series.Point, r *record.Row) {
		t.Rows++
		t.Passed += len(r.Checks.Passed)
		t.Checks += r.Checks.Total()
		switch c := append(r.Codes(record.Caution), record.Codes(p.Findings, record.Caution)...); {
		case !r.Valid() && !series.Overshoots(r):
			t.Invalid++
			add(&invalid, r.Codes(record.Invalid))
		case r.Valid() && len(c) > 0:
			t.Cautions++
			add(&cautions, c)
		}
	})
	var beyond []string
	for i := range all {
		if s := &all[i]; len(s.Skipped) > 0 {
			t.Skipped += len(s.Skipped)
			add(&beyond, []string{s.Beyond})
		}
	}
	t.Codes = append(append(t.Codes, invalid...), cautions...)
	t.Text = t.text(invalid, cautions, beyond)
	return t
}

func (t *Trust) text(invalid, cautions, beyond []string) string {
	if t.Rows == 0 {
		return "no row has a result"
	}
	text := unit.Plural(t.Rows, "row") + " valid"
	switch {
	case t.Invalid > 0:
		text = fmt.Sprintf("%d of %s invalid, left out: %s", t.Invalid, unit.Plural(t.Rows, "row"), unit.Some(invalid))
	case t.Passed == 0:
		text = unit.Plural(t.Rows, "row") + " unchecked: no check was possible"
	}
	if t.Cautions > 0 {
		text += fmt.Sprintf("; cautions in %d: %s", t.Cautions, unit.Some(cautions))
	}
	if t.Skipped > 0 {
		text += "; " + unit.Plural(t.Skipped, "load") + " skipped: " + unit.Some(beyond)
	}
	if t.Missing > 0 {
		text += "; " + unit.Plural(t.Missing, "planned row") + " without a result"
	}
	return text
}

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

func notMeasured(m *record.Manifest, all []series.Series, missing []string) []string {
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
	eachRow(all, func(_ *series.Point, r *record.Row) {
		add("roofline", r.NoRoofline)
		server, gpu := notCollected, notCollected
		if u := r.Server.Metrics; u != nil {
			server = u.Missing
		}
		if u := r.GPU; u != nil {
			gpu = u.Missing
		}
		add("server metrics", server)
		add("GPU metrics", gpu)
		if r.NoCost == verdict.NoPrice {
			add("cost", r.NoCost)
		}
	})
	add("not specified in [target]", strings.Join(m.Unspecified, ", "))
	return out
}
