package compare

import (
	"slices"

	"bench/experiment/record"
)

// Class is one class of a mix, apart: together, what one class loses another can hide.
type Class struct {
	Name    string   `json:"class"`
	Metrics []Metric `json:"metrics"`
}

// classes are those of the rows' mixes, in the order of the matrix. One class alone is the row itself.
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

// class is a class as if its requests were all that the rows had.
func (p pair) class(name string) pair {
	return pair{p.name, ofClass(p.base, name), ofClass(p.changed, name)}
}

// ofClass leaves out rows without a request of the class.
func ofClass(samples []sample, name string) []sample {
	var out []sample
	for _, s := range samples {
		summary := s.row.Classes[name]
		if summary.Requests.Planned == 0 {
			continue
		}
		row := *s.row
		row.Summary = summary
		s.row = &row
		s.window = slices.DeleteFunc(slices.Clone(s.window), func(r *record.Record) bool { return r.Class != name })
		out = append(out, s)
	}
	return out
}
