package compare

import (
	"slices"

	"bench/experiment/record"
)

// Class is the figures of one class of a mix. The figures over all requests can hide a change of one class.
type Class struct {
	Name    string   `json:"class"`
	Metrics []Metric `json:"metrics"`
}

// classes are in the order of the matrix; nil for a single class, which is the whole row.
func (p pair) classes() []string {
	var out []string
	for _, s := range slices.Concat(p.base, p.changed) {
		for _, c := range s.row.Spec.Mix {
			if !slices.Contains(out, c.Name) {
				out = append(out, c.Name)
			}
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

func (p pair) ofClass(name string) pair {
	return pair{p.name, ofClass(p.base, name), ofClass(p.changed, name), ofClass(p.nights, name), name, p.parts}
}

func ofClass(samples []sample, name string) []sample {
	var out []sample
	for _, s := range samples {
		summary := s.row.Classes[name]
		if summary.Requests.Planned == 0 {
			continue
		}
		row := *s.row
		row.Summary, row.Speculation, row.Sessions = summary, summary.Speculation, nil // sessions have no class
		s.row, s.resamples = &row, nil
		s.window = slices.DeleteFunc(slices.Clone(s.window), func(r *record.Record) bool { return r.Class != name })
		out = append(out, s)
	}
	return out
}
