package report

import (
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/verdict"
)

// eachClass calls f for every point, and for the classes of a mix after their point, if one has an SLO of its own.
func (o *Analysis) eachClass(f func(s *series.Series, p *series.Point)) {
	o.Each(func(s *series.Series, p *series.Point) {
		f(s, p)
		for i := range p.Classes {
			f(s, &p.Classes[i])
		}
	})
}

// ofAllClasses marks a point whose classes have limits of their own: its percentiles describe none of them.
func ofAllClasses(p *series.Point) string {
	if len(p.Classes) == 0 {
		return ""
	}
	return ", all classes"
}

// limitedPercentile is the percentile, of a class with the verdict on its limit.
func limitedPercentile(p *series.Point, metric, name string) Cell {
	c := msCell(p.Latency(metric), name)
	if p.Class == "" {
		return c
	}
	for i := range p.Limits {
		if v := &p.Limits[i]; v.Metric == metric+"_"+name {
			c.Kind, c.Title = verdictCell(v.Verdict, v.Need).Kind, verdict.ResultText(v)+"; "+c.Title
			if v.Verdict != stats.Pass {
				c.Tag = string(v.Verdict)
			}
		}
	}
	return c
}
