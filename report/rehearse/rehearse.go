// Package rehearse tries the gate of a nightly job on nights whose truth is known. A Story draws how slow the server is
// each night; the caller measures the nights, in virtual time; the gate decides on each as deploy/bench-nightly does.
// The result lists which planted changes were red, on which nights, and which red nights have no cause. It writes no
// file.
package rehearse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
)

const Schema = "bench/rehearsal/v1"

// recalled is the number of latest nights whose requests are kept. A base rarely reaches back further: it would take
// the spread within an older night from its summary.
const recalled = 20

// Result is a rehearsed story.
type Result struct {
	Schema   string          `json:"schema"`
	Matrix   string          `json:"matrix"`
	Gate     experiment.Gate `json:"gate"`
	Story    Story           `json:"story"`
	Mornings []Morning       `json:"mornings"`
	Summary  []string        `json:"summary"`
}

// Morning is what the job of a night reports.
type Morning struct {
	Night   int           `json:"night"`
	Truth   string        `json:"truth"` // the planted change against night 1
	Cause   int           `json:"cause"` // index of the planted event that makes the night slow; -1: none
	Job     string        `json:"job"`   // red: exit code 3; green: 0
	Verdict stats.Verdict `json:"verdict"`
	Base    []string      `json:"base"`   // runs; empty: new base
	Answer  string        `json:"answer"` // of bench compare
}

// Rehearse measures the nights in turn and passes on each morning.
func Rehearse(
	ctx context.Context, s *Story, gate experiment.Gate,
	measure func(ctx context.Context, night int) (compare.Run, error), each func(*Morning) error,
) (*Result, error) {
	r := &Result{Schema: Schema, Gate: gate, Story: *s}
	r.Story.Planted = append([]Event{}, s.Planted...)
	var runs []compare.Run
	var earlier []compare.Candidate // the latest first
	for n := 1; n <= s.Nights; n++ {
		run, err := measure(ctx, n)
		if err != nil {
			return nil, err
		}
		c, job, err := decideNight(run, earlier, gate)
		if err != nil {
			return nil, err
		}
		kept, answer := c.Record(run.Manifest.Run), report.AnswerComparison(c)
		m := Morning{n, s.truth(n), s.cause(n), job, kept.Verdict, kept.BaseRuns, answer.Sentence()}
		r.Mornings = append(r.Mornings, m)
		if err := each(&m); err != nil {
			return nil, err
		}
		run.Gate = kept
		runs = append(runs, run)
		if old := n - 1 - recalled; old >= 0 {
			runs[old].Records = nil // hundreds of nights fit into memory
		}
		earlier = slices.Insert(earlier, 0, compare.Candidate{Name: run.Name,
			Read: func() (compare.Run, error) { return runs[n-1], nil }})
	}
	r.Summary = r.summary()
	return r, nil
}

// decideNight does what deploy/bench-nightly does: bench compare NEW --base last-good:5 --gate.
func decideNight(run compare.Run, earlier []compare.Candidate, gate experiment.Gate) (
	c *compare.Comparison, job string, err error,
) {
	o := compare.Options{Gate: gate, UndecidedPasses: true}
	c, err = compare.ChooseBase(run, earlier, compare.DefaultBase, nil).Compare(run, o)
	if err != nil || c.Gate.Passes {
		return c, "green", err
	}
	return c, "red", nil
}

// summary has a line for each planted event, and one for the nights that none makes slow.
func (r *Result) summary() (lines []string) {
	red := map[int][]string{} // nights by cause
	quiet, undecided := 0, 0
	for _, m := range r.Mornings {
		if m.Job == "red" {
			red[m.Cause] = append(red[m.Cause], fmt.Sprint(m.Night))
		}
		if m.Cause == none {
			quiet++
			if m.Verdict == stats.Undecided {
				undecided++
			}
		}
	}
	jobs := func(cause int) string {
		if len(red[cause]) == 0 {
			return "not red"
		}
		return "red on night " + strings.Join(red[cause], ", ")
	}
	for i, e := range r.Story.Planted {
		lines = append(lines, fmt.Sprintf("planted %s: %s", e, jobs(i)))
	}
	return append(lines, fmt.Sprintf("%s without a planted slowdown: %s; %s UNDECIDED",
		unit.Plural(quiet, "night"), jobs(none), unit.Count(undecided)))
}
