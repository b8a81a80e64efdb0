package forecast

import (
	"time"

	"bench/experiment"
)

// searchTime is the time of as many probes as the search expects, each at its lowest load, where a number of
// requests takes longest.
func searchTime(s *experiment.Spec, v *Speed) estimate {
	e, probes := timeOf(s, v), time.Duration(s.Search.ExpectedProbes())
	e.time, e.likely = e.time*probes, e.likely*probes
	if budget := time.Duration(s.Search.Budget); budget > 0 && e.time > budget {
		e.time, e.open = budget, false
	}
	e.likely = min(e.likely, e.time)
	e.most = true
	return e
}

// estimate is the duration of rows before anything has run.
type estimate struct {
	time time.Duration // stated, or a bound
	most bool          // it can be shorter
	open bool          // it can be longer: the server's speed decides

	likely    time.Duration
	predicted bool // likely is known
}

func timeOf(s *experiment.Spec, v *Speed) estimate {
	d, known := s.ExpectedDuration()
	e := estimate{time: d + perRow}
	if !known {
		e.most = s.Duration > 0
		e.open = s.Duration == 0 || s.Warmup.Requests > 0
	}
	if s.Until != "" {
		e.most = true
	}
	if e.likely, e.predicted = v.row(s); !e.predicted {
		e.likely, e.predicted = e.time, e.exact()
	}
	return e
}

func (e *estimate) add(o estimate) {
	e.time += o.time
	e.likely += o.likely
	e.most = e.most || o.most
	e.open = e.open || o.open
	e.predicted = e.predicted && o.predicted
}

// exact reports whether the table alone decides the duration.
func (e *estimate) exact() bool { return !e.most && !e.open }

// String is "2m 05s", "about 2h 10m (at most 30h 07m)", "up to 16s", or "1s and more".
func (e estimate) String() string {
	if e.predicted && !e.exact() && !e.open && e.time > e.likely*11/10 {
		return e.brief() + " (at most " + Clock(e.time) + ")"
	}
	return e.brief()
}

// brief is without the bound of a prediction.
func (e *estimate) brief() string {
	switch {
	case e.exact():
		return Clock(max(e.time, e.likely))
	case e.predicted:
		return "about " + Clock(e.likely)
	case e.most && e.open:
		return "about " + Clock(e.time)
	case e.most:
		return "up to " + Clock(e.time)
	}
	return Clock(e.time) + " and more"
}
