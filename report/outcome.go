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

// Outcome is what a run says, in data and in words: every renderer and the exit code take it from here.
type Outcome struct {
	Verdict  stats.Verdict `json:"verdict"`      // over all points; empty: no SLO is stated
	SLO      string        `json:"slo"`          // the verdict in words
	Need     int           `json:"need"`         // most further requests that a point needs for a decision
	Valid    bool          `json:"valid"`        // a check passed, none failed, and no planned row is missing
	Validity string        `json:"validity"`     // in words, with the counts of checks
	Accepted *Accepted     `json:"accepted"`     // null: no point is valid and passes
	Advice   string        `json:"accepted_why"` // why that point; without one, what is missing
	Findings []Finding     `json:"findings"`     // by kind

	Series    []series.Series       `json:"series"`
	Diagnoses []diagnosis.Diagnosis `json:"diagnoses"` // of every point, those to act on first
	Decision  diagnosis.Decision    `json:"decision"`
}

// Accepted is the operating point of the highest throughput that is valid and meets the SLO.
type Accepted struct {
	Series int    `json:"series"` // index in the run's series
	Point  int    `json:"point"`  // index in the series' points
	Text   string `json:"text"`   // its name, throughput and p99s
}

// Finding is one kind of finding with the rows that have it.
type Finding struct {
	Code  string    `json:"code"`
	Cases []Flagged `json:"cases"`
}

// Doubted is one row's finding.
type Flagged struct {
	Row  string `json:"row"` // its id; of repeats that differ, the name of the point
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Outcome judges the run as a whole. Removed rows count for nothing.
func (r *Run) Outcome() Outcome {
	rows := r.Live()
	o := Outcome{Series: series.SeriesOf(rows), Findings: []Finding{}}
	o.collectFindings(rows)
	o.judgeSLO(len(r.Missing), r.Manifest.Searches)
	o.judgeValidity(rows, r.Missing)
	o.accept()
	o.Diagnoses = diagnosis.Diagnose(o.Series)
	o.Decision = diagnosis.Decide(&r.Manifest, o.Series, o.Diagnoses, r.Missing)
	return o
}

func (o *Outcome) judgeSLO(missing int, searches []record.Found) {
	count := map[stats.Verdict]int{}
	total := 0
	for _, f := range searches { // each is one point: the one that it looks for
		count[f.Verdict()]++
		total++
	}
	for _, s := range o.Series {
		for _, p := range s.Points {
			if p.Rows[0].Spec.Search != nil {
				continue
			}
			count[p.SLO]++
			total++
			o.Need = max(o.Need, p.Need)
		}
	}
	if count[""] == total {
		o.SLO = "no SLO is stated: nothing to meet"
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
	parts := []string{fmt.Sprintf("%d of %s", count[stats.Pass], plural(total-count[""], "point meets the SLO", "points meet the SLO"))}
	if n := count[stats.Fail]; n > 0 {
		parts = append(parts, plural(n, "fails", "fail"))
	}
	if n := count[stats.Undecided]; n > 0 {
		text := plural(n, "is undecided", "are undecided")
		if o.Need > 0 {
			text += fmt.Sprintf(" (need up to %s more requests)", unit.Count(o.Need))
		}
		parts = append(parts, text)
	}
	if missing > 0 {
		parts = append(parts, plural(missing, "planned row has no result", "planned rows have no result"))
	}
	o.SLO = strings.Join(parts, ", ")
}

func (o *Outcome) judgeValidity(rows []record.Row, missing []string) {
	passed, failed, impossible, invalid, unverified := 0, 0, 0, 0, 0
	for _, r := range rows {
		if series.Beyond(&r) {
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
	o.each(func(_ *series.Series, p *series.SeriesPoint) {
		if len(p.Findings) > 0 {
			apart++
		}
	})
	total := passed + failed + impossible + unverified
	switch {
	case len(rows) == 0:
		o.Validity = "INVALID: no row has a result"
	case invalid > 0:
		o.Validity = fmt.Sprintf("INVALID: %d of %s a failed check; %s of %s checks failed, %s not possible",
			invalid, plural(len(rows), "row has", "rows have"), unit.Count(failed), unit.Count(total), unit.Count(impossible))
	case len(missing) > 0:
		o.Validity = fmt.Sprintf("INCOMPLETE: %s no result; the others: %d of %d checked",
			plural(len(missing), "planned row has", "planned rows have"), passed, total)
	case apart > 0:
		o.Validity = fmt.Sprintf("INVALID: the repeats of %s differ by more than each explains; %d of %d checked", plural(apart, "point", "points"), passed, total)
	case unverified > 0:
		o.Validity = fmt.Sprintf("UNVERIFIED: the server does not tell what %s on; %d of %d checked", plural(unverified, "row rests", "rows rest"), passed, total)
	case total == 0:
		o.Validity = "UNCHECKED: every row is a probe of a search that says nothing, went too far, or looks for a knee"
	case passed == 0:
		o.Validity = fmt.Sprintf("UNCHECKED: none of %d checks was possible", total)
	default:
		o.Valid = true
		o.Validity = fmt.Sprintf("VALID, %d of %d checked", passed, total)
	}
}

// accept picks the point to run at, or says what is missing for one.
func (o *Outcome) accept() {
	undecided, flagged := "", ""
	need := 0
	if s, p, ok := diagnosis.Accept(o.Series); ok {
		o.Accepted = &Accepted{s, p, pointSentence(&o.Series[s], &o.Series[s].Points[p])}
	}
	for i := range o.Series {
		s := &o.Series[i]
		for j := range s.Points {
			p := &s.Points[j]
			switch {
			case p.SLO == stats.Pass && !p.Valid && flagged == "":
				flagged = pointName(s, p)
			case p.SLO == stats.Undecided && p.Need > 0 && (need == 0 || p.Need < need):
				need, undecided = p.Need, pointName(s, p)
			}
		}
	}
	switch {
	case o.Accepted != nil:
		o.Advice = "the highest output throughput of all points that are valid and meet the SLO"
	case o.Verdict == "":
		o.Advice = "no SLO is stated, so no point can be accepted"
	case flagged != "":
		o.Advice = fmt.Sprintf("no valid point passes: %s meets the SLO, but its row is doubted (see Findings)", flagged)
	case undecided != "":
		o.Advice = fmt.Sprintf("no point passes yet; nearest to a decision: %s needs %s more requests", undecided, unit.Count(need))
	default:
		o.Advice = "no point is valid and meets the SLO"
	}
}

// acceptable says that a point meets its SLO and is valid.
func acceptable(p *series.SeriesPoint) bool { return p.SLO == stats.Pass && p.Valid }

// pointName is a point as people read it: "D-saturation, concurrency 8".
func pointName(s *series.Series, p *series.SeriesPoint) string {
	return s.PointName(p)
}

func pointSentence(s *series.Series, p *series.SeriesPoint) string {
	parts := []string{unit.Format(p.OutputTokensPerS.Median, "output tok/s")}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		if l, ok := p.Latency(metric).Get("p99"); ok {
			parts = append(parts, fmt.Sprintf("%s p99 %s", metric, l))
		}
	}
	return fmt.Sprintf("%s: %s", pointName(s, p), strings.Join(parts, ", "))
}

// collectDoubts groups the findings of the rows, and of their repeats together, by code.
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
	o.each(func(s *series.Series, p *series.SeriesPoint) { add(pointName(s, p), p.Findings) })
}

// ValidityOf is a row's validity in words: "VALID, 9 of 11 checked".
func ValidityOf(v record.Checks) string {
	switch {
	case len(v.Failed) > 0:
		return fmt.Sprintf("INVALID, %d of %d failed", len(v.Failed), v.Total())
	case !v.Valid():
		return "UNVERIFIED: " + strings.Join(v.Unverified, ", ")
	}
	return fmt.Sprintf("VALID, %d of %d checked", len(v.Passed), v.Total())
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return unit.Count(n) + " " + many
}
