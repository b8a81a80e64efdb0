package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/export"
	"bench/report/foreign"
	"bench/report/page"
	"bench/sweep"
	"bench/sweep/matrix"
	"bench/sweep/strict"
)

type reportFlags struct {
	output
	enforce  bool
	findings bool // text with all tables

	slo       string // limits in place of the runs' own; empty: none
	recompute bool
	on        experiment.Target // hardware, gpus and precision in place of the runs' own; zero: those of the runs
}

func (f *reportFlags) again() bool { return f.slo != "" || f.recompute || f.onHardware() }

// onHardware reports whether hardware is stated in place of the runs' own.
func (f *reportFlags) onHardware() bool {
	return f.on.Hardware != "" || f.on.GPUs != 0 || f.on.Precision != ""
}

func newReport(c *cli) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RESULT…",
		Short: "write the report of one run or several",
		Long: `report reads runs (results/<matrix>/<start time>) or files of other tools (vllm bench serve, SGLang,
guidellm, aiperf, llm-d's Benchmark Report). A prediction (bench predict MATRIX) is drawn behind the measured runs of its
matrix. Formats: html, md, text, csv, json (the report's data), vllm (as vllm bench serve; several rows: an array), llmd
(llm-d's Benchmark Report 0.2.1: a YAML file for each row, in the folder -o).
Each request is a line of *.requests.jsonl.zst in the run, which DuckDB reads (docs/results.md).

--slo, --recompute and --hardware evaluate the stored requests again: figures, verdicts, findings and searches. They change no
file of the run, so the default format is then text. --slo takes limits, which replace the whole SLO of every row, or
a matrix, from which each row takes the SLO of the row with its name, and other rows take [slo]. --hardware, --gpus
and --precision add the roofline to a run that was measured without it, or with a mistyped one.`,
		Example: `  bench report results/chat/20260101T120000Z
  bench report results/chat/20260101T120000Z --format md                          # for a pull request: all points
  bench report results/chat/20260101T120000Z results/chat/20260102T120000Z -o both.html
  bench report results/chat/20260101T120000Z results/predicted/chat/20260101T110000Z -o with-prediction.html
  bench report results/chat/20260101T120000Z --slo 'ttft_p95=300ms,tpot_p95=40ms'
  bench report results/chat/20260101T120000Z --slo matrices/chat.toml --enforce   # exit 3 unless these limits are met
  bench report results/chat/20260101T120000Z --recompute                          # old results by this version
  bench report results/chat/20260101T120000Z --hardware h100-sxm --gpus 2         # add the roofline
  bench report results/chat/20260101T120000Z --findings                           # what the terminal leaves out
  bench report vllm-result.json --format text`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("slo") && f.slo == "" {
				return usage("--slo is empty\nhint: write --slo 'ttft_p95=300ms', or name a .toml file with [slo]")
			}
			if err := positive(cmd.Flags(), "gpus"); err != nil {
				return err
			}
			if !cmd.Flags().Changed("format") && (f.again() || f.findings) {
				f.format = "text"
			}
			return f.report(c, args)
		},
	}
	fl := cmd.Flags()
	f.register(fl, "(default: report.html in the run for html, else stdout)", formatNames()...)
	fl.StringVar(&f.slo, "slo", "",
		"`LIMITS` in place of the runs' own: ttft_p95=300ms,error_rate=0.01, or a matrix (*.toml)")
	fl.BoolVar(&f.recompute, "recompute", false, "derive everything again from the stored requests")
	hardwareFlags(fl, &f.on.Hardware, &f.on.GPUs, "the run's own", "the run's own")
	fl.StringVar(&f.on.Precision, "precision", "", "precision of the weights, e.g. bf16, fp8 (default: the run's own)")
	fl.BoolVar(&f.findings, "findings", false,
		"text with findings, bottlenecks and every table, not only the answer and the points")
	enforceFlag(fl, &f.enforce)
	return cmd
}

type reportFormat struct {
	name  string
	reads bool // people or programs of bench read it: it has places for notices, and for a prediction behind a run
	write formatWriter
	files func(...*report.Run) ([]export.File, error) // in place of write: a file for each row; nil = one file
}

type formatWriter func(w io.Writer, runs []*report.Run, screen report.Screen, findings bool) error

// wholeRuns writes a format without a choice of what it has.
func wholeRuns(write func(io.Writer, ...*report.Run) error) formatWriter {
	return func(w io.Writer, runs []*report.Run, _ report.Screen, _ bool) error { return write(w, runs...) }
}

var reportFormats = []reportFormat{
	{name: "html", reads: true, write: wholeRuns(page.Runs)},
	{name: "md", reads: true, write: wholeRuns(report.Markdown)},
	{name: "csv", write: wholeRuns(export.CSV)},
	{name: "text", reads: true, write: report.RunsText},
	{name: "json", reads: true, write: wholeRuns(export.JSON)},
	{name: "vllm", write: wholeRuns(export.VLLM)},
	{name: "llmd", files: export.LLMD},
}

func formatNames() (out []string) {
	for _, f := range reportFormats {
		out = append(out, f.name)
	}
	return out
}

func (f *reportFlags) report(c *cli, paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	var runs []*report.Run
	format := reportFormats[slices.Index(formatNames(), f.format)]
	for _, path := range paths {
		run, err := foreign.Load(path)
		if err != nil {
			return usage("%w", err)
		}
		runs = append(runs, run)
	}
	all := runs
	if format.reads {
		runs = report.LayBehind(all)
	}
	if f.again() {
		if err := f.evaluateAgain(c.stderr, all); err != nil {
			return err
		}
	}
	if !format.reads {
		for _, run := range runs {
			c.notices(run)
		}
	}
	if f.enforce {
		if err := enforceable(runs); err != nil {
			return err
		}
	}
	screen := c.screenFor(f.file)
	if f.format == "html" && f.file == "" {
		if f.file = defaultPage(runs[0].Dir); len(runs) > 1 && runs[0].Files != nil { // the run keeps its own page
			f.file = filepath.Join(filepath.Dir(filepath.Clean(runs[0].Dir)), "report.html")
		}
	}
	var err error
	if format.files != nil {
		err = f.deliverFiles(c, format, runs)
	} else {
		err = c.deliver(f.file, "report", func(w io.Writer) error {
			return format.write(w, runs, screen, f.findings)
		})
	}
	if err != nil || !f.enforce {
		return err
	}
	return met(runs)
}

// deliverFiles writes a format of several files to the folder -o. One file can go to stdout.
func (f *reportFlags) deliverFiles(c *cli, format reportFormat, runs []*report.Run) error {
	files, err := format.files(runs...)
	if err != nil {
		return err
	}
	if f.file == "" || f.file == "-" {
		if len(files) != 1 {
			return usage("--format %s has %s, one for each row\nhint: add -o FOLDER", format.name,
				unit.Plural(len(files), "file"))
		}
		_, err := c.stdout.Write(files[0].Text)
		return err
	}
	if err := os.MkdirAll(f.file, 0o777); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	for _, file := range files {
		whole := func(w io.Writer) error { _, err := w.Write(file.Text); return err }
		if err := sweep.WriteWhole(filepath.Join(f.file, file.Name), whole); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	_, err = fmt.Fprintf(c.stdout, "report: %s in %s\n", unit.Plural(len(files), "file"), f.file)
	return err
}

func (f *reportFlags) check() error {
	switch {
	case f.findings && f.format != "text":
		return usage("--findings is for text: --format %s always has them\nhint: omit one of the two", f.format)
	case f.again() && f.format == "html" && f.file == "":
		return usage("--format html needs a file: --slo, --recompute and --hardware leave report.html of the run as " +
			"it is\nhint: add -o again.html")
	}
	return nil
}

func (f *reportFlags) evaluateAgain(stderr io.Writer, runs []*report.Run) error {
	if f.on.Hardware != "" && !slices.ContainsFunc(runs,
		func(r *report.Run) bool { return r.Manifest.Target.GPUs > 0 }) {
		assumeGPU(&f.on, stderr)
	}
	by := report.Evaluation{Given: f.slo, Target: f.on}
	if _, commit := version(); !f.recompute && !strings.HasSuffix(commit, "+changes") {
		by.Commit = commit
	}
	if f.slo != "" {
		limits, err := limitsFor(f.slo, runs)
		if err != nil {
			return err
		}
		by.Limits = limits.Apply
	}
	var err error
	if by.Models, by.Hardware, err = readTables(stderr); err != nil {
		return err
	}
	if f.onHardware() {
		if err := f.checkRoofline(runs, by); err != nil {
			return err
		}
	}
	for _, run := range runs {
		if err := run.EvaluateAgain(by); err != nil {
			return err
		}
	}
	return nil
}

// checkRoofline refuses hardware flags that give a run no roofline.
func (f *reportFlags) checkRoofline(runs []*report.Run, by report.Evaluation) error {
	for _, run := range runs {
		t := run.Manifest.Target
		on := experiment.Target{
			Hardware: cmp.Or(f.on.Hardware, t.Hardware), GPUs: cmp.Or(f.on.GPUs, t.GPUs),
			Precision: cmp.Or(f.on.Precision, t.Precision),
		}
		if on.Hardware != "" {
			if _, err := by.Hardware.Find(on.Hardware); err != nil {
				return unknownEntry(err)
			}
		}
		if _, err := by.Models.Find(t.Model); err != nil {
			return unknownEntry(err)
		}
		if missing := record.NewRooflineSource(by.Models, by.Hardware, t.Model, on).Missing(); missing != "" {
			return usage("%s has no roofline: %s\nhint: --hardware h100-sxm --gpus 1", run.Manifest.Run, missing)
		}
	}
	return nil
}

func limitsFor(given string, runs []*report.Run) (*matrix.Limits, error) {
	limits, err := matrix.ReadLimits(given)
	if err != nil {
		return nil, &exitError{codeUsage, err}
	}
	var problems strict.Problems
	rows, some := 0, false
	for _, run := range runs {
		for i := range run.Rows {
			s := run.Rows[i].Spec
			problems = append(problems, limits.Check(&s)...)
			limits.Apply(&s)
			rows++
			some = some || s.HasLimits()
		}
	}
	switch {
	case len(problems) > 0:
		return nil, problems
	case rows > 0 && !some:
		return nil, usage("--slo: no limit of %s is for a row of these runs: check the names of its rows, or write "+
			"[slo]", given)
	}
	return limits, nil
}

// enforceable is an error if a run is a prediction, or has rows, but none with an SLO or a search: it would be met
// whatever was measured.
func enforceable(runs []*report.Run) error {
	for _, run := range runs {
		if run.Manifest.Predicted != nil {
			return usage("--enforce: %s is a prediction: SLOs are met by measured rows\nhint: omit --enforce", run.Dir)
		}
		if len(run.Rows) > 0 && !slices.ContainsFunc(run.Rows, func(r record.Row) bool { return decides(&r.Spec) }) {
			return usage("--enforce: no row of %s has an SLO or a search\nhint: add --slo 'ttft_p95=1s'", run.Dir)
		}
	}
	return nil
}

// met is an error unless every SLO of the runs is met by valid rows.
func met(runs []*report.Run) error {
	var missed []error
	for _, run := range runs {
		err := run.Met()
		if err != nil && len(runs) > 1 {
			err = fmt.Errorf("%s: %w", run.Dir, err)
		}
		missed = append(missed, err)
	}
	if err := errors.Join(missed...); err != nil {
		return &exitError{codeNotMet, err}
	}
	return nil
}

// defaultPage returns the default file of the page: in a run's directory, or next to a file.
func defaultPage(path string) string {
	path = strings.TrimSuffix(path, ".zst")
	if ext := filepath.Ext(path); ext == ".json" || ext == ".jsonl" {
		return strings.TrimSuffix(path, ext) + ".html"
	}
	return filepath.Join(path, "report.html")
}
