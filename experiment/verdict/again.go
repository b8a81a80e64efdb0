package verdict

import (
	"cmp"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
)

// Again concludes a stored row again from its records; what these do not show is the stored row's.
func Again(stored *record.Row, records []*record.Record, t experiment.Target, b record.RooflineSource) *record.Row {
	row := *stored
	e := Measured{Row: &row, Records: records}
	if e.Reuse == nil { // the rules for counters have changed
		e.Reuse = e.CompareReuse()
	}
	return e.again(stored, t, b)
}

// UnderLimits concludes a stored row again under other limits, those of its spec now: figures but goodput stay.
func UnderLimits(stored *record.Row, records []*record.Record, t experiment.Target) *record.Row {
	row := *stored
	e := Measured{Row: &row, Records: records, stored: stored}
	return e.again(stored, t, record.RooflineSource{})
}

func (e *Measured) again(stored *record.Row, t experiment.Target, b record.RooflineSource) *record.Row {
	e.Classes = nil // Conclude fills the map
	e.Conclude(t, b)
	if stored.Observed {
		e.keepRecorded(stored)
	}
	return e.Row
}

// keepRecorded keeps what the recorder of live traffic found, which no request shows.
func (e *Measured) keepRecorded(stored *record.Row) {
	again := slices.Clone(e.Findings)
	for _, f := range stored.Findings {
		if inOrder(f.Code, "") == 0 && !slices.ContainsFunc(again,
			func(x record.Finding) bool { return x.Code == f.Code }) {
			e.Findings = append(e.Findings, f)
		}
	}
	record.SortFindings(e.Findings)
}

func inOrder(a, b string) int {
	place := func(code string) int {
		for i := range checks {
			if checks[i].code == code {
				return i
			}
		}
		return len(checks)
	}
	return cmp.Compare(place(a), place(b))
}
