package compare

import (
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
)

// sloVerdicts are empty without an SLO, if runs of a side differ, or if SLOs do.
func (p pair) sloVerdicts() (base, changed stats.Verdict) {
	all := slices.Concat(p.base, p.changed)
	for _, s := range all {
		if !slices.EqualFunc(s.row.SLO, all[0].row.SLO, record.SameLimit) {
			return "", ""
		}
	}
	return verdictOfRuns(p.base), verdictOfRuns(p.changed)
}

// verdictOfRuns is empty if runs differ: the worst of all would be worse for the side with more runs.
func verdictOfRuns(samples []sample) (v stats.Verdict) {
	rows := map[*Run][]*record.Row{}
	for _, s := range samples {
		if s.row.Valid() {
			rows[s.run] = append(rows[s.run], s.row)
		}
	}
	first := true
	for _, of := range rows {
		own, _ := verdict.OfRows(of...)
		if !first && own != v {
			return ""
		}
		v, first = own, false
	}
	return v
}

// limited are the figures that the SLO of a row limits: those of a class, or of all requests (class is empty).
func (p pair) limited(class string) (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, s := range slices.Concat(p.base, p.changed) {
		for _, v := range s.row.SLO {
			if v.Class == class {
				add(p.limitedFigure(v.Metric))
			}
		}
		if len(s.row.Spec.SLO.Each) > 0 && class == "" {
			add("goodput_requests_per_s")
		}
	}
	return names
}

func (p pair) limitedFigure(key string) string {
	key = strings.TrimPrefix(key, "min_")
	name, stat := metric.Cut(key)
	m := metric.ByName(name)
	switch {
	case key == metric.E2EPerToken+"_p90":
		return metric.Interactivity
	case stat == "" && !m.Limited || stat != "" && m.Of != metric.Requests || key == metric.Price:
		return ""
	case name == metric.TTFO && stat != "" && !p.thinks(): // it is ttft
		return metric.TTFT + "_" + string(stat)
	}
	return key
}
