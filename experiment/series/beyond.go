package series

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/verdict"
)

// Key identifies the series of a point. ok is false if its load says nothing about another's: of a search, all
// requests at once, cold starts, or caps.
func Key(s *experiment.Spec) (key string, load float64, ok bool) {
	axis, others := experiment.LoadAxis(s)
	load = loadOn(axis, s)
	capped := axis == "concurrency" && s.Open() // a higher cap lets requests wait less
	ok = s.Search == nil && s.Varies(axis) && !capped && !math.IsInf(load, 0) && !s.IsColdStart()
	return fmt.Sprintf("%q %q %q %q", s.Name, axis, others, s.Variant), load, ok
}

func CertainMiss(r *record.Row) bool {
	p := Point{Rows: []*record.Row{r}}
	p.SLO, _ = verdict.OfRows(r)
	return !r.AllFailed() && p.MissesSLO() && p.FailsByLoad()
}

func LoadName(s *experiment.Spec) string {
	axis, _ := experiment.LoadAxis(s)
	_, load, _ := Key(s)
	return loadName(axis, load)
}

// AddSkipped gives each series the loads that the plan skipped. A knee or a saturation that it lacks may lie there.
func AddSkipped(all []Series, plan []record.Planned) {
	for i := range all {
		s := &all[i]
		for _, p := range plan {
			if load := s.skippedLoad(&p); load != "" && !slices.Contains(s.Skipped, load) {
				s.Skipped, s.Beyond = append(s.Skipped, load), p.Reason
			}
		}
		if len(s.Skipped) == 0 {
			continue
		}
		if !slices.ContainsFunc(s.Points, func(p Point) bool { return p.MissesSLO() && p.FailsByLoad() }) {
			s.Beyond += " under the run's own limits" // it is judged under others
		}
		text := fmt.Sprintf("%s %s skipped, %s; run = \"all\" measures them", s.Axis, strings.Join(s.Skipped, ", "),
			s.Beyond)
		for _, l := range []*LoadLimit{&s.Knee, &s.Saturation} {
			if l.Point == nil {
				l.Why += "; " + text
			}
		}
	}
}

func (s *Series) skippedLoad(p *record.Planned) (load string) {
	if p.State != record.StateSkipped || p.Name != s.Name {
		return ""
	}
	others := slices.DeleteFunc(slices.Clone(s.OtherAxes), func(a experiment.Axis) bool { return a.Key == promptForm })
	if !slices.Equal(others, slices.DeleteFunc(slices.Clone(p.Point),
		func(a experiment.Axis) bool { return a.Key == s.Axis })) {
		return ""
	}
	at := slices.IndexFunc(p.Point, func(a experiment.Axis) bool { return a.Key == s.Axis })
	if at < 0 {
		return ""
	}
	ran := func(q Point) bool { return slices.Contains(q.Rows[0].Spec.Point, p.Point[at]) }
	if slices.ContainsFunc(s.Points, ran) {
		return ""
	}
	return p.Point[at].Value
}
