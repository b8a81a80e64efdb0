package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
	"bench/report/page"
	"bench/report/why"
	"bench/sweep/matrix"
)

type compareFlags struct {
	output
	junit, onUndecided, base   string
	gate, accept               bool
	thresholds, allow, between []string
}

func newCompare(c *cli) *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare [BASE] NEW",
		Short: "compare two results: better, worse, no change or inconclusive",
		Long: `compare matches the points of two results and compares each figure: better, worse, no change, or inconclusive with the
smallest detectable change. BASE and NEW are each a run's directory, the file of one row, a result file of another
tool (vllm bench serve, SGLang, guidellm, aiperf), or a quoted glob of several runs. Up to 5 % is no change for a figure
without a threshold. Two runs on different hardware or
models are shown side by side, as bench report does: load within the SLO, users, cost. Different vantage points, workloads
or client tools are refused unless --allow names the difference.

With --base last-good:5, BASE is the last five runs beside NEW that are comparable with it and finished; NEW can be the
directory of all runs, whose latest run is taken. Without BASE and --base, the two endpoints or server settings of one
run are compared.

With --gate the exit code is 3 for a regression that is significant and larger than its threshold, and for an
inconclusive figure. Thresholds come from [gate] of NEW's matrix, else +5 % on the medians of ttft, tpot and e2e and -5 %
on output_tokens_per_s; --threshold overrides them. With --base a regression fails once, undecided figures pass, and a
change for the worse over several nights fails too. NEW's gate.json keeps the result, but not with --threshold or
--allow: a figure that differs by more than its threshold, either way, is no base until --accept makes the run the first
of a new base.`,
		Example: `  bench compare results/chat/20260101T020000Z results/chat/20260102T020000Z
  bench compare results/chat --base last-good:5 --gate --junit gate.xml
  bench compare results/chat/20260102T020000Z --accept       # its level is right
  bench compare results/ab/20260101T020000Z                  # its two endpoints
  bench compare base new --gate --threshold ttft_p99=+5% --threshold output_tokens_per_s=-3%
  bench compare base new --format md -o comparison.md        # for a pull request
  bench compare a100 h100                                    # which GPU carries more, and at which price
  bench compare a100 h100 --allow hardware                   # each figure at the same load
  bench compare vllm-old.json vllm-new.json                  # files of vllm bench serve`,
		Args: compareArgs,
		RunE: func(_ *cobra.Command, args []string) error { return f.compare(c, args) },
	}
	fl := cmd.Flags()
	f.register(fl, "(default for html: comparison.html)", "text", "md", "json", "html")
	fl.StringVar(&f.base, "base", "", "`CHOICE` of earlier runs: last-good, or last-good:N (N up to 60; default 5)")
	fl.BoolVar(&f.accept, "accept", false, "accept the level of a run, the only argument: it begins a new base")
	fl.StringSliceVar(&f.between, "between", nil, "the two endpoints or server settings of one run, as `A,B`")
	fl.BoolVar(&f.gate, "gate", false, "exit 3 on a regression or an inconclusive figure")
	fl.StringArrayVar(&f.thresholds, "threshold", nil,
		"largest allowed change of a figure, as `METRIC=CHANGE`, e.g. ttft_p99=+5% (repeatable)")
	fl.StringVar(&f.junit, "junit", "", "`FILE` for the gate's cases, as JUnit XML")
	fl.Var(choice{&f.onUndecided, "result", []string{"pass", "fail"}}, "on-undecided",
		"pass or fail: the gate's result for an inconclusive figure (default fail; pass with --base)")
	fl.StringSliceVar(&f.allow, "allow", nil, "differences to allow: "+strings.Join(compare.Refusable, ", "))
	return cmd
}

func (f *compareFlags) compare(c *cli, args []string) error {
	o, err := f.options(len(args))
	if err != nil {
		return err
	}
	if f.accept {
		return acceptLevel(args[0], c.stdout)
	}
	if f.base == "" {
		result, err := f.compared(c, args, o)
		if err != nil {
			return err
		}
		if ofSystems(f, args, result) {
			shown, err := f.sideBySide(c, args, result)
			if shown || err != nil {
				return err
			}
		}
		return f.show(c, result, nil)
	}
	run, err := foreign.LoadNew(args[0])
	if err != nil {
		return usage("%w", err)
	}
	if err := f.measured(compare.Side{Runs: []compare.Run{run}}); err != nil {
		return err
	}
	result, err := f.withEarlier(run, o)
	if err != nil {
		return err
	}
	return f.show(c, result, f.keepGate(c.stderr, run, result))
}

// show shows a comparison and returns its verdict. A file that cannot be written hides no other one, and no
// verdict.
func (f *compareFlags) show(c *cli, result *compare.Comparison, unkept error) error {
	result.Causes = why.Sentences(result)
	wrong := []error{unkept, f.writeJUnit(result), f.write(c, result), f.verdict(result)}
	wrong = slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
	if len(wrong) == 0 {
		return nil
	}
	last := len(wrong) - 1
	for _, err := range wrong[:last] {
		fmt.Fprintln(c.stderr, message(err))
	}
	return wrong[last]
}

func (f *compareFlags) writeJUnit(result *compare.Comparison) error {
	if f.junit == "" {
		return nil
	}
	if err := writeWhole(f.junit, func(w io.Writer) error { return export.JUnit(w, result) }); err != nil {
		return fmt.Errorf("writing %s: %w", f.junit, err)
	}
	return nil
}

func (f *compareFlags) write(c *cli, result *compare.Comparison) error {
	file := f.file
	if f.format == "html" {
		file = cmp.Or(file, "comparison.html")
	}
	render := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.ComparisonText(w, result, c.screenFor(file)) },
		"md":   func(w io.Writer) error { return report.ComparisonMarkdown(w, result) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, result) },
		"html": func(w io.Writer) error { return page.Comparison(w, result) },
	}[f.format]
	return c.deliver(file, "comparison", render)
}

func (f *compareFlags) verdict(result *compare.Comparison) error {
	if f.gate && result.Gate.Passes || result.NewBase != nil {
		return nil
	}
	if f.gate {
		var missed []string
		for _, x := range result.Gate.Cases {
			if result.Gate.Blocks(x) {
				missed = append(missed, fmt.Sprintf("%s: %s: %s",
					cmp.Or(strings.TrimSpace(x.Where()+" "+x.Metric), "all"), x.Verdict, x.Reason()))
			}
		}
		return &exitError{codeNotMet, errors.New("gate not met:\n  " + strings.Join(missed, "\n  "))}
	}
	if !result.Refused {
		return nothingCompared(result)
	}
	keys := refusedKeys(result.Differences)
	return usage("not compared: %s\nhint: if that is what you compare: --allow %s", strings.Join(keys, ", ")+" differ",
		strings.Join(keys, ","))
}

func nothingCompared(result *compare.Comparison) error {
	refused, damaged := 0, ""
	for i := range result.Points {
		if p := &result.Points[i]; p.Refused || p.Damaged != "" {
			refused++
			damaged = cmp.Or(damaged, p.Damaged)
		}
	}
	switch {
	case result.NoBase != "":
		return errors.New("nothing was compared: " + result.NoBase)
	case refused < len(result.Points) || result.ComparedSearch() >= 0:
		return nil
	case refused == 0:
		return errors.New("nothing was compared: no point is on both sides\nhint: points are matched by row name and axes; name two runs of one matrix")
	}
	if damaged != "" {
		return errors.New("nothing was compared: " + damaged)
	}
	keys := refusedKeys(result.Points[0].Differences)
	return errors.New("nothing was compared: the workloads of all points differ\nhint: --allow " +
		strings.Join(keys, ",") + ", if that is what you compare")
}

// refusedKeys are what --allow takes to compare in spite of differences.
func refusedKeys(ds []compare.Difference) (keys []string) {
	for _, d := range ds {
		if d.Key != "" && !d.Allowed && !slices.Contains(keys, d.Key) {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

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
		return 0, usage("--base %q: no such choice\nhint: --base last-good:5; a run to compare with is an argument: "+
			"bench compare BASE NEW", base)
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
		return usage("compare takes [BASE] NEW, got %d arguments\nhint: quote a glob, so that the shell does not expand "+
			"it: 'results/chat/2026*'", len(args))
	}
	return cobra.RangeArgs(1, 2)(cmd, args)
}

func (f *compareFlags) thresholdsOf(changed compare.Side, given experiment.Gate) (experiment.Gate, error) {
	var g experiment.Gate
	for _, run := range changed.Runs {
		stated, err := matrix.GateOf(run.Manifest.MatrixFile, run.Manifest.MatrixText)
		if err != nil {
			return g, usage("%w", err)
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
