package main

import (
	"math"
	"time"

	"bench/benchmarks/search/world"
	"bench/experiment/stats"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// probe is one run at a load as evidence, and its verdict alone: nil if undecided. As in a sweep it ends as soon as
// the server shows that it does not keep up; what is in flight is then cancelled.
func probe(w *world.World, step stats.Step, seed uint64) (p stats.Probe, pass *bool, err error) {
	all, err := w.Probe(step.Load, seconds(step.Warmup), seconds(step.Window), seed)
	if err != nil {
		return p, nil, err
	}
	from, until := seconds(step.Warmup), seconds(step.Warmup+step.Window)
	p = stats.Probe{Load: step.Load, Spent: max(world.ServerTime(all), until).Seconds()}
	flow := stats.Flow{Window: step.Window}
	square := 0.0
	judge := judgement{w: w}
	cut := until
	for _, r := range all {
		if r.Warmup {
			continue
		}
		flow.Arrived++
		flow.Stay += r.E2E().Seconds()
		square += r.E2E().Seconds() * r.E2E().Seconds()
		if judge.add(r) {
			p.Verdict, p.Spent = stats.Fail, min(p.Spent, judge.ended.Seconds())
			cut = min(cut, r.Arrival)
			break
		}
	}
	for _, r := range all {
		if r.End >= from && r.End < cut {
			flow.Ended++
		}
	}
	if p.Verdict == "" && judge.overloaded() {
		p.Verdict = stats.Fail
	}
	e, verdict := judge.decide()
	if p.Verdict == "" {
		flow.Stay /= max(1, flow.Arrived)
		p.Sustained, p.Stay, p.Window = flow.Sustained(), flow.Stay, step.Window
		p.Completed = p.Sustained
		p.Variation = math.Sqrt(max(0, square/max(1, flow.Arrived)-flow.Stay*flow.Stay)) / flow.Stay
		if w.Search.Load == "rate" {
			p.Measured = flow.Arrived / step.Window
		}
		p.Filling = !flow.Steady()
	} else {
		verdict = p.Verdict
		p.Completed = flow.Ended / max(0.001, (cut-from).Seconds())
	}
	p.Limits = []stats.Exceedances{e}
	if verdict != stats.Undecided {
		pass = new(verdict == stats.Pass)
	}
	return p, pass, nil
}

// judgement is the verdict on the requests of a window so far, by arrival.
type judgement struct {
	w      *world.World
	values []float64
	ended  time.Duration // when all of them had ended
	look   int
}

// add reports whether the server does not keep up, at a look.
func (j *judgement) add(r world.Request) bool {
	j.values, j.ended = append(j.values, float64(j.w.SLO.Value(r))), max(j.ended, r.End)
	if len(j.values) < (stats.Looks{}).At(j.look+1) {
		return false
	}
	j.look++
	return j.overloaded()
}

func (j *judgement) limit() (limit, p float64) {
	return float64(j.w.SLO.Limit), j.w.SLO.Percentile / 100
}

func (j *judgement) overloaded() bool {
	limit, p := j.limit()
	queues := j.w.SLO.Metric != "tpot"
	return queues && stats.Overloaded(j.values, limit, p) || stats.FarOver(j.values, limit, p)
}

// decide is the evidence of all requests, and the verdict that they have alone.
func (j *judgement) decide() (stats.Exceedances, stats.Verdict) {
	limit, p := j.limit()
	e := stats.Exceedances{N: float64(len(j.values)), Time: 1, Allowed: 1 - p}
	if len(j.values) == 0 {
		return e, stats.Undecided
	}
	for _, x := range j.values {
		if x > limit {
			e.Over++
		}
	}
	e.Least, e.Most = e.Over, e.Over
	order := stats.NewInOrder(j.values)
	order.Bounded = j.w.SLO.Metric == "tpot"
	e.Time = order.Correlation(limit, p)
	return e, order.Decide(limit, p, 0.95).Verdict
}
