package report

import (
	"fmt"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Outcome is the result of a run as data and in words. Every renderer and the exit code take it from here.
type Outcome struct {
	Verdict  stats.Verdict `json:"verdict"`  // over all points; empty: the run has no SLO
	SLO      string        `json:"slo"`      // the verdict in words
	Need     int           `json:"need"`     // the most further requests that a point needs for a decision
	Valid    bool          `json:"valid"`    // a check passed, no row is invalid, and no planned row is missing
	Validity string        `json:"validity"` // in words, with the counts of checks
	Findings []Finding     `json:"findings"` // by severity, the most severe first, and code

	Series    []series.Series       `json:"series"`
	Diagnoses []diagnosis.Diagnosis `json:"diagnoses"` // of every point, the most urgent first
	Decision  diagnosis.Decision    `json:"decision"`  // the operating point and what to do next
}

// Finding is one code of findings of one severity with the rows that have it.
type Finding struct {
	Code     string          `json:"code"`
	Severity record.Severity `json:"severity"`
	Cases    []Flagged       `json:"cases"`
}

// Flagged is one finding of one row.
type Flagged struct {
	Row  string `json:"row"` // its id; for repeats that differ, the name of the point
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Outcome derives the outcome from the rows. Removed rows do not count.
func (r *Run) Outcome() Outcome {
	rows := r.Live()
	o := Outcome{Series: series.FromRows(rows), Findings: []Finding{}}
	o.collectFindings(rows)
	o.judgeSLO(len(r.Missing), r.Manifest.Searches)
	o.judgeValidity(rows, r.Missing)
	o.Diagnoses = diagnosis.Diagnose(o.Series)
	o.Decision = diagnosis.NewDecision(&r.Manifest, o.Series, o.Diagnoses, r.Missing)
	return o
}

func (o *Outcome) judgeSLO(missing int, searches []record.Found) {
	count := map[stats.Verdict]int{}
	total := 0
	for _, f := range searches { // a search counts as the one point that it looks for
		count[f.Verdict()]++
		total++
	}
	o.Each(func(_ *series.Series, p *series.Point) {
		if p.Rows[0].Spec.Search == nil {
			count[p.SLO]++
			total++
			o.Need = max(o.Need, p.Need)
		}
	})
	if count[""] == total {
		o.SLO = "the run has no SLO"
		return
	}
	switch {
	case count[stats.Fail] > 0:
		o.Verdict = stats.Fail
	case count[stats.Undecided] > 0 || missing > 0:
		o.Verdict = stats.Undecided
	default:
		o.Verdict = stats.Pass
	}
	parts := []string{fmt.Sprintf("met at %d of %s", count[stats.Pass], unit.Plural(total-count[""], "point"))}
	if n := count[stats.Fail]; n > 0 {
		parts = append(parts, unit.Count(n)+" FAIL")
	}
	if n := count[stats.Undecided]; n > 0 {
		text := unit.Count(n) + " UNDECIDED"
		if o.Need > 0 {
			text += fmt.Sprintf(" (needs up to %s more requests)", unit.Count(o.Need))
		}
		parts = append(parts, text)
	}
	if missing > 0 {
		parts = append(parts, unit.Plural(missing, "planned row")+" without a result")
	}
	o.SLO = strings.Join(parts, ", ")
}

// Each calls f for every point of every series.
func (o *Outcome) Each(f func(s *series.Series, p *series.Point)) {
	for i := range o.Series {
		for j := range o.Series[i].Points {
			f(&o.Series[i], &o.Series[i].Points[j])
		}
	}
}

// operatingPoint is the decision's operating point; nil: no valid point meets the SLO.
func (o *Outcome) operatingPoint() (*series.Series, *series.Point) {
	a := o.Decision.Operating
	if a == nil {
		return nil, nil
	}
	return &o.Series[a.Series], &o.Series[a.Series].Points[a.Point]
}

// HeadlinePoint is the operating point, else the headline point of the series with the highest throughput,
// valid ones first; nil: the run has no point.
func (o *Outcome) HeadlinePoint() (curve *series.Series, best *series.Point) {
	if s, p := o.operatingPoint(); p != nil {
		return s, p
	}
	for i := range o.Series {
		s := &o.Series[i]
		p := &s.Points[*s.Headline]
		if best == nil || p.Valid && !best.Valid || p.Valid == best.Valid && p.OutputTokensPerS.Median > best.OutputTokensPerS.Median {
			curve, best = s, p
		}
	}
	return curve, best
}

// DiagnosisOf is the most urgent diagnosis of a point; nil: it has none.
func (o *Outcome) DiagnosisOf(p *series.Point) *diagnosis.Diagnosis {
	for i := range o.Diagnoses {
		if d := &o.Diagnoses[i]; &o.Series[d.Series].Points[d.Point] == p {
			return d
		}
	}
	return nil
}

// Happened is the sentence of the headline point's series; empty: nothing was measured.
func (o *Outcome) Happened() string {
	s, p := o.HeadlinePoint()
	if p == nil {
		return ""
	}
	return s.Label() + ": " + s.Sentence
}
