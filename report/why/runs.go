package why

import (
	"fmt"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/report"
)

func All(string) bool { return true }

// Of explains the points that two runs have in common and that are asked for, workload by workload.
func Of(a, b *report.Run, asked func(point string) bool) *Result {
	r := &Result{Schema: Schema, A: a.Dir, B: b.Dir, Rows: []Row{}}
	if a.Manifest.Target.Facts() != nil {
		r.Facts = b.Manifest.Target.Changes(&a.Manifest.Target)
	}
	r.Facts = append(r.Facts, b.Manifest.Target.SurroundingChanges(&a.Manifest.Target)...)
	r.GPUs = gpuChanges(a, b, asked)
	others := map[string]*series.Series{}
	all := series.FromRows(b.Live())
	for i := range all {
		others[all[i].Label()] = &all[i]
	}
	for _, mine := range series.FromRows(a.Live()) {
		name := mine.Label()
		other := others[name]
		delete(others, name)
		if !slices.ContainsFunc(mine.Rows(), func(r *record.Row) bool { return asked(r.Spec.Label()) }) {
			continue
		}
		if other == nil {
			r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: only in %s", name, a.Dir))
			continue
		}
		x, errA := SideOf(&mine, a.Manifest.Slots(), a.Requests)
		y, errB := SideOf(other, b.Manifest.Slots(), b.Requests)
		for _, err := range []error{errA, errB} {
			if err != nil {
				r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: no twin: %v", name, err))
			}
		}
		if errA == nil && errB == nil {
			rows, leftOut := Explain(x, y, asked)
			r.Rows, r.LeftOut = append(r.Rows, rows...), append(r.LeftOut, leftOut...)
			if len(rows)+len(leftOut) == 0 {
				r.LeftOut = append(r.LeftOut, name+": the runs have no load in common")
			}
		}
	}
	for i := range all {
		if name := all[i].Label(); others[name] != nil {
			r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: only in %s", name, b.Dir))
		}
	}
	return r
}
