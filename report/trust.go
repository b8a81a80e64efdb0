package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
)

// shownDoubts is how many kinds of findings the first screen has room for.
const shownFindings = 3

// validityFact has the findings of the point that is quoted first: they matter most.
func (o *Outcome) validityFact(notStated []string) fact {
	lead, rest := o.Validity, ""
	if i := strings.IndexAny(lead, ":,"); i > 0 {
		lead, rest = lead[:i], strings.TrimSpace(lead[i+1:])
	}
	f := fact{Head: "Validity", Lead: lead, Kind: failed}
	if o.Valid {
		f.Kind = passed
	}
	if rest != "" {
		f.Lines = []string{rest}
	}
	findings := o.findingsThatMatter()
	if len(findings) > 0 {
		f.Table = "findings"
	}
	for i, d := range findings {
		if i == shownFindings {
			f.Lines = append(f.Lines, plural(len(findings)-i, "more kind of finding", "more kinds of findings"))
			break
		}
		f.Lines = append(f.Lines, fmt.Sprintf("%s (%s): %s", d.Code, plural(len(d.Cases), "row", "rows"), d.Cases[0].Text))
	}
	if len(notStated) > 0 {
		f.Lines = append(f.Lines, "not stated: "+strings.Join(notStated, ", "))
	}
	return f
}

// doubtsThatMatter are all kinds of findings, those of the quoted point before the others, with its case first.
func (o *Outcome) findingsThatMatter() []Finding {
	s, p := o.focus()
	mine := func(c Flagged) bool {
		return p != nil && (c.Row == pointName(s, p) || slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.ID == c.Row }))
	}
	var first, others []Finding
	for _, d := range o.Findings {
		i := slices.IndexFunc(d.Cases, mine)
		if i < 0 {
			others = append(others, d)
			continue
		}
		d.Cases = slices.Concat(d.Cases[i:i+1], d.Cases[:i], d.Cases[i+1:])
		first = append(first, d)
	}
	return append(first, others...)
}
