package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
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
	"bench/sweep/strict"
)

// compareFlags are the flags of `bench compare`.
type compareFlags struct {
	format, output, junit, onUndecided, same string
	gate                                     bool
	thresholds, allow                        []string
}

func newCompare(c *cli) *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "compare two results: better, worse, no change or inconclusive",
		Long: `compare matches the points of two results and compares each figure: better, worse, no change, or inconclusive with the
smallest detectable change. BASE and NEW are each a run's directory, the file of one row, a result file of another
tool (vllm bench serve, SGLang, guidellm, aiperf), or a quoted glob of several, whose rows of the same point are
repeats. Different models, hardware, vantage points or workloads are refused unless --allow names the difference.

With --gate the exit code is 3 for a regression that is significant and larger than its threshold, and for an
inconclusive figure unless --on-undecided pass. Thresholds come from [gate] of NEW's matrix; --threshold overrides them.`,
		Example: `  bench compare results/chat/20260101T020000Z results/chat/20260102T020000Z
  bench compare 'results/chat/202601*' results/chat/20260201T020000Z --gate --junit gate.xml
  bench compare base new --gate --threshold ttft_p99=+5% --threshold output_tokens_per_s=-3%
  bench compare base new --format md -o comparison.md        for a pull request
  bench compare a100 h100 --allow hardware                   the gain of another GPU
  bench compare vllm-old.json vllm-new.json                  files of vllm bench serve`,
		Args: positional(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return c.compare(f, args[0], args[1]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "text", "text, md, json or html")
	fl.StringVarP(&f.output, "output", "o", "", "`FILE` to write; - for stdout (default for html: comparison.html)")
	fl.BoolVar(&f.gate, "gate", false, "exit 3 on a regression or an inconclusive figure")
	fl.StringArrayVar(&f.thresholds, "threshold", nil, "largest allowed change of a figure, as `METRIC=CHANGE`, e.g. ttft_p99=+5% (repeatable)")
	fl.StringVar(&f.junit, "junit", "", "`FILE` for the gate's cases, as JUnit XML")
	fl.StringVar(&f.onUndecided, "on-undecided", "fail", "pass or fail: the gate's result for an inconclusive figure")
	fl.StringVar(&f.same, "same", "5%", "largest difference that is no change, for figures without a threshold")
	fl.StringSliceVar(&f.allow, "allow", nil, "differences to allow: "+strings.Join(compare.Refusable, ", "))
	return cmd
}

func (c *cli) compare(f *compareFlags, baseArg, newArg string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	base, err := foreign.LoadSide(baseArg)
	if err != nil {
		return usage("%w", err)
	}
	changed, err := foreign.LoadSide(newArg)
	if err != nil {
		return usage("%w", err)
	}
	if err := c.apart(&base, changed); err != nil {
		return err
	}
	if o.Gate, err = f.thresholdsOf(changed, o.Gate); err != nil {
		return err
	}
	result, err := compare.Compare(base, changed, o)
	if err != nil {
		return err
	}
	if err := c.writeComparison(f, result); err != nil {
		return err
	}
	return f.verdict(result)
}

// apart removes the runs of changed from base: a glob of all nights also matches the last one.
func (c *cli) apart(base *compare.Side, changed compare.Side) error {
	both := slices.DeleteFunc(slices.Clone(base.Runs), func(r compare.Run) bool { return !contains(changed, r) })
	if len(both) == 0 {
		return nil
	}
	if len(both) == len(base.Runs) {
		return usage("%s is on both sides: it cannot be compared with itself\nhint: name an earlier run as BASE", both[0].Name)
	}
	base.Runs = slices.DeleteFunc(base.Runs, func(r compare.Run) bool { return contains(changed, r) })
	for _, r := range both {
		fmt.Fprintf(c.stderr, "note: %s is on both sides: removed from BASE\n", r.Name)
	}
	return nil
}

// contains reports whether a run is one of the side's, also under another name.
func contains(s compare.Side, r compare.Run) bool {
	is, err := os.Stat(r.Name)
	return err == nil && slices.ContainsFunc(s.Runs, func(x compare.Run) bool {
		other, err := os.Stat(x.Name)
		return err == nil && os.SameFile(is, other)
	})
}

// options checks the flags, all at once.
func (f *compareFlags) options() (compare.Options, error) {
	var o compare.Options
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if err := checkFormat(f.format, "text", "md", "json", "html"); err != nil {
		bad("%v", err)
	}
	switch f.onUndecided {
	case "pass", "fail":
		o.UndecidedPasses = f.onUndecided == "pass"
	default:
		bad("--on-undecided %q: expected pass or fail\nhint: --on-undecided pass", f.onUndecided)
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(f.same, "%"), 64)
	if err != nil || !strings.HasSuffix(f.same, "%") || !(percent > 0 && percent < 100) {
		bad("--same %q is not a percentage\nhint: --same 5%%", f.same)
	}
	o.Margin = percent / 100
	for _, key := range f.allow {
		if !slices.Contains(compare.Refusable, key) {
			bad("--allow %q: no such difference is refused\nhint: use %s", key, strings.Join(compare.Refusable, ", "))
		}
	}
	o.Allow = f.allow
	for _, t := range f.thresholds {
		metric, change, _ := strings.Cut(t, "=")
		parsed, problem, hint := experiment.ParseThreshold(strings.TrimSpace(metric), strings.Trim(strings.TrimSpace(change), `"`))
		if problem != "" {
			bad("--threshold %s: %s\nhint: %s", t, problem, hint)
			continue
		}
		o.Gate.Thresholds = append(o.Gate.Thresholds, parsed)
	}
	if f.junit != "" && !f.gate {
		bad("--junit needs --gate, whose cases it writes\nhint: add --gate")
	}
	if len(wrong) > 0 {
		return o, usage("%s", strings.Join(wrong, "\nerror: "))
	}
	return o, nil
}

// thresholdsOf returns the thresholds of changed's matrix, overridden by the given ones.
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
		g.Thresholds = slices.DeleteFunc(g.Thresholds, func(x experiment.Threshold) bool { return x.Metric == t.Metric })
		g.Thresholds = append(g.Thresholds, t)
	}
	if f.gate && len(g.Thresholds) == 0 {
		return g, usage("the gate has no threshold\nhint: add --threshold ttft_p99=+5%%, or [gate] with ttft_p99 = \"+5%%\" to the matrix")
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

func (c *cli) writeComparison(f *compareFlags, result *compare.Comparison) error {
	if f.junit != "" {
		if err := writeWhole(f.junit, func(w io.Writer) error { return export.JUnit(w, result) }); err != nil {
			return fmt.Errorf("writing %s: %w", f.junit, err)
		}
	}
	output := f.output
	if f.format == "html" && output == "" {
		output = "comparison.html"
	}
	render := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.ComparisonText(w, result, c.screenFor(output)) },
		"md":   func(w io.Writer) error { return report.ComparisonMarkdown(w, result) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, result) },
		"html": func(w io.Writer) error { return page.Comparison(w, result) },
	}[f.format]
	return c.deliver(output, "comparison", render)
}

// screenFor is the screen that text for --output is read on.
func (c *cli) screenFor(output string) report.Screen {
	if output != "" {
		return report.Screen{}
	}
	return screenOf(c.stdout)
}

// deliver renders to a file or to stdout.
func (c *cli) deliver(output, what string, render func(io.Writer) error) error {
	if output == "" || output == "-" {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			return err
		}
		_, err := b.WriteTo(c.stdout)
		return err
	}
	if err := writeWhole(output, render); err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	_, err := fmt.Fprintln(c.stdout, what+": "+output)
	return err
}

// verdict returns the error of a gate that is not met, or of a refused comparison.
func (f *compareFlags) verdict(result *compare.Comparison) error {
	if f.gate && result.Gate.Passes {
		return nil
	}
	if f.gate {
		var missed []string
		for _, x := range result.Gate.Cases {
			if x.Verdict != "PASS" {
				missed = append(missed, fmt.Sprintf("%s: %s: %s", cmp.Or(strings.TrimSpace(x.Where()+" "+x.Metric), "all"), x.Verdict, x.Why))
			}
		}
		return &exitError{codeNotMet, errors.New("gate not met:\n  " + strings.Join(missed, "\n  "))}
	}
	if !result.Refused {
		return nothingCompared(result)
	}
	var keys []string
	for _, d := range result.Differences {
		if d.Key != "" && !d.Allowed {
			keys = append(keys, d.Key)
		}
	}
	return usage("not compared: %s\nhint: if that is what you compare: --allow %s", strings.Join(keys, ", ")+" differ", strings.Join(keys, ","))
}

// nothingCompared is the error of a comparison in which no point was compared.
func nothingCompared(result *compare.Comparison) error {
	refused := 0
	for i := range result.Points {
		if result.Points[i].Refused {
			refused++
		}
	}
	switch {
	case refused < len(result.Points):
		return nil
	case refused == 0:
		return errors.New("nothing was compared: no point is on both sides\nhint: points are matched by row name and axes; name two runs of one matrix")
	}
	return errors.New("nothing was compared: the workloads of all points differ\nhint: --allow workload, if that is what you compare")
}
