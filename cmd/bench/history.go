package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
	"bench/report/page"
)

func newHistory(c *cli) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history DIR",
		Short: "show trends, change points and alarms of many runs",
		Long: `history reads every run below a directory and follows each figure of each point over the nights. A change point is a
night at which a figure's level changed; what else changed that night (server version, driver, flags, bench) is
listed. An alarm is a last night, or two or three in a row, far beyond the previous nights, or a fresh change point.
Runs are grouped by matrix, model and hardware. Files of other tools (vllm bench serve, SGLang, guidellm, aiperf) form
groups of their own.

DIR/` + compare.IndexName + ` caches what was read; it can be deleted at any time.`,
		Example: `  bench history results/nightly
  bench history results/nightly --format html -o trends.html
  bench history results --decisions`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(f.format, historyFormats...); err != nil {
				return err
			}
			if f.decisions {
				return c.decisions(f.format, f.output, args[0])
			}
			return c.history(f.format, f.output, args[0])
		},
	}
	formatFlag(cmd.Flags(), &f.format, historyFormats)
	outputFlag(cmd.Flags(), &f.output, "(default for html: DIR/history.html)")
	cmd.Flags().BoolVar(&f.decisions, "decisions", false,
		"list the settings of servers that the runs accepted or rejected, with evidence")
	return cmd
}

type historyFlags struct {
	format, output string
	decisions      bool
}

var historyFormats = []string{"text", "html", "md", "json"}

func (c *cli) history(format, output, dir string) error {
	nights, err := c.nights(dir)
	if err != nil {
		return err
	}
	h := compare.NewHistory(nights)
	if format == "html" && output == "" {
		output = filepath.Join(dir, "history.html")
	}
	return c.deliver(output, "history", map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.HistoryText(w, h, c.screenFor(output)) },
		"html": func(w io.Writer) error { return page.History(w, h) },
		"md":   func(w io.Writer) error { return report.HistoryMarkdown(w, h) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, h) },
	}[format])
}

func (c *cli) decisions(format, output, dir string) error {
	if format != "text" && format != "json" {
		return usage("--decisions has no format %s\nhint: use text, json", format)
	}
	nights, err := c.nights(dir)
	if err != nil {
		return err
	}
	d := &report.Decisions{Schema: report.SchemaDecisions, Decisions: []report.Decision{}}
	for _, n := range nights {
		run, err := foreign.LoadBelow(os.DirFS(dir), n.Dir)
		if err != nil || n.Error != "" {
			why := cmp.Or(n.Error, fmt.Sprint(err))
			fmt.Fprintln(c.stderr, safe(fmt.Sprintf("note: %s is left out: %s", n.Dir, why)))
			continue
		}
		d.Add(n.Dir, run)
	}
	return c.deliver(output, "decisions", map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.DecisionsText(w, d, c.screenFor(output)) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, d) },
	}[format])
}

// nights reads the runs below a directory that its index does not have, and writes the index.
func (c *cli) nights(dir string) ([]compare.Night, error) {
	index := filepath.Join(dir, compare.IndexName)
	files := os.DirFS(dir)
	old := compare.ReadIndex(files)
	known, fresh, err := compare.ReadNights(files, old,
		func(name string) (compare.Run, error) { return foreign.LoadNight(files, name) }, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("searching %s for runs: %w\nhint: name the directory of the runs, like results/nightly", dir,
			err)
	}
	if err != nil {
		return nil, fmt.Errorf("searching %s for runs: %w", dir, err)
	}
	if len(known.Nights) == 0 {
		return nil, usage("no run below %s\nhint: name the directory of the runs, like results/nightly", dir)
	}
	if fresh == 0 && known.Same(old) {
		return known.Nights, nil
	}
	if err := writeWhole(index, func(w io.Writer) error { return json.NewEncoder(w).Encode(known) }); err != nil {
		fmt.Fprintln(c.stderr, "note: cannot write the history's index: "+err.Error())
	}
	return known.Nights, nil
}
