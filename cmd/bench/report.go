package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"bench/report"
)

func newReport(c *cli) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "report DIR…",
		Short: "make a report of one run or several",
		Long: `report reads the results of runs (results/<matrix>/<start time>) and writes them as html, md, csv or text.
html goes to report.html in the first directory unless -o says otherwise; the others go to the terminal.`,
		Example: `  bench report results/chat/20260101T120000Z
  bench report results/chat/20260101T120000Z --format md -o summary.md
  bench report results/chat/20260101T120000Z results/chat/20260102T120000Z -o both.html`,
		Args: positional(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.report(format, output, args)
		},
	}
	cmd.Flags().StringVar(&format, "format", "html", "html, md, csv or text")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; - for the terminal")
	return cmd
}

func (c *cli) report(format, output string, dirs []string) error {
	var runs []*report.Run
	for _, dir := range dirs {
		run, err := report.Load(dir)
		if err != nil {
			return usage("%w", err)
		}
		runs = append(runs, run)
	}
	one := func(f func(io.Writer, *report.Run) error) func(io.Writer) error {
		return func(w io.Writer) error {
			if len(runs) > 1 {
				return usage("--format %s takes one run\nhint: several go into --format html", format)
			}
			return f(w, runs[0])
		}
	}
	var render func(io.Writer) error
	switch format {
	case "html":
		render = func(w io.Writer) error { return report.HTML(w, runs...) }
		if output == "" {
			output = filepath.Join(dirs[0], "report.html")
		}
	case "md":
		render = one(report.Markdown)
	case "csv":
		render = one(report.CSV)
	case "text":
		render = one(func(w io.Writer, r *report.Run) error {
			return report.Text(w, r, output == "" && isTerminal(c.stdout))
		})
	default:
		return usage("unknown format %q\nhint: use html, md, csv or text", format)
	}
	if output == "" || output == "-" {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			return err
		}
		_, err := b.WriteTo(c.stdout)
		return err
	}
	if err := writeWhole(output, render); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err := fmt.Fprintln(c.stdout, "report: "+output)
	return err
}
