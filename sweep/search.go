package sweep

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/workload"
	"bench/sweep/strict"
)

func (x *expander) extractSearch(merged map[string]any) {
	for _, axis := range []string{"rate", "concurrency"} {
		table, ok := merged[axis].(map[string]any)
		if !ok {
			continue
		}
		if x.search != nil {
			x.bad(x.place(axis), "the row searches for both a rate and a concurrency",
				"write a number for one of them; a list runs one search per value")
			delete(merged, axis)
			continue
		}
		k := &experiment.Search{Axis: axis, Tolerance: experiment.DefaultTolerance}
		k.Min, k.Max = k.Bounds()
		k.Open = table["min"] == nil || table["max"] == nil
		x.search = k
		bad := func(path, text, hint string) { x.bad(x.place(strict.Join(axis, path)), text, hint) }
		strict.Decode(table, k, func(path, text, hint string) {
			x.search = nil // else the checks would report the same mistake again
			bad(path, text, hint)
		})
		checkZero(table, "budget", bad)
		low := k.Min
		if k.Open {
			low = max(k.Min, min(1, k.Max))
		}
		merged[axis] = low
		if axis == "concurrency" {
			merged[axis] = int64(min(max(low, 1), math.MaxUint16))
		} else if !(low >= 1e-4 && low <= 1e6) { // its check reports a wrong value
			merged[axis] = 1.0
		}
	}
}

// toProbe turns a point into the first probe of the row's search, and checks it at the highest load too. longest is
// the row's duration; 0 = none is written.
func (x *expander) toProbe(p *experiment.Spec, longest workload.Span, found func(path, text, hint string)) {
	if x.search == nil {
		return
	}
	k := *x.search
	k.Longest, k.First = longest, p.Warmup.Time
	p.Repeats = 0
	p.Search = &k
	p.Point = append(p.Point, experiment.Axis{Key: k.Axis})
	first := experiment.Probe{Load: k.LoadOf(p)}
	if k.Min > 0 && k.Max > k.Min { // its check reports another range
		if at, ok := series.NextProbe(&k, nil, nil, 0); ok {
			first = at
		}
	}
	*p = p.ProbeAt(first, 1)
	p.Check(found)
	if err := series.Twinned(p); k.Gentle && err != nil {
		found(k.Axis+".gentle", "a gentle search is answered by a twin: "+err.Error(), "remove gentle")
	}
	if k.Max > k.Min && k.Max <= 1e6 && !k.Open {
		high := p.ProbeAt(experiment.Probe{Load: k.Max}, 1)
		high.Check(found)
	}
}

// defaultWindow stands for the windows that the search chooses until its first probe is known.
const defaultWindow = workload.Span(30 * time.Second)

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

// probes reads the finished probes of a search that counts accepts, in the order in which they ran.
func (d directory) probes(first *experiment.Spec,
	counts func(*experiment.Spec, *record.Row) bool) ([]*record.Row, error) {
	ids, err := d.rowIDs()
	if err != nil {
		return nil, err
	}
	k := first.Search
	var out []*record.Row
	for _, id := range ids {
		if !strings.HasPrefix(id, escape(first.Name)+",") {
			continue
		}
		row, ok := d.row(id)
		if !ok || !(k.LoadOf(&row.Spec) >= k.Min && k.LoadOf(&row.Spec) <= k.Max) {
			continue
		}
		if s := first.ProbeAt(k.ProbeOf(&row.Spec), row.Spec.Repeat); ID(&s) == id && counts(&s, row) {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b *record.Row) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// probesOf returns a point itself or, if it is a search, its finished probes and the next one.
func (r *run) probesOf(s *experiment.Spec, picked bool) ([]experiment.Spec, error) {
	if s.Search == nil {
		return []experiment.Spec{*s}, nil
	}
	rows, err := r.reusableProbes(s, picked)
	if err != nil {
		return nil, err
	}
	k := &searching{first: s, rows: rows, picked: picked, run: r}
	var out []experiment.Spec
	for _, row := range rows {
		out = append(out, s.ProbeAt(s.Search.ProbeOf(&row.Spec), row.Spec.Repeat))
	}
	if p, more := k.next(); more {
		out = append(out, p)
	}
	for i := range out {
		r.specs[ID(&out[i])], r.searches[ID(&out[i])] = &out[i], k
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
		id := ID(&p)
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
	id := ID(&p)
	if slices.ContainsFunc(r.todo[r.next+1:], func(t record.Planned) bool { return t.ID == id }) {
		return nil // planned already: the rows of a changed server run again
	}
	r.specs[id], r.searches[id] = &p, k
	planned := record.Planned{ID: id, Name: p.Name, SpecHash: r.hash(&p), State: "planned"}
	r.todo = slices.Insert(r.todo, r.next+1, planned)
	at := slices.IndexFunc(r.manifest.Plan, func(t record.Planned) bool { return t.ID == row.ID })
	r.manifest.Plan = slices.Insert(r.manifest.Plan, at+1, planned)
	return nil
}

func (k *searching) found() record.Found {
	return series.SearchResult(k.first.Search, k.first, k.rows, k.twin(), k.beat, false)
}

// reusableProbes are the finished probes of a search that the run keeps; tell: it notes the others as changed.
func (r *run) reusableProbes(s *experiment.Spec, tell bool) ([]*record.Row, error) {
	return r.dir.probes(s, func(s *experiment.Spec, row *record.Row) bool {
		ok := r.reusable(row, r.hash(s))
		if tell {
			r.findChanged(s, ok)
		}
		return ok
	})
}

// restartSearches drops the probes of a variant: they ran on another server.
func (r *run) restartSearches(variant string) {
	for _, k := range r.searches {
		if k.first.Variant == variant {
			k.rows, k.fitted, k.of = nil, nil, 0
		}
	}
}

// found is the state of all searches with a probe, in the order of the plan.
func (r *run) found() []record.Found {
	var out []record.Found
	seen := map[*searching]bool{}
	for _, p := range r.manifest.Plan {
		if k := r.searches[p.ID]; k != nil && !seen[k] && len(k.rows) > 0 {
			seen[k] = true
			out = append(out, k.found())
		}
	}
	return out
}

// incomplete reports whether a point has no result, or a search has not ended, whatever their specs were.
func (r *run) incomplete(s *experiment.Spec) bool {
	if s.Search == nil {
		_, there := r.dir.row(ID(s))
		return !there
	}
	rows, err := r.dir.probes(s, func(*experiment.Spec, *record.Row) bool { return true })
	if err != nil {
		return true
	}
	_, more := (&searching{first: s, rows: rows, run: r}).next()
	return more
}
