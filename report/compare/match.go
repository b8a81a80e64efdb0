package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
)

type sample struct {
	run    *Run
	row    *record.Row
	window []*record.Record // the completed requests of the window by arrival; nil before load or without records
	// sessionTimes are those of the completed sessions by arrival, s; nil likewise.
	sessionTimes []float64

	resamples map[string]*stats.Resample // by latency, as resample makes them
}

type pair struct {
	name          string
	base, changed []sample
	nights        []sample // before changed, with those of base: they show the spread between runs; nil: base does
	class         string   // of a mix; empty: all requests
	parts         bool     // both sides are parts of one run
}

func (p pair) recordBytes() (size int64) {
	for _, s := range slices.Concat(p.base, p.changed) {
		size += s.row.RecordBytes()
	}
	return size
}

// match pairs points by name and axes, then the others by workload: a renamed row finds its counterpart. Among nights
// it begins a new base, as what their gates found goes by name.
func match(base, changed Side, nights []Run) (pairs []pair, missing, added []string) {
	old, oldOrder := points(base)
	before, _ := points(Side{Runs: nights})
	parts := areParts(base, changed)
	now, nowOrder := points(changed)
	renamed := map[string]string{} // workload → the point in base
	for _, name := range oldOrder {
		if now[name] == nil && len(nights) == 0 {
			renamed[workloadKey(&old[name][0].row.Spec)] = name
		}
	}
	taken := map[string]bool{}
	// two files: they are compared whatever their points are called
	if len(oldOrder) == 1 && len(nowOrder) == 1 && len(nights) == 0 {
		renamed[workloadKey(&now[nowOrder[0]][0].row.Spec)] = oldOrder[0]
	}
	for _, name := range nowOrder {
		from := name
		if old[name] == nil {
			from = renamed[workloadKey(&now[name][0].row.Spec)]
		}
		if from == "" || taken[from] {
			added = append(added, name)
			continue
		}
		taken[from] = true
		p := pair{name, old[from], now[name], before[from], "", parts}
		if from != name {
			p.name = fmt.Sprintf("%s (was %s)", name, from)
		}
		pairs = append(pairs, p)
	}
	for _, name := range oldOrder {
		if !taken[name] {
			missing = append(missing, name)
		}
	}
	return pairs, missing, added
}

// points groups the rows of a side by point; the names are in the order of their first rows.
func points(s Side) (map[string][]sample, []string) {
	found := map[string][]sample{}
	var order []string
	for i := range s.Runs {
		r := &s.Runs[i]
		for j := range r.Rows {
			name := r.Rows[j].Spec.Label()
			if found[name] == nil {
				order = append(order, name)
			}
			found[name] = append(found[name], sample{run: r, row: &r.Rows[j]})
		}
	}
	return found, order
}

func workloadKey(s *experiment.Spec) string {
	var b strings.Builder
	flat := flatten(s)
	for _, key := range sortedKeys(flat) {
		if !sizesOnly(key) {
			fmt.Fprintf(&b, "%s=%s\n", key, flat[key])
		}
	}
	return b.String()
}

// load adds the requests. A sample whose requests cannot be read stays without them: its spread is that of its summary.
func load(samples []sample) (out []sample, failed error) {
	out = slices.Clone(samples)
	for i := range out {
		s := &out[i]
		if s.run.Records == nil {
			continue
		}
		records, err := s.run.Records(s.row)
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("reading the requests of %s, %s: %w", s.run.Name, s.row.ID, err))
			continue
		}
		if s.row.Sessions != nil {
			s.sessionTimes = record.SessionTimes(records)
		}
		for _, r := range records {
			if r.Phase == record.PhaseWindow && r.OK() {
				s.window = append(s.window, r)
			}
		}
		slices.SortStableFunc(s.window, func(a, b *record.Record) int {
			x, _ := a.Arrival.Get()
			y, _ := b.Arrival.Get()
			return cmp.Compare(x, y)
		})
	}
	return out, failed
}

// resample is the sample's requests with a latency; nil: none has it, or they were not loaded.
func (s *sample) resample(name string) *stats.Resample {
	if w, made := s.resamples[name]; made {
		return w
	}
	var values []float64
	if name == metric.SessionTime {
		values = s.sessionTimes
	}
	for _, r := range s.window {
		if ms, ok := r.Latency(name, s.row.Spec.Streams()); ok {
			values = append(values, ms)
		}
	}
	var w *stats.Resample
	if len(values) > 0 {
		w = stats.NewResample(values)
	}
	if s.resamples == nil {
		s.resamples = map[string]*stats.Resample{}
	}
	s.resamples[name] = w
	return w
}

// withoutInvalid is the valid rows of base, or all of them if none is valid: one bad night among five must
// not make the gate UNDECIDED for as long as base includes it. Invalid rows of new always count: leaving out
// an overloaded server's rows would hide a regression.
func withoutInvalid(base []sample) []sample {
	valid := slices.DeleteFunc(slices.Clone(base), func(s sample) bool { return !s.row.Valid() })
	if len(valid) == 0 {
		return base
	}
	return valid
}

// each calls f for every repeat of both sides, base first.
func (p pair) each(f func(s *sample, isNew bool)) {
	for i := range p.base {
		f(&p.base[i], false)
	}
	for i := range p.changed {
		f(&p.changed[i], true)
	}
}

func (p pair) invalid() []Invalid {
	out := []Invalid{}
	leftOut := len(withoutInvalid(p.base)) < len(p.base)
	p.each(func(s *sample, isNew bool) {
		if !s.row.Valid() {
			out = append(out, Invalid{s.run.Name, s.row.ID, s.row.Codes(record.Invalid), leftOut && !isNew, isNew})
		}
	})
	return out
}

func (p pair) cautions() []Cautions {
	out := []Cautions{}
	p.each(func(s *sample, isNew bool) {
		if codes := s.row.Codes(record.Caution); len(codes) > 0 {
			out = append(out, Cautions{Run: s.run.Name, Row: s.row.ID, New: isNew, Codes: codes})
		}
	})
	return out
}

// unmeasured are points that the side's matrix has, with the reason why it has no row. Without a plan, as of another
// tool, no point is known to be gone.
func unmeasured(s Side, names []string) (reasons map[string]string) {
	reasons = map[string]string{}
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
