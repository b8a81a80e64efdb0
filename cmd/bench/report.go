package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bench/report"
	"bench/report/export"
	"bench/report/foreign"
	"bench/report/page"
)

func newReport(c *cli) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "report RESULT…",
		Short: "write the report of one run or several",
		Long: `report reads runs (results/<matrix>/<start time>) or files of other tools (vllm bench serve, SGLang, guidellm, aiperf).
Formats: html, md, text, csv, json (the report's data), vllm (JSON of vllm bench serve),
gobench (for benchstat), openmetrics (for a push gateway), parquet (every request).`,
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
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - for stdout (default: report.html in the run for html, else stdout; parquet needs it)")
	return cmd
}

var reportFormats = []string{"html", "md", "csv", "text", "json", "vllm", "gobench", "openmetrics", "parquet"}

func (c *cli) report(format, output string, paths []string) error {
	if err := checkFormat(format, reportFormats...); err != nil {
		return err
	}
	if format == "parquet" && output == "" {
		return usage("--format parquet needs a file\nhint: add -o requests.parquet")
	}
	var runs []*report.Run
	for _, path := range paths {
		run, err := foreign.Load(path)
		if err != nil {
			return usage("%w", err)
		}
		runs = append(runs, run)
	}
	if format != "html" && format != "json" && len(runs) > 1 {
		return usage("--format %s takes one run\nhint: --format html and json take several", format)
	}
	first := runs[0]
	color := output == "" && colors(c.stdout)
	if format == "html" && output == "" {
		output = defaultPage(first.Dir)
	}
	return c.deliver(output, "report", map[string]func(io.Writer) error{
		"html":        func(w io.Writer) error { return page.Runs(w, runs...) },
		"json":        func(w io.Writer) error { return export.JSON(w, runs...) },
		"md":          func(w io.Writer) error { return report.Markdown(w, first) },
		"csv":         func(w io.Writer) error { return export.CSV(w, first) },
		"text":        func(w io.Writer) error { return report.Text(w, first, color) },
		"vllm":        func(w io.Writer) error { return export.VLLM(w, first) },
		"gobench":     func(w io.Writer) error { return export.GoBenchmark(w, first) },
		"openmetrics": func(w io.Writer) error { return export.OpenMetrics(w, first) },
		"parquet":     func(w io.Writer) error { return export.Parquet(w, first) },
	}[format])
}

// defaultPage returns the default file of the page: in a run's directory, or next to a file.
func defaultPage(path string) string {
	if ext := filepath.Ext(path); ext == ".json" || ext == ".jsonl" {
		return strings.TrimSuffix(path, ext) + ".html"
	}
	return filepath.Join(path, "report.html")
}
