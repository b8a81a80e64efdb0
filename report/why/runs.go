package why

import (
	"fmt"

	"bench/experiment/series"
	"bench/report"
)

// Of explains the rows that two runs have in common, workload by workload.
func Of(a, b *report.Run) (*Result, error) {
	r := &Result{Schema: Schema, A: a.Dir, B: b.Dir, Rows: []Row{}}
	if a.Manifest.Target.Facts() != nil {
		r.Facts = b.Manifest.Target.Changes(&a.Manifest.Target)
	}
	others := map[string]*series.Series{}
	all := series.FromRows(b.Live())
	for i := range all {
		others[all[i].Label()] = &all[i]
	}
	matched := 0
	for _, mine := range series.FromRows(a.Live()) {
		other := others[mine.Label()]
		if other == nil {
			continue
		}
		matched++
		x, errA := SideOf(&mine, a.Manifest.Target.Slots(), a.Requests)
		y, errB := SideOf(other, b.Manifest.Target.Slots(), b.Requests)
		if errA != nil || errB != nil {
			for _, err := range []error{errA, errB} {
				if err != nil {
					r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: no twin: %v", mine.Label(), err))
				}
			}
			continue
		}
		rows, leftOut := Explain(x, y)
		r.Rows, r.LeftOut = append(r.Rows, rows...), append(r.LeftOut, leftOut...)
	}
	if matched == 0 {
		return nil, fmt.Errorf("%s and %s have no row in common", a.Dir, b.Dir)
	}
	return r, nil
}
