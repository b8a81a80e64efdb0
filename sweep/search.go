package sweep

import (
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/sweep/matrix"
)

type searching struct {
	first  *experiment.Spec // its first probe, the one in the matrix
	rows   []*record.Row
	picked bool
	run    *run
	beat   float64 // load of another setting, which this one is to exceed; 0 = it is no challenger

	fitted *series.Twin // of the first probes; nil: none, or no model fits
	of     int          // number of these
}

// twin is the model of the server that was fitted to the probes so far; nil = none.
func (k *searching) twin() *series.Twin {
	if k.first.Search.Goal != experiment.GoalSLO || len(k.rows) == 0 {
		return nil
	}
	if k.of != len(k.rows) {
		k.of, k.fitted = len(k.rows), nil
		if t, err := series.FitTwin(k.rows, k.run.manifest.Slots(), k.run.dir.requests, nil); err == nil {
			t.Ask(k.first.Search)
			k.fitted = t
		}
	}
	return k.fitted
}

// probesOf returns a point itself or, if it is a search, its finished probes and the next one.
func (r *resumption) probesOf(s *experiment.Spec, picked bool) ([]experiment.Spec, error) {
	if s.Search == nil {
		return []experiment.Spec{*s}, nil
	}
	rows, err := r.reusableProbes(s, picked)
	if err != nil {
		return nil, err
	}
	k := &searching{first: s, rows: rows, picked: picked, run: r.run}
	var out []experiment.Spec
	for _, row := range rows {
		out = append(out, s.ProbeAt(s.Search.ProbeOf(&row.Spec), row.Spec.Repeat))
	}
	if p, more := k.next(); more {
		out = append(out, p)
	}
	for i := range out {
		r.specs[matrix.ID(&out[i])], r.searches[matrix.ID(&out[i])] = &out[i], k
	}
	return out, nil
}

// next is the next probe. more is false if the search is over.
func (k *searching) next() (p experiment.Spec, more bool) {
	if k.first.Search.Gentle {
		k.first.Search.Slots = k.run.manifest.Slots()
	}
	at, more := series.NextProbe(k.first.Search, k.rows, k.twin(), k.beat)
	if !more {
		return p, false
	}
	for repeat := 1; ; repeat++ {
		p = k.first.ProbeAt(at, repeat)
		id := matrix.ID(&p)
		if !slices.ContainsFunc(k.rows, func(r *record.Row) bool { return r.ID == id }) {
			return p, true
		}
	}
}

// planNextProbe plans the next probe after one that has just run. After the last probe it returns what the
// search found.
func (r *run) planNextProbe(row *record.Row) *record.Found {
	k := r.searches[row.ID]
	if k == nil || !k.picked {
		return nil
	}
	k.rows = append(k.rows, row)
	p, more := k.next()
	if !more {
		return new(k.found())
	}
	id := matrix.ID(&p)
	if slices.ContainsFunc(r.todo[r.next+1:], func(t record.Planned) bool { return t.ID == id }) {
		return nil // planned already: the rows of a changed server run again
	}
	r.specs[id], r.searches[id] = &p, k
	planned := r.dir.planned(&p)
	r.todo = slices.Insert(r.todo, r.next+1, planned)
	r.manifest.Plan = slices.Insert(r.manifest.Plan, r.indexOf(row.ID)+1, planned)
	return nil
}

func (k *searching) found() record.Found {
	return series.SearchResult(k.first.Search, k.first, k.rows, k.twin(), k.beat, false)
}

// reusableProbes are the finished probes of a search that the run keeps; tell: it notes the others as changed.
func (r *run) reusableProbes(s *experiment.Spec, tell bool) ([]*record.Row, error) {
	return r.dir.probes(s, func(s *experiment.Spec, row *record.Row) bool {
		ok := r.dir.reusable(row, r.dir.hash(s))
		if tell {
			r.findChanged(s, ok)
		}
		return ok
	})
}

// restartSearches drops the probes of a variant: they ran on another server.
func (a *agenda) restartSearches(variant string) {
	for _, k := range a.searches {
		if k.first.Variant == variant {
			k.rows, k.fitted, k.of = nil, nil, 0
		}
	}
}

// found is the state of all searches with a probe, in the order of the plan.
func (a *agenda) found() []record.Found {
	var out []record.Found
	seen := map[*searching]bool{}
	for _, p := range a.manifest.Plan {
		if k := a.searches[p.ID]; k != nil && !seen[k] && len(k.rows) > 0 {
			seen[k] = true
			out = append(out, k.found())
		}
	}
	return out
}

// incomplete reports whether a point has no result, or a search has not ended, whatever their specs were.
func (r *run) incomplete(s *experiment.Spec) bool {
	if s.Search == nil {
		_, there := r.dir.row(matrix.ID(s))
		return !there
	}
	rows, err := r.dir.probes(s, func(*experiment.Spec, *record.Row) bool { return true })
	if err != nil {
		return true
	}
	_, more := (&searching{first: s, rows: rows, run: r}).next()
	return more
}
