package series

import (
	"slices"

	"bench/experiment/record"
	"bench/experiment/workload"
)

// classesOf are the classes of a mix as points of their own, if one has an SLO of its own: the percentiles of the whole
// mix then describe no class, and no limit.
func (s *Series) classesOf(p *Point) []Point {
	mix := p.Rows[0].Spec.Mix
	if !slices.ContainsFunc(mix, func(c workload.Class) bool { return len(c.SLO) > 0 }) {
		return nil
	}
	var out []Point
	for _, c := range mix {
		var rows []*record.Row
		for _, r := range p.Rows {
			if _, ok := r.Classes[c.Name]; ok {
				rows = append(rows, rowOfClass(r, c.Name))
			}
		}
		if len(rows) == 0 {
			continue
		}
		own := s.pointOf(rows)
		own.Class, own.Load, own.LoadValue, own.Valid, own.Findings = c.Name, p.Load, p.LoadValue, p.Valid, nil
		out = append(out, own)
	}
	return out
}

// rowOfClass is a row with the figures and the limits of one class. Its findings are the whole row's.
func rowOfClass(r *record.Row, class string) *record.Row {
	own := *r
	own.Summary, own.Classes, own.Findings, own.Checks, own.Cost = r.Classes[class], nil, nil, record.Checks{}, nil
	own.Energy = nil // it is of all classes
	own.SLO = slices.DeleteFunc(slices.Clone(r.SLO), func(v record.Verdict) bool { return v.Class != class })
	return &own
}
