package main

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bench/report"
	"bench/report/export"
	reportpage "bench/report/page"
)

func newReport(c *cli) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "report RESULT…",
		Short: "make a report of one run or several, or write it in another form",
		Long: `report reads the results of runs (results/<matrix>/<start time>), or files of other tools (vllm bench serve, SGLang,
guidellm, aiperf), and writes them as html, md, csv, text, json (what they say, as data), or in the forms of others: vllm (JSON of vllm bench serve, with its
arrays), gobench (for benchstat), openmetrics (for a push gateway) and parquet (every request). html goes to report.html in the
first directory unless -o says otherwise; parquet needs -o; the others go to the terminal.`,
		Example: `  bench report results/chat/20260101T120000Z
  bench report results/chat/20260101T120000Z --format md -o summary.md
  bench report results/chat/20260101T120000Z results/chat/20260102T120000Z -o both.html
  bench report vllm-result.json --format text
  bench report results/chat/20260101T120000Z --format parquet -o requests.parquet
  bench report results/chat/20260101T120000Z --format openmetrics | curl --data-binary @- http://127.0.0.1:9091/metrics/job/bench`,
		Args: positional(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.report(format, output, args)
		},
	}
	cmd.Flags().StringVar(&format, "format", "html", strings.Join(reportFormats, ", "))
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; - for the terminal")
	return cmd
}

var reportFormats = []string{"html", "md", "csv", "text", "json", "vllm", "gobench", "openmetrics", "parquet"}

func (c *cli) report(format, output string, paths []string) error {
	if !slices.Contains(reportFormats, format) {
		return usage("unknown format %q\nhint: use %s", format, strings.Join(reportFormats, ", "))
	}
	if format == "parquet" && output == "" {
		return usage("--format parquet is not for a terminal\nhint: add -o requests.parquet")
	}
	var results []*result
	for _, path := range paths {
		r, err := loadResult(path)
		if err != nil {
			return severalRuns(path, err)
		}
		results = append(results, r)
	}
	if format != "html" && format != "json" && len(results) > 1 {
		return usage("--format %s takes one run\nhint: several go into --format html or json", format)
	}
	first := results[0]
	color := output == "" && colors(c.stdout)
	if format == "html" && output == "" {
		output = besides(first.Dir)
	}
	var runs []*report.Run
	for _, r := range results {
		runs = append(runs, r.Run)
	}
	return c.deliver(output, "report", map[string]func(io.Writer) error{
		"html":        func(w io.Writer) error { return reportpage.Runs(w, runs...) },
		"json":        func(w io.Writer) error { return export.JSON(w, runs...) },
		"md":          func(w io.Writer) error { return report.Markdown(w, first.Run) },
		"csv":         func(w io.Writer) error { return export.CSV(w, first.Run) },
		"text":        func(w io.Writer) error { return report.Text(w, first.Run, color) },
		"vllm":        func(w io.Writer) error { return export.VLLM(w, first.source()) },
		"gobench":     func(w io.Writer) error { return export.GoBenchmark(w, first.source()) },
		"openmetrics": func(w io.Writer) error { return export.OpenMetrics(w, first.source()) },
		"parquet":     func(w io.Writer) error { return export.Parquet(w, first.source()) },
	}[format])
}

// besides is where the page of a result goes: into a run's directory, beside a file.
func besides(path string) string {
	if ext := filepath.Ext(path); ext == ".json" || ext == ".jsonl" {
		return strings.TrimSuffix(path, ext) + ".html"
	}
	return filepath.Join(path, "report.html")
}
