package sweep

import (
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
)

type loadRan struct {
	variant string
	load    float64
	name    string // "rate 16/s"
	missed  bool   // every run of it misses the SLO for certain
}

// noteRan takes a finished row, and plans again what no longer has a reason to be skipped.
func (r *run) noteRan(row *record.Row) {
	key, load, ok := series.Key(&row.Spec)
	if !ok {
		return
	}
	missed := series.CertainMiss(row)
	loads := r.ran[key]
	if at := slices.IndexFunc(loads, func(l loadRan) bool { return l.load == load }); at >= 0 {
		loads[at].missed = loads[at].missed && missed
	} else {
		r.ran[key] = append(loads, loadRan{row.Spec.Variant, load, series.LoadName(&row.Spec), missed})
	}
	if !missed {
		r.planSkippedAgain(key)
	}
}

// forgetRan drops what the rows of a variant showed: they ran on another server.
func (r *run) forgetRan(variant string) {
	for key, loads := range r.ran {
		r.ran[key] = slices.DeleteFunc(loads, func(l loadRan) bool { return l.variant == variant })
	}
}

// beyond is why a row is skipped: the lowest load below its own that certainly misses the SLO; empty: it is to run.
func (r *run) beyond(s *experiment.Spec) (reason string) {
	key, load, ok := series.Key(s)
	if !ok || s.Run == experiment.RunAll {
		return ""
	}
	lowest := loadRan{load: load}
	for _, l := range r.ran[key] {
		if l.missed && l.load < lowest.load {
			lowest = l
		}
	}
	if lowest.name == "" {
		return ""
	}
	return "beyond the FAIL at " + lowest.name
}

func (r *run) skip(p record.Planned, s *experiment.Spec, reason string) error {
	at := slices.IndexFunc(r.manifest.Plan, func(q record.Planned) bool { return q.ID == p.ID })
	q := &r.manifest.Plan[at]
	q.State, q.Error, q.Skip, q.Reason, q.Point = record.StateSkipped, "", record.SkipBeyond, reason, s.Point
	if err := r.writeManifest(); err != nil {
		return err
	}
	r.Event(Event{Skipped: &RowEvent{Index: r.next + 1, Total: len(r.todo), Spec: s, ID: p.ID, Reason: reason}})
	return nil
}

// planSkippedAgain plans the skipped rows of a series that no load below certainly misses any more: another repeat of
// it did not.
func (r *run) planSkippedAgain(key string) {
	next := r.next + 1
	for i := range r.manifest.Plan {
		p := &r.manifest.Plan[i]
		s := r.specs[p.ID]
		if p.State != record.StateSkipped || s == nil || r.beyond(s) != "" {
			continue
		}
		passed := slices.ContainsFunc(r.todo[:next], func(t record.Planned) bool { return t.ID == p.ID })
		if own, _, _ := series.Key(s); own != key || !passed {
			continue
		}
		p.State, p.Skip, p.Reason, p.Point = "planned", "", "", nil
		r.todo = slices.Insert(r.todo, next, *p)
		next++
	}
}

// skippedBefore reports whether an earlier attempt skipped a point, and its row does not ask for every load.
func (r *run) skippedBefore(s *experiment.Spec) bool {
	id := ID(s)
	return s.Run != experiment.RunAll && slices.ContainsFunc(r.manifest.Plan, func(p record.Planned) bool {
		return p.ID == id && p.State == record.StateSkipped
	})
}
