package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
)

// sample is one repeat of a point: a row, and the run that it is of.
type sample struct {
	run    *Run
	row    *record.Row
	window []*record.Record // once loaded: the requests whose latencies count, by arrival; nil: not at hand
}

// pair is one point in both sides.
type pair struct {
	name          string
	base, changed []sample
}

// match finds the points that both sides have: by name and axes first; what is left over, by what is sent, so that a row that
// was only renamed still finds itself.
func match(base, changed Side) (pairs []pair, missing, added []string) {
	old, oldOrder := points(base)
	now, nowOrder := points(changed)
	renamed := map[string]string{} // what is sent → the point in base
	for _, name := range oldOrder {
		if now[name] == nil {
			renamed[sent(&old[name][0].row.Spec)] = name
		}
	}
	taken := map[string]bool{}
	if len(oldOrder) == 1 && len(nowOrder) == 1 { // two files: their workloads are held against each other, whatever they are called
		renamed[sent(&now[nowOrder[0]][0].row.Spec)] = oldOrder[0]
	}
	for _, name := range nowOrder {
		from := name
		if old[name] == nil {
			from = renamed[sent(&now[name][0].row.Spec)]
		}
		switch {
		case from == "" || taken[from]:
			added = append(added, name)
			continue
		case from != name:
			taken[from] = true
			pairs = append(pairs, pair{fmt.Sprintf("%s (was %s)", name, from), old[from], now[name]})
		default:
			taken[name] = true
			pairs = append(pairs, pair{name, old[name], now[name]})
		}
	}
	for _, name := range oldOrder {
		if !taken[name] {
			missing = append(missing, name)
		}
	}
	return pairs, missing, added
}

// points gathers the rows of a side by point, in the order of the first of each.
func points(s Side) (map[string][]sample, []string) {
	found := map[string][]sample{}
	var order []string
	for i := range s.Runs {
		r := &s.Runs[i]
		for j := range r.Rows {
			name := r.Rows[j].Spec.Pretty()
			if found[name] == nil {
				order = append(order, name)
			}
			found[name] = append(found[name], sample{run: r, row: &r.Rows[j]})
		}
	}
	return found, order
}

// sent is what tells workloads apart, whatever they are called.
func sent(s *experiment.Spec) string {
	var b strings.Builder
	flat := flatten(s)
	for _, key := range sortedKeys(flat) {
		if !measure(key) {
			fmt.Fprintf(&b, "%s=%s\n", key, flat[key])
		}
	}
	return b.String()
}

// load reads the requests of samples that have them.
func load(samples []sample) ([]sample, error) {
	out := slices.Clone(samples)
	for i := range out {
		s := &out[i]
		if s.run.Records == nil {
			continue
		}
		records, err := s.run.Records(s.row)
		if err != nil {
			return nil, fmt.Errorf("reading the requests of %s: %w", s.row.ID, err)
		}
		for _, r := range records {
			if r.Phase == record.PhaseWindow && r.OK() {
				s.window = append(s.window, r)
			}
		}
		slices.SortStableFunc(s.window, func(a, b *record.Record) int {
			x, _ := a.At.Get()
			y, _ := b.At.Get()
			return cmp.Compare(x, y)
		})
	}
	return out, nil
}

// sound are the valid rows of base; all of them where none is. One bad night among five would else keep a gate from telling
// anything for as long as it is part of base. Rows of new are never left out: an overloaded server is no evidence of a good one.
func sound(base []sample) []sample {
	valid := slices.DeleteFunc(slices.Clone(base), func(s sample) bool { return !s.row.Checks.Valid() })
	if len(valid) == 0 {
		return base
	}
	return valid
}

// invalid lists the rows with a failed check.
func (p pair) invalid() []Invalid {
	out := []Invalid{}
	add := func(samples []sample, leftOut bool) {
		for _, s := range samples {
			if !s.row.Checks.Valid() {
				out = append(out, Invalid{s.run.Name, s.row.ID, s.row.Checks.Failed, leftOut})
			}
		}
	}
	add(p.base, len(sound(p.base)) < len(p.base))
	add(p.changed, false)
	return out
}
