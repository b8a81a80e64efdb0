package sweep

import (
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/sweep/matrix"
)

type loadRan struct {
	variant string
	load    float64
	name    string // "rate 16/s"
	missed  bool   // every run of it misses the SLO for certain
}

// loadsRan are the loads that ran, by series.
type loadsRan map[string][]loadRan

// note takes a finished row; missed: it misses the SLO for certain. key is empty of a row without a series.
func (all loadsRan) note(row *record.Row) (key string, missed bool) {
	key, load, ok := series.Key(&row.Spec)
	if !ok {
		return "", false
	}
	missed = series.CertainMiss(row)
	loads := all[key]
	if at := slices.IndexFunc(loads, func(l loadRan) bool { return l.load == load }); at >= 0 {
		loads[at].missed = loads[at].missed && missed
	} else {
		all[key] = append(loads, loadRan{row.Spec.Variant, load, series.LoadName(&row.Spec), missed})
	}
	return key, missed
}

// forget drops what the rows of a variant showed: they ran on another server.
func (all loadsRan) forget(variant string) {
	for key, loads := range all {
		all[key] = slices.DeleteFunc(loads, func(l loadRan) bool { return l.variant == variant })
	}
}

// beyond is why a row is skipped: the lowest load below its own that certainly misses the SLO; empty: it is to run.
func (all loadsRan) beyond(s *experiment.Spec) (reason string) {
	key, load, ok := series.Key(s)
	if !ok || s.Run == experiment.RunAll {
		return ""
	}
	lowest := loadRan{load: load}
	for _, l := range all[key] {
		if l.missed && l.load < lowest.load {
			lowest = l
		}
	}
	if lowest.name == "" {
		return ""
	}
	return "beyond the FAIL at " + lowest.name
}

// noteRan takes a finished row, and plans again what no longer has a reason to be skipped.
func (r *run) noteRan(row *record.Row) {
	if key, missed := r.ran.note(row); key != "" && !missed {
		r.planSkippedAgain(key, r.ran)
	}
}

func (r *run) skip(e RowEvent) error {
	p := r.planned(e.ID)
	p.State, p.Error, p.Skip, p.Reason, p.Point = record.StateSkipped, "", record.SkipBeyond, e.Reason, e.Spec.Point
	if err := r.writeManifest(); err != nil {
		return err
	}
	r.Event(Event{Skipped: &e})
	return nil
}

// planSkippedAgain plans the skipped rows of a series that no load below certainly misses any more: another repeat of
// it did not.
func (a *agenda) planSkippedAgain(key string, ran loadsRan) {
	next := a.next + 1
	for i := range a.manifest.Plan {
		p := &a.manifest.Plan[i]
		s := a.specs[p.ID]
		if p.State != record.StateSkipped || s == nil || ran.beyond(s) != "" {
			continue
		}
		passed := slices.ContainsFunc(a.todo[:next], func(t record.Planned) bool { return t.ID == p.ID })
		if own, _, _ := series.Key(s); own != key || !passed {
			continue
		}
		p.State, p.Skip, p.Reason, p.Point = "planned", "", "", nil
		a.todo = slices.Insert(a.todo, next, *p)
		next++
	}
}

// skippedBefore reports whether an earlier attempt skipped a point, and its row does not ask for every load.
func (a *agenda) skippedBefore(s *experiment.Spec) bool {
	id := matrix.ID(s)
	return s.Run != experiment.RunAll && slices.ContainsFunc(a.manifest.Plan, func(p record.Planned) bool {
		return p.ID == id && p.State == record.StateSkipped
	})
}
