package page

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/series"
	"bench/report"
)

// addClasses adds a curve for each class of a mix whose classes have SLOs of their own: its latencies and limits at the
// load and the throughput of the whole mix, which becomes "all classes".
func (set *curveSet) addClasses(o *report.Analysis, s *series.Series, mix *curve, deciding string) {
	names := classesOf(s)
	if len(names) == 0 {
		return
	}
	whole := &set.Curves[len(set.Curves)-1]
	whole.Full, whole.Name = strings.TrimSpace(whole.Name+", all classes"), "all classes"
	for i, name := range names {
		look := lookOf(len(o.Series)+i, len(o.Series)+i)
		c := curve{Name: "class " + name, Full: fmt.Sprintf("%s (class %s)", s.Label(), name), Group: mix.Group,
			Axis: mix.Axis, Color: look.color, Shape: look.shape, Limits: map[string][]float64{}}
		for j := range s.Points {
			p := &s.Points[j]
			k := slices.IndexFunc(p.Classes, func(c series.Point) bool { return c.Class == name })
			if k < 0 {
				continue
			}
			m := set.mark(o, s, j, "")
			c.Points = append(c.Points, m.ofClass(o, s, &p.Classes[k]))
			addLimits(c.Limits, p.Classes[k].Limits, name)
		}
		c.Opens = c.limited(deciding)
		set.Curves = append(set.Curves, c)
	}
}

func (m mark) ofClass(o *report.Analysis, s *series.Series, p *series.Point) mark {
	m.Name, m.Output, m.PerUser, m.Floor, m.Frontier = s.PointName(p), nil, nil, nil, false
	m.setLatencies(o, p)
	return m
}

func classesOf(s *series.Series) (names []string) {
	for i := range s.Points {
		for _, c := range s.Points[i].Classes {
			if !slices.Contains(names, c.Class) {
				names = append(names, c.Class)
			}
		}
	}
	return names
}
