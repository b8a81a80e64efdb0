package diagnosis

import (
	"fmt"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
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
