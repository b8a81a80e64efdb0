package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/text"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/rehearse"
	"bench/sweep/predict"
)

type rehearseFlags struct {
	predictFlags
	story   rehearse.Story
	changes []string
	noise   string
}

func newRehearse(c *cli) *cobra.Command {
	f := &rehearseFlags{}
	cmd := &cobra.Command{
		Use:   "rehearse MATRIX",
		Short: "try the nightly gate on simulated nights with planted changes",
		Long: `rehearse runs a matrix once for each night on the simulated server, in virtual time, and lets the gate
decide on each as deploy/bench-nightly does, against the last good nights before it. It lists which mornings are red,
and why, then what became of each planted change. No file is written, and the exit code is 0 also if the gate misses
a change.

Model, hardware and step times are as in bench predict MATRIX. Rows with a search are left out. With the same seed all
nights have the same noise, whatever is planted.`,
		Example: `  bench rehearse matrices/nightly.toml --change 8%@14
  bench rehearse matrices/nightly.toml --change 8%@14 --change -12%@=13 --noise 1%
  bench rehearse matrices/nightly.toml --nights 60 --seed 2     # quiet nights: how many false alarms?
  bench rehearse nightly.toml --model llama-3.1-8b --hardware h100-sxm --change 4%@14`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.rehearse(cmd.Context(), c, args[0]) },
	}
	fl := cmd.Flags()
	fl.IntVar(&f.story.Nights, "nights", 24, "number of nights")
	fl.StringArrayVar(&f.changes, "change", nil,
		"plant a change of the server's times (below 0: faster) from a night on, e.g. 8%@14, or in one night only, "+
			"e.g. -12%@=13: `CHANGE@NIGHT` (repeatable)")
	fl.StringVar(&f.noise, "noise", "0.5%",
		"standard deviation between nights, as a `SHARE`; between the repeats of a night it is 0.5%")
	fl.Uint64Var(&f.story.Seed, "seed", 1, "seed of noise and requests: a `NUMBER`")
	t := &f.keys.Target
	rooflineFlags(fl, &t.Model, &t.Hardware, &t.GPUs, "the matrix's")
	setFlag(fl, &f.set)
	formatFlag(fl, &f.format, textOrJSON)
	return cmd
}

func (f *rehearseFlags) rehearse(ctx context.Context, c *cli, file string) error {
	if err := f.readStory(); err != nil {
		return err
	}
	m, p, err := f.predictFlags.plan(ctx, c, file)
	if err != nil {
		return err
	}
	m.Points = slices.DeleteFunc(m.Points, func(s experiment.Spec) bool { return s.Search != nil })
	if len(m.Points) == 0 {
		return usage("every row of %s has a search, which probes other loads each night\nhint: write a list of loads",
			file)
	}
	measure := func(ctx context.Context, night int) (compare.Run, error) {
		return measureNight(ctx, p, &f.story, night)
	}
	each := func(m *rehearse.Morning) error {
		answer := m.Answer
		if m.Job == "green" {
			answer, _, _ = strings.Cut(answer, ":")
		}
		return morningLine(c.stdout, m.Night, m.Truth, m.Job, answer)
	}
	if f.format == "json" {
		each = func(*rehearse.Morning) error { return nil }
	} else if err := morningLine(c.stdout, "night", "planted", "job", "gate"); err != nil {
		return err
	}
	result, err := rehearse.Rehearse(ctx, &f.story, m.Gate.OrDefault(), measure, each)
	switch {
	case endpoint.Interrupted(err):
		return interrupted("interrupted: the rehearsal is incomplete")
	case err != nil:
		return err
	}
	if result.Matrix = m.Name; f.format == "json" {
		return export.WriteJSON(c.stdout, result)
	}
	_, err = fmt.Fprintln(c.stdout, "\n"+strings.Join(result.Summary, "\n"))
	return err
}

func (f *rehearseFlags) readStory() error {
	s := &f.story
	var wrong mistakes
	for _, text := range f.changes {
		e, err := rehearse.ParseEvent(text)
		if s.Planted = append(s.Planted, e); err != nil {
			wrong.add("--change %v", err)
		}
	}
	slices.SortStableFunc(s.Planted, func(a, b rehearse.Event) int { return a.Night - b.Night })
	s.Noise = percentage("--noise", f.noise, "0.5%", wrong.add)
	s.RepeatNoise = 0.005
	if err := s.Check(); err != nil && len(wrong) == 0 {
		wrong.add("%v\nhint: bench rehearse --help", err)
	}
	return wrong.err()
}

// firstRehearsed is the date of night 1: that of night 14 is the 14th.
var firstRehearsed = time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)

func measureNight(ctx context.Context, p *predict.Plan, s *rehearse.Story, night int) (compare.Run, error) {
	name := fmt.Sprintf("night-%02d", night)
	times := func(row *experiment.Spec) float64 { return s.Times(night, row) }
	n, err := p.Night(ctx, name, fmt.Sprintf("%d/%s", s.Seed, name), times)
	if err != nil {
		return compare.Run{}, err
	}
	n.Manifest.StartedAt = firstRehearsed.AddDate(0, 0, night-1)
	return compare.Run{Name: name, Run: *n}, nil
}

func morningLine(w io.Writer, night any, truth, job, answer string) error {
	lead := fmt.Sprintf("%5v  %-16s  %-5s ", night, truth, job)
	lines := text.Wrap(lead, safe(answer), strings.Repeat(" ", len(lead)+1), screenOf(w).Columns())
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
