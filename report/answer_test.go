package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	fixture "bench/internal/reporttest"
)

// generated is a run of random workloads, loads, repeats, verdicts, findings and missing rows.
func generated(r *rand.Rand) *Run {
	run := &Run{Dir: "results/x/1"}
	run.Manifest.Matrix, run.Manifest.Run, run.Manifest.State = "x", "20261120T120000Z", "done"
	run.Manifest.Command, run.Notes = []string{"bench", "sweep", "x.toml"}, strings.Repeat("a note\n", r.IntN(100))
	verdicts := [][]string{{"PASS"}, {"PASS", "PASS", "FAIL"}, {"FAIL"}, {"UNDECIDED"}, {"PASS", "FAIL", "UNDECIDED"}, {""}}
	severities := []record.Severity{record.Invalid, record.Caution, record.Note}
	for w := range 1 + r.IntN(4) {
		kinds := verdicts[r.IntN(len(verdicts))]
		loads, repeats, rated := 1+r.IntN(5), 1+r.IntN(2), r.IntN(2) == 0
		var search *experiment.Search
		if kinds[0] != "" && r.IntN(3) == 0 {
			search = &experiment.Search{Goal: experiment.GoalSLO, Axis: map[bool]string{true: "rate", false: "concurrency"}[rated], Min: 1, Max: 16, Tolerance: 0.3}
		}
		first := len(run.Rows)
		for l := range loads {
			for k := range repeats {
				s := fixture.Shape{Name: fmt.Sprintf("w%d", w), Repeat: k + 1, N: 20 + r.IntN(100), TTFT: 50 + 900*r.Float64(), TPOT: 5 + 20*r.Float64(),
					Output: 100 + 3000*r.Float64(), Verdict: kinds[r.IntN(len(kinds))], Roofline: r.IntN(2) == 0}
				axis := "concurrency"
				if s.Concurrency = 1 << l; rated {
					axis, s.Rate, s.Concurrency = "rate", float64(int(1)<<l), 0
				}
				s.Axes = []experiment.Axis{{Key: axis, Value: unit.Count(1 << l)}}
				if s.Verdict == "UNDECIDED" && r.IntN(3) > 0 {
					s.Need = 1 + r.IntN(900)
				}
				for range r.IntN(3) {
					s.Findings = append(s.Findings, record.Finding{Code: []string{"code0", "code1", "code2", "errors"}[r.IntN(4)], Severity: severities[r.IntN(3)], Text: "it happened", Hint: "repeat it"})
				}
				row := s.Row()
				row.Spec.Search = search
				run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, Name: s.Name, State: "done"})
				if r.IntN(12) == 0 {
					run.Missing = append(run.Missing, row.ID)
					continue
				}
				run.Rows = append(run.Rows, row)
			}
		}
		if probes := run.Rows[first:]; search != nil && len(probes) > 0 {
			var rows []*record.Row
			for i := range probes {
				rows = append(rows, &probes[i])
			}
			run.Manifest.Searches = append(run.Manifest.Searches, series.SearchResult(search, &probes[0].Spec, rows, nil, 0, false))
		}
	}
	return run
}

// No two texts of one run contradict each other: terminal, Markdown, JSON and exit code print one answer.
func TestTextsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	leads := map[string]int{}
	const runs = 24
	for i := range runs {
		run := generated(r)
		o := run.Analyze()
		texts := printed(t, run)
		for j := range o.Answer.Workloads {
			w := &o.Answer.Workloads[j]
			leads[w.Lead]++
			for _, problem := range contradictions(&o, w) {
				t.Errorf("run %d, %s: %s\n%+v", i, w.Name, problem, w)
			}
		}
		met := run.Met() == nil
		if met != (len(o.Answer.NotMet) == 0) || met && o.Answer.Verdict != stats.Pass && o.Answer.Verdict != "" {
			t.Errorf("run %d: met %v, %q, %v", i, met, o.Answer.Verdict, o.Answer.NotMet)
		}
		for name, text := range texts {
			for _, problem := range misprints(&o, text) {
				t.Errorf("run %d, %s: %s\n%s", i, name, problem, text)
			}
			if met && regexp.MustCompile(`(?i)not yet|no point meets|\bmisses\b|is undecided|is invalid`).MatchString(text) {
				t.Errorf("run %d, %s: every row meets the SLO\n%s", i, name, text)
			}
		}
		if t.Failed() {
			return
		}
	}
	for _, lead := range []string{diagnosis.LeadShip, diagnosis.LeadNotYet, diagnosis.LeadNone, diagnosis.LeadMeasured} {
		if leads[lead] < runs/20 {
			t.Errorf("only %d workloads with %s: the runs are too much alike", leads[lead], lead)
		}
	}
}

func printed(t *testing.T, run *Run) map[string]string {
	var text, md bytes.Buffer
	if err := Text(&text, run, Screen{Width: 2000}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&md, run); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"text": text.String(), "markdown": md.String()}
}

// contradictions are what an answer says against its own points.
func contradictions(o *Analysis, w *diagnosis.Workload) (out []string) {
	bad := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	s := &o.Series[w.Series]
	quoted := &s.Points[w.Quoted]
	ship, missed := w.Lead == diagnosis.LeadShip, false
	bad(ship != (w.Operating != nil) || ship != (w.Verdict == stats.Pass), "lead, operating point and verdict differ")
	bad(w.Load != quoted.Load, "another load is quoted")
	for j := range s.Points {
		p, status := &s.Points[j], w.Points[j].Status
		bad((status == diagnosis.Ship) != (ship && j == w.Quoted), "point %d is %s", j, status)
		searched := status == diagnosis.Ship && p.Rows[0].Spec.Search != nil // its probes decide together
		bad(!searched && (status == diagnosis.Ship || status == diagnosis.Meets) != (p.Valid && p.SLO == stats.Pass), "point %d is %s", j, status)
		bad(status == diagnosis.Invalid && p.Valid || !p.Valid && status != diagnosis.Invalid && status != diagnosis.Misses, "point %d is %s", j, status)
		bad(w.Verdict == stats.Fail && status == diagnosis.Meets, "FAIL, and point %d is %s", j, status)
		missed = missed || status == diagnosis.Misses && p.FailsByLoad()
		bad(w.Verdict == stats.Fail && !missed && status != diagnosis.Misses, "FAIL, and below any miss point %d is %s", j, status)
		bad(!ship && status == diagnosis.Meets && w.Verdict != "" && !missed, "point %d meets the SLO below any miss, and is not shipped", j)
		bad(ship && j <= w.Quoted && missed, "the SLO is missed below the operating point, at %d", j)
		bad(ship && j < w.Quoted && status != diagnosis.Meets && strings.Contains(w.Text, "up to"), "up to it, and point %d is %s", j, status)
	}
	if ship {
		for j := w.Quoted + 1; j < len(s.Points); j++ {
			if w.Points[j].Status == diagnosis.Misses && s.Points[j].FailsByLoad() {
				break
			}
			bad(w.Points[j].Status == diagnosis.Meets, "a higher load meets the SLO: %d", j)
		}
		bad(strings.Contains(w.Text, w.Load+" is undecided") || strings.Contains(w.Text, w.Load+" misses"), "the operating point is doubted")
	}
	if n := w.Next; n != nil && n.Variable == s.Axis {
		for _, v := range n.Values {
			bad(slices.ContainsFunc(s.Points, func(x series.Point) bool { return unit.Brief(x.LoadValue, 9) == v }), "%s was measured", v)
		}
	}
	bad(w.Limit != nil && w.Points[w.Limit.Point].Status != diagnosis.Misses, "the limit is at a point that does not miss the SLO")
	return out
}

// misprints are what a text says against the answer.
func misprints(o *Analysis, text string) (out []string) {
	w, _ := o.First()
	if w == nil {
		return nil
	}
	plain := regexp.MustCompile(`\\(.)`).ReplaceAllString(text, "$1")
	for _, want := range []string{w.Headline(), w.Text, o.Answer.Trust.Text} {
		if !strings.Contains(plain, want) {
			out = append(out, "no "+want)
		}
	}
	for _, other := range []string{diagnosis.LeadShip, diagnosis.LeadLikely, diagnosis.LeadNotYet, diagnosis.LeadNone} {
		if has := strings.Contains(plain, other+" "+w.Name) || strings.Contains(plain, other+": "+w.Name); has != (other == w.Lead) {
			out = append(out, other+" of "+w.Name)
		}
	}
	return out
}

// The JSON has the same answer.
func TestDocumentHasTheAnswer(t *testing.T) {
	run := fixtureRun()
	o := run.Analyze()
	d := NewDocument()
	d.Add(run, o)
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Runs []struct {
			Answer struct {
				First     int
				Workloads []struct{ Lead, Text string }
			}
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	a := got.Runs[0].Answer
	w, _ := o.First()
	if x := a.Workloads[a.First]; x.Lead != w.Lead || x.Text != w.Text {
		t.Errorf("%+v, want %+v", x, w)
	}
}

// TestTrustLine: a reader knows whether the quoted point is among those with cautions.
func TestTrustLine(t *testing.T) {
	clean, disturbed := &diagnosis.OperatingPoint{}, &diagnosis.OperatingPoint{Cautions: []record.Finding{{Code: "x"}}}
	for _, c := range []struct {
		trust diagnosis.Trust
		point *diagnosis.OperatingPoint
		want  string
	}{
		{diagnosis.Trust{Text: "t", Cautions: 1}, clean, "t; no caution at this point"},
		{diagnosis.Trust{Text: "t", Cautions: 1}, disturbed, "t"},
		{diagnosis.Trust{Text: "t", Cautions: 1}, nil, "t"},
		{diagnosis.Trust{Text: "t"}, clean, "t"},
	} {
		if got := trustLine(&c.trust, &diagnosis.Workload{Operating: c.point}); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
