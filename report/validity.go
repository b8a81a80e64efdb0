package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

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

// judgeValidity sets whether the run is valid, and the words for it.
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

// shownFindings is the number of finding codes that the validity card lists.
const shownFindings = 3

// validityCard lists the findings of the headline point first.
func (o *Outcome) validityCard(notSpecified []string) Card {
	lead, rest := o.Validity, ""
	if i := strings.IndexAny(lead, ":,"); i > 0 {
		lead, rest = lead[:i], strings.TrimSpace(lead[i+1:])
	}
	card := Card{Head: "Validity", Lead: lead, Kind: Failed}
	switch {
	case o.Valid && len(o.codes(record.Caution)) > 0:
		card.Kind = Undecided
	case o.Valid:
		card.Kind = Passed
	}
	if rest != "" {
		card.Lines = []string{rest}
	}
	findings := o.orderedFindings()
	if len(o.Findings) > 0 {
		card.Table = "findings"
	}
	for i, d := range findings {
		if i == shownFindings {
			card.Lines = append(card.Lines, unit.Plural(len(findings)-i, "more finding code"))
			break
		}
		card.Lines = append(card.Lines, fmt.Sprintf("%s %s (%s): %s", d.Severity, d.Code, unit.Plural(len(d.Cases), "row"), d.Cases[0].Text))
	}
	if len(notSpecified) > 0 {
		card.Lines = append(card.Lines, "not specified: "+strings.Join(notSpecified, ", "))
	}
	return card
}

// orderedFindings are all findings but the notes: invalid ones before cautions, within a severity those of the
// headline point first, each with its case first.
func (o *Outcome) orderedFindings() []Finding {
	s, p := o.HeadlinePoint()
	mine := func(c Flagged) bool {
		return p != nil && (c.Row == s.PointName(p) || slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.ID == c.Row }))
	}
	var out []Finding
	for _, severity := range []record.Severity{record.Invalid, record.Caution} {
		var others []Finding
		for _, d := range o.Findings {
			if d.Severity != severity {
				continue
			}
			i := slices.IndexFunc(d.Cases, mine)
			if i < 0 {
				others = append(others, d)
				continue
			}
			d.Cases = slices.Concat(d.Cases[i:i+1], d.Cases[:i], d.Cases[i+1:])
			out = append(out, d)
		}
		out = append(out, others...)
	}
	return out
}
