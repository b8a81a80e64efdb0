package report

import (
	"fmt"

	"bench/experiment/series"
	"bench/experiment/unit"
)

// interactivityTable has the levels that a series reaches.
func (o *Analysis) interactivityTable() Table {
	perGPU := o.PerGPU()
	name := "tok/s"
	if perGPU {
		name = "tok/s/GPU"
	}
	levels := []int{20, 50, 100, 200, 500, 1000}
	t := newTable("per-user", name+" at a given tok/s/user", "workload", "measured|tok/s/user # ?peruser")
	t.Note = "Interpolated between measured points; –: outside the measured range."
	for _, level := range levels {
		t.Columns = append(t.Columns, Column{Head: "at " + unit.Count(level), Num: true, Help: "peruser"})
	}
	reached := false
	for i := range o.Series {
		s := &o.Series[i]
		low, high, ok := s.InteractivityRange()
		if !ok {
			continue
		}
		row := []Cell{TextCell(s.Label()), TextCell(unit.Digits(low) + " to " + unit.Digits(high))}
		for _, level := range levels {
			at, ok := s.AtInteractivity(float64(level))
			reached = reached || ok
			row = append(row, interpolatedCell(s, at, ok, perGPU))
		}
		t.Add(row...)
	}
	if !reached {
		t.Rows = nil
	}
	return t.withoutEmpty()
}

func interpolatedCell(s *series.Series, at series.Interpolation, ok, perGPU bool) Cell {
	if !ok {
		return Absent()
	}
	x := at.OutputTokensPerS
	if perGPU {
		x = at.OutputTokensPerSPerGPU
	}
	c := TextCell(unit.Digits(x))
	if c.Title = "measured at " + s.Points[at.Faster].Load; at.Faster != at.Slower {
		c.Title = fmt.Sprintf("between %s and %s", s.Points[at.Faster].Load, s.Points[at.Slower].Load)
	}
	return c
}

func (o *Analysis) PerGPU() bool {
	all := true
	o.Each(func(_ *series.Series, p *series.Point) { all = all && p.OutputTokensPerSPerGPU != nil })
	return all
}
