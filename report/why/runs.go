package why

import (
	"fmt"

	"bench/experiment/record"
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
		x, errA := sideOf(a, &mine)
		y, errB := sideOf(b, other)
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

func sideOf(run *report.Run, s *series.Series) (*Side, error) {
	var rows []*record.Row
	for i := range s.Points {
		rows = append(rows, s.Points[i].Rows...)
	}
	return SideOf(rows, run.Manifest.Target.Slots(), run.Requests)
}
