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

func (o *Outcome) judgeValidity(rows []record.Row, missing []string) {
	checks := record.Checks{}
	var invalid, disturbed int
	for i := range rows {
		r := &rows[i]
		if series.Overshoots(r) {
			continue
		}
		checks.Passed = append(checks.Passed, r.Checks.Passed...)
		checks.Failed = append(checks.Failed, r.Checks.Failed...)
		checks.NotPossible = append(checks.NotPossible, r.Checks.NotPossible...)
		checks.Unverified = append(checks.Unverified, r.Checks.Unverified...)
		switch {
		case !r.Valid():
			invalid++
		case len(r.Codes(record.Caution)) > 0:
			disturbed++
		}
	}
	passed, total := len(checks.Passed), checks.Total()
	cautions := o.cautionsText(disturbed, len(rows))
	switch {
	case len(rows) == 0:
		o.Validity = "INVALID: no row has a result"
	case invalid > 0:
		o.Validity = fmt.Sprintf("INVALID: %d of %s left out of answers (%s)%s",
			invalid, unit.Plural(len(rows), "row"), strings.Join(o.codes(record.Invalid), ", "), cautions)
	case len(missing) > 0:
		o.Validity = fmt.Sprintf("INCOMPLETE: %s without a result; in the others %d of %d checks passed%s",
			unit.Plural(len(missing), "planned row"), passed, total, cautions)
	case total == 0:
		o.Validity = "UNCHECKED: no check applies to any row"
	case passed == 0:
		o.Validity = fmt.Sprintf("UNCHECKED: none of %d checks was possible", total)
	default:
		o.Valid = true
		o.Validity = fmt.Sprintf("VALID, %d of %d checks passed%s", passed, total, cautions)
	}
}

// cautionsText counts the rows and points with cautions; empty: there are none.
func (o *Outcome) cautionsText(disturbed, rows int) string {
	text := ""
	if disturbed > 0 {
		text = fmt.Sprintf("; cautions in %d of %s", disturbed, unit.Plural(rows, "row"))
	}
	apart := 0
	o.Each(func(_ *series.Series, p *series.Point) {
		if len(p.Findings) > 0 {
			apart++
		}
	})
	if apart > 0 {
		text += "; repeats differ beyond chance at " + unit.Plural(apart, "point")
	}
	return text
}

// codes are the codes of a severity.
func (o *Outcome) codes(s record.Severity) []string {
	var codes []string
	for _, d := range o.Findings {
		if d.Severity == s {
			codes = append(codes, d.Code)
		}
	}
	return codes
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

// collectFindings groups the findings of the rows and of points whose repeats differ by severity and code.
func (o *Outcome) collectFindings(rows []record.Row) {
	for _, severity := range []record.Severity{record.Invalid, record.Caution, record.Note} {
		first := len(o.Findings)
		add := func(row string, findings []record.Finding) {
			for _, d := range findings {
				if d.Severity != severity {
					continue
				}
				i := slices.IndexFunc(o.Findings[first:], func(x Finding) bool { return x.Code == d.Code })
				if i < 0 {
					i = len(o.Findings) - first
					o.Findings = append(o.Findings, Finding{Code: d.Code, Severity: severity})
				}
				o.Findings[first+i].Cases = append(o.Findings[first+i].Cases, Flagged{row, d.Text, d.Hint})
			}
		}
		for _, r := range rows {
			add(r.ID, r.Findings)
		}
		o.Each(func(s *series.Series, p *series.Point) { add(s.PointName(p), p.Findings) })
	}
}

// ValidityOf is a row's validity in words: "INVALID: errors", "VALID, 2 cautions", "VALID, 9 of 11 checks
// passed".
func ValidityOf(r *record.Row) string {
	if codes := r.Codes(record.Invalid); len(codes) > 0 {
		return "INVALID: " + strings.Join(codes, ", ")
	}
	if n := len(r.Codes(record.Caution)); n > 0 {
		return "VALID, " + unit.Plural(n, "caution")
	}
	return fmt.Sprintf("VALID, %d of %d checks passed", len(r.Checks.Passed), r.Checks.Total())
}
