package report

import (
	"fmt"
	"slices"
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
	Valid    bool          `json:"valid"`    // a check passed, none failed, and no planned row is missing
	Validity string        `json:"validity"` // in words, with the counts of checks
	Findings []Finding     `json:"findings"` // by code

	Series    []series.Series       `json:"series"`
	Diagnoses []diagnosis.Diagnosis `json:"diagnoses"` // of every point, the most urgent first
	Decision  diagnosis.Decision    `json:"decision"`  // the operating point and what to do next
}

// Finding is one code of findings with the rows that have it.
type Finding struct {
	Code  string    `json:"code"`
	Cases []Flagged `json:"cases"`
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

func (o *Outcome) judgeValidity(rows []record.Row, missing []string) {
	passed, failed, impossible, invalid, unverified := 0, 0, 0, 0, 0
	for _, r := range rows {
		if series.Overshoots(&r) {
			continue
		}
		passed += len(r.Checks.Passed)
		failed += len(r.Checks.Failed)
		impossible += len(r.Checks.NotPossible)
		unverified += len(r.Checks.Unverified)
		if len(r.Checks.Failed) > 0 {
			invalid++
		}
	}
	apart := 0
	o.Each(func(_ *series.Series, p *series.Point) {
		if len(p.Findings) > 0 {
			apart++
		}
	})
	total := passed + failed + impossible + unverified
	switch {
	case len(rows) == 0:
		o.Validity = "INVALID: no row has a result"
	case invalid > 0:
		o.Validity = fmt.Sprintf("INVALID: checks failed in %d of %s; %s of %s checks failed, %s not possible",
			invalid, unit.Plural(len(rows), "row"), unit.Count(failed), unit.Count(total), unit.Count(impossible))
	case len(missing) > 0:
		o.Validity = fmt.Sprintf("INCOMPLETE: %s without a result; in the others %d of %d checks passed",
			unit.Plural(len(missing), "planned row"), passed, total)
	case apart > 0:
		o.Validity = fmt.Sprintf("INVALID: repeats differ beyond chance at %s; %d of %d checks passed", unit.Plural(apart, "point"), passed, total)
	case unverified > 0:
		o.Validity = fmt.Sprintf("UNVERIFIED: the server does not report the data for %s; %d of %d checks passed",
			unit.Plural(unverified, "check"), passed, total)
	case total == 0:
		o.Validity = "UNCHECKED: no check applies to any row"
	case passed == 0:
		o.Validity = fmt.Sprintf("UNCHECKED: none of %d checks was possible", total)
	default:
		o.Valid = true
		o.Validity = fmt.Sprintf("VALID, %d of %d checks passed", passed, total)
	}
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

// collectFindings groups the findings of the rows and of points whose repeats differ by code.
func (o *Outcome) collectFindings(rows []record.Row) {
	add := func(row string, findings []record.Finding) {
		for _, d := range findings {
			i := slices.IndexFunc(o.Findings, func(x Finding) bool { return x.Code == d.Code })
			if i < 0 {
				i = len(o.Findings)
				o.Findings = append(o.Findings, Finding{Code: d.Code})
			}
			o.Findings[i].Cases = append(o.Findings[i].Cases, Flagged{row, d.Text, d.Hint})
		}
	}
	for _, r := range rows {
		add(r.ID, r.Findings)
	}
	o.Each(func(s *series.Series, p *series.Point) { add(s.PointName(p), p.Findings) })
}

// ValidityOf is a row's validity in words: "VALID, 9 of 11 checks passed".
func ValidityOf(v record.Checks) string {
	switch {
	case len(v.Failed) > 0:
		return fmt.Sprintf("INVALID, %d of %d checks failed", len(v.Failed), v.Total())
	case !v.Valid():
		return "UNVERIFIED: " + strings.Join(v.Unverified, ", ")
	}
	return fmt.Sprintf("VALID, %d of %d checks passed", len(v.Passed), v.Total())
}
