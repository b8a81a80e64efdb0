package forecast

import (
	"time"

	"bench/experiment"
	"bench/experiment/unit"
)

// searchTime is the time of a search: its budget, unless it ends before.
func searchTime(s *experiment.Spec) estimate {
	return estimate{time: time.Duration(s.Search.MaxTime()), likely: time.Duration(s.Search.MaxTime()), most: true}
}

// estimate is the duration of rows before anything has run.
type estimate struct {
	time time.Duration // stated, or a bound
	most bool          // it can be shorter
	open bool          // it can be longer: the server's speed decides

	likely    time.Duration
	predicted bool // likely is known
	measured  bool // by a row that ran, in part at least
}

func timeOf(s *experiment.Spec, d *durations) estimate {
	stated, known := s.ExpectedDuration()
	e := estimate{time: stated + perRow}
	if !known {
		e.most = s.Duration > 0
		e.open = s.Duration == 0 || s.Warmup.Requests > 0
	}
	if s.Until != "" {
		e.most = true
	}
	took, from := d.of(s)
	e.likely, e.predicted, e.measured = took, from != fromMatrix, from >= fromEarlier
	if !e.predicted {
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
	e.measured = e.measured || o.measured
}

// least is the shortest time that is likely; 0 = not known.
func (e *estimate) least() time.Duration {
	switch {
	case e.predicted:
		return e.likely
	case e.most:
		return 0
	}
	return e.time
}

// exact reports whether the table alone decides the duration.
func (e *estimate) exact() bool { return !e.most && !e.open }

// String is "2m 05s", "about 2h 10m (at most 30h 07m)", "up to 16s", or "1s and more".
func (e estimate) String() string {
	if e.predicted && !e.exact() && !e.open && e.time > e.likely*11/10 {
		return e.brief() + " (at most " + unit.Clock(e.time) + ")"
	}
	return e.brief()
}

// brief is without the bound of a prediction.
func (e *estimate) brief() string {
	switch {
	case e.exact() && e.measured:
		return "about " + unit.Clock(e.likely)
	case e.exact():
		return unit.Clock(max(e.time, e.likely))
	case e.predicted:
		return "about " + unit.Clock(e.likely)
	case e.most && e.open:
		return "about " + unit.Clock(e.time)
	case e.most:
		return "up to " + unit.Clock(e.time)
	}
	return unit.Clock(e.time) + " and more"
}
