package compare

import "bench/experiment/record"

// unmeasured are points that the side's matrix has, with the reason why it has no row. Without a plan, as of another
// tool, no point is known to be gone.
func unmeasured(s Side, names []string) (reasons map[string]string) {
	planned, known := map[string]string{}, false
	for i := range s.Runs {
		m := &s.Runs[i].Manifest
		known = known || len(m.Plan) > 0
		for j := range m.Plan {
			if why := whyWithoutRow(&m.Plan[j], m.State); why != "" {
				planned[m.Plan[j].Label()] = why
			}
		}
	}
	for _, name := range names {
		why := planned[name]
		if !known {
			why = "missing in new"
		}
		if why != "" {
			if reasons == nil {
				reasons = map[string]string{}
			}
			reasons[name] = why
		}
	}
	return reasons
}

// skippedInNew begins the reason of a point that new left out by intent.
const skippedInNew = "skipped in new: "

// whyWithoutRow is why a planned row has no result; empty: it is no longer in the matrix.
func whyWithoutRow(p *record.Planned, run string) string {
	switch {
	case p.State == record.StateRemoved:
		return ""
	case p.State == record.StateSkipped:
		return skippedInNew + p.Reason
	case p.Error != "":
		return "failed in new: " + p.Error
	case p.State == "done":
		return "the result is missing in new"
	case run == "interrupted":
		return "not run: new was interrupted"
	}
	return "not run in new"
}
