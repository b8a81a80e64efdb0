package forecast

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// pace is how long a finished row took, by its parts.
type pace struct {
	load   workload.Load
	until  string
	before time.Duration // the row's start to its first request: settling, connections, prefixes
	warmup time.Duration
	window time.Duration
	after  time.Duration // draining, and writing

	requests float64 // of the window
}

// paceOf is the pace of a finished row; false: its times are not known, or its server did not answer.
func paceOf(r *record.Row) (pace, bool) {
	us := func(x int64) time.Duration { return time.Duration(x) * time.Microsecond }
	p := pace{
		load: r.Spec.Load, until: r.Spec.Until,
		before: r.Epoch.Sub(r.StartedAt), warmup: us(r.Window.StartUs), window: us(r.Window.EndUs - r.Window.StartUs),
		after: r.EndedAt.Sub(r.Epoch.Add(us(r.Window.EndUs))), requests: float64(r.Summary.Requests.Planned),
	}
	return p, p.before >= 0 && p.after >= 0 && p.window > 0 && !r.ServerLost && !r.AllFailed()
}

// whole is the duration of the row.
func (p *pace) whole() time.Duration { return p.before + p.warmup + p.window + p.after }

// rate is the number of requests per second in the window.
func (p *pace) rate() float64 { return p.requests / p.window.Seconds() }

// isOf reports whether the row had the same phases as a point.
func (p *pace) isOf(s *experiment.Spec) bool { return p.load == s.Load && p.until == s.Until }

// of is the duration of a point with other phases than the row; false: they tell nothing of each other.
func (p *pace) of(s *experiment.Spec) (time.Duration, bool) {
	if s.IsColdStart() || s.Rate.IsInf() || !s.Arrival.IsSteady() || p.requests == 0 {
		return 0, false
	}
	d := p.before + p.after
	if phases, known := s.ExpectedDuration(); known {
		if n := enough(s); n > 0 && s.Until != "" {
			phases = min(phases, time.Duration(s.Warmup.Time)+seconds(float64(n)/p.rate()))
		}
		return d + phases, true
	}
	warmup := max(time.Duration(s.Warmup.Time).Seconds(), float64(s.Warmup.Requests)/p.rate())
	d += seconds(warmup + window(s, p.rate()))
	if s.MaxDuration > 0 {
		d = min(d, p.before+time.Duration(s.MaxDuration))
	}
	return d, true
}

// seconds is a duration of so many seconds, at most the longest one.
func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/4))
}

// paces are those of finished rows, by shape.
type paces map[string][]pace

// add takes a finished row.
func (p paces) add(r *record.Row) {
	if own, ok := paceOf(r); ok {
		key := shapeOf(&r.Spec)
		p[key] = append(p[key], own)
	}
}

// of is the duration of a point by rows of its shape: the mean of those with its phases, else by the last one.
func (p paces) of(s *experiment.Spec) (time.Duration, bool) {
	own := p[shapeOf(s)]
	var sum time.Duration
	n := 0
	for i := range own {
		if own[i].isOf(s) {
			sum, n = sum+own[i].whole(), n+1
		}
	}
	switch {
	case n > 0:
		return sum / time.Duration(n), true
	case len(own) == 0:
		return 0, false
	}
	return own[len(own)-1].of(s)
}

// rate is the number of requests per second that rows of a point's shape had; 0 = there is none.
func (p paces) rate(s *experiment.Spec) float64 {
	own := p[shapeOf(s)]
	if len(own) == 0 {
		return 0
	}
	return own[len(own)-1].rate()
}

// shapeOf is the same for points that send the same requests at the same load, whatever their name and phases. What
// ends a row early is part of it.
func shapeOf(s *experiment.Spec) string {
	shape := *s
	shape.Name, shape.Point, shape.Repeat, shape.Expect, shape.Seed, shape.Search = "", nil, 0, "", 0, nil
	shape.Load = workload.Load{Concurrency: s.Concurrency, Idle: s.Idle}
	if s.Until == "" {
		shape.SLO, shape.Mix = experiment.SLO{}, slices.Clone(s.Mix)
		for i := range shape.Mix {
			shape.Mix[i].SLO = nil
		}
	}
	b, err := json.Marshal(shape)
	if err != nil {
		panic(err) // all values come from TOML
	}
	return string(b)
}
