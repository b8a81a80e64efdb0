package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/report/compare"
)

// change is what is planted in the new night: how much slower, as a share.
type change struct {
	Name string
	Size float64
	Only bool // only tpot of the first point; else every figure of every point
}

// changes are planted in turn into the same nights; the first is none.
var changes = []change{{Name: "none"}, {Name: "+4 %", Size: 0.04}, {Name: "+5 %", Size: 0.05},
	{Name: "+10 %", Size: 0.1},
	{Name: "+5 % tpot of a point", Size: 0.05, Only: true}}

// plant is the side with the change.
func (c change) plant(side compare.Side) compare.Side {
	side.Runs = slices.Clone(side.Runs)
	for i := range side.Runs {
		side.Runs[i] = c.plantNight(side.Runs[i])
	}
	return side
}

func (c change) plantNight(night compare.Run) compare.Run {
	night.Rows = slices.Clone(night.Rows)
	for i := range night.Rows {
		s := &night.Rows[i].Summary
		if c.Only {
			if night.Rows[i].Spec.Name == night.Rows[0].Spec.Name {
				s.TPOT = slower(s.TPOT, 1+c.Size)
			}
			continue
		}
		s.TTFT, s.TPOT = slower(s.TTFT, 1+c.Size), slower(s.TPOT, 1+c.Size)
		s.Throughput.OutputTokensPerS /= 1 + c.Size
		s.Throughput.RequestsPerS /= 1 + c.Size
	}
	return night
}

func slower(s *stats.Summary, factor float64) *stats.Summary {
	out := *s
	ci := s.CI95["p50"]
	out.P50, out.CI95 = factor*s.P50,
		map[string]stats.Interval{"p50": {Lo: factor * ci.Lo, Hi: factor * ci.Hi}}
	return &out
}

var gated = experiment.Gate{Thresholds: []experiment.Threshold{{Metric: "ttft_p50", Worse: 0.03},
	{Metric: "tpot_p50", Worse: 0.03},
	{Metric: "output_tokens_per_s", Worse: 0.03}}}

func (s *Setting) gate() experiment.Gate {
	g := gated
	if s.Failing > 0 {
		g.Thresholds = append(slices.Clone(g.Thresholds), experiment.Threshold{Metric: metric.ErrorRate,
			Worse: 0.005})
	}
	return g
}

// Tally counts what the gate made of the trials of a setting with one change.
type Tally struct {
	Trials                int
	Changed               int // a gated figure is better or worse
	Worse                 int // a gated figure is worse
	Pass, Fail, Undecided int
}

func (t *Tally) add(c *compare.Comparison) {
	changed, worse := 0, 0
	for _, p := range c.Points {
		for _, m := range p.Metrics {
			if m.Threshold == nil {
				continue
			}
			switch m.Verdict {
			case compare.Worse:
				changed, worse = 1, 1
			case compare.Better:
				changed = 1
			}
		}
	}
	t.Trials++
	t.Changed += changed
	t.Worse += worse
	switch c.Gate.Verdict {
	case stats.Pass:
		t.Pass++
	case stats.Fail:
		t.Fail++
	default:
		t.Undecided++
	}
}

func (t *Tally) merge(u Tally) {
	t.Trials, t.Changed, t.Worse = t.Trials+u.Trials, t.Changed+u.Changed, t.Worse+u.Worse
	t.Pass, t.Fail, t.Undecided = t.Pass+u.Pass, t.Fail+u.Fail, t.Undecided+u.Undecided
}

// trials are how settings are simulated.
type trials struct {
	n        int
	seed     uint64
	changes  []change
	requests bool // rows have request records
}

// simulate runs the trials of a setting, the same on any number of cores; the tallies are by change.
func (t trials) simulate(s Setting) ([]Tally, error) {
	workers := runtime.GOMAXPROCS(0)
	sums := make([]Tally, len(t.changes))
	var failed error
	var lock sync.Mutex
	var done sync.WaitGroup
	for worker := range workers {
		done.Go(func() {
			mine := make([]Tally, len(t.changes))
			var err error
			for i := worker; i < t.n && err == nil; i += workers {
				err = t.trial(&s, uint64(i), mine)
			}
			lock.Lock()
			defer lock.Unlock()
			for i := range sums {
				sums[i].merge(mine[i])
			}
			if err != nil {
				failed = err
			}
		})
	}
	done.Wait()
	return sums, failed
}

// trial compares one new night with its base, once for each change.
func (t trials) trial(s *Setting, i uint64, into []Tally) error {
	base, now, before := world{s, rand.New(rand.NewPCG(t.seed, i)), t.requests}.draw()
	o := compare.Options{Gate: s.gate(), Paired: s.Paired}
	if !s.Paired && s.NewRuns == 1 { // two sides of several runs show their own spread
		o.Nights = slices.Concat(before, base.Runs)
	}
	for i, c := range t.changes {
		found, err := compare.Compare(base, c.plant(now), o)
		if err != nil {
			return err
		}
		into[i].add(found)
	}
	return nil
}
