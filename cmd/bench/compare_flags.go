package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/report/compare"
	"bench/sweep/strict"
)

func (f *compareFlags) options(args int) (compare.Options, error) {
	o := compare.Options{Allow: f.allow,
		UndecidedPasses: f.onUndecided == "pass" || f.onUndecided == "" && f.base != ""}
	var wrong mistakes
	f.checkSides(args, &wrong)
	for _, key := range f.allow {
		if !slices.Contains(compare.Refusable, key) {
			wrong.add("--allow %q: no such difference is refused\nhint: use %s", key,
				strings.Join(compare.Refusable, ", "))
		}
	}
	o.Gate = parseThresholds(f.thresholds, &wrong)
	if f.junit != "" && !f.gate {
		wrong.add("--junit needs --gate, whose cases it writes\nhint: add --gate")
	}
	return o, wrong.err()
}

func parseThresholds(all []string, wrong *mistakes) (g experiment.Gate) {
	for _, t := range all {
		metric, change, _ := strings.Cut(t, "=")
		parsed, problem, hint := experiment.ParseThreshold(strings.TrimSpace(metric),
			strings.Trim(strings.TrimSpace(change), `"`))
		if problem != "" {
			wrong.add("--threshold %s: %s\nhint: %s", t, problem, hint)
			continue
		}
		g.Thresholds = append(g.Thresholds, parsed)
	}
	return g
}

// percentage reads a flag of a share above 0; empty: 0.
func percentage(flag, text, example string, bad func(format string, args ...any)) float64 {
	if text == "" {
		return 0
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(percent > 0 && percent < 100) {
		bad("%s %q: expected above 0%% and below 100%%\nhint: %s %s", flag, text, flag, example)
	}
	return percent / 100
}

func (f *compareFlags) checkSides(args int, wrong *mistakes) {
	if f.base != "" {
		if _, err := lastGood(f.base); err != nil {
			wrong.add("%v", err)
		}
		if args == 2 {
			wrong.add("--base chooses BASE: only NEW is an argument\nhint: leave out BASE, or --base")
		}
	}
	if f.between != nil && (args == 2 || f.base != "") {
		wrong.add("--between chooses two parts of one run\nhint: bench compare RUN --between A,B")
	}
	if f.accept && (args == 2 || f.base != "" || f.gate || f.between != nil) {
		wrong.add("--accept takes one run and compares nothing\nhint: bench compare RUN --accept")
	}
}

const mostBase = 60

func lastGood(base string) (int, error) {
	name, number, given := strings.Cut(base, ":")
	if name != "last-good" {
		return 0, usage("--base %q: no such choice\nhint: --base last-good:5; a run to compare with is an argument: bench compare BASE NEW", base)
	}
	if !given {
		return compare.DefaultBase, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > mostBase {
		return 0, usage("--base %q: expected a number of runs from 1 to %d\nhint: --base last-good:5", base, mostBase)
	}
	return n, nil
}

func compareArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 2 {
		return usage("compare takes [BASE] NEW, got %d arguments\nhint: quote a glob, so that the shell does not expand it: 'results/chat/2026*'", len(args))
	}
	return cobra.RangeArgs(1, 2)(cmd, args)
}

func (f *compareFlags) thresholdsOf(changed compare.Side, given experiment.Gate) (experiment.Gate, error) {
	var g experiment.Gate
	for _, run := range changed.Runs {
		stated, err := gateOf(run.Manifest.MatrixFile, run.Manifest.MatrixText)
		if err != nil {
			return g, err
		}
		if len(stated.Thresholds) > 0 {
			g = stated // the last run's count
		}
	}
	for _, t := range given.Thresholds {
		g.Thresholds = slices.DeleteFunc(g.Thresholds,
			func(x experiment.Threshold) bool { return x.Metric == t.Metric })
		g.Thresholds = append(g.Thresholds, t)
	}
	if f.gate {
		return g.OrDefault(), nil
	}
	if !f.gate && len(given.Thresholds) == 0 {
		return experiment.Gate{}, nil
	}
	return g, nil
}

// gateOf reads [gate] of a matrix and no other table: the rest may be written for another version.
func gateOf(file, text string) (experiment.Gate, error) {
	var g experiment.Gate
	doc, err := strict.Parse(file, []byte(text))
	if err != nil {
		return g, usage("reading the gate of the matrix: %w", err)
	}
	table, there := doc.Root["gate"]
	if !there {
		return g, nil
	}
	var problems strict.Problems
	g.DecodeTOML(table, func(key, problem, hint string) {
		problems = append(problems, doc.Problem(strict.Join("gate", key), problem, hint))
	})
	if len(problems) > 0 {
		return g, problems
	}
	return g, nil
}
