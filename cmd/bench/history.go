package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

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
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.decisions {
				return f.listDecisions(c, args[0])
			}
			return f.history(c, args[0])
		},
	}
	f.register(cmd.Flags(), "(default for html: DIR/history.html)", "text", "html", "md", "json")
	cmd.Flags().BoolVar(&f.decisions, "decisions", false,
		"list the settings of servers that the runs accepted or rejected, with evidence")
	return cmd
}

type historyFlags struct {
	output
	decisions bool
}

func (f *historyFlags) history(c *cli, dir string) error {
	o := f.output
	nights, err := nightsBelow(dir, c.stderr)
	if err != nil {
		return err
	}
	h := compare.NewHistory(nights)
	if o.format == "html" && o.file == "" {
		o.file = filepath.Join(dir, "history.html")
	}
	return c.deliver(o.file, "history", map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.HistoryText(w, h, c.screenFor(o.file)) },
		"html": func(w io.Writer) error { return page.History(w, h) },
		"md":   func(w io.Writer) error { return report.HistoryMarkdown(w, h) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, h) },
	}[o.format])
}

func (f *historyFlags) listDecisions(c *cli, dir string) error {
	o := f.output
	if !slices.Contains(textOrJSON, o.format) {
		return usage("--decisions has no format %s\nhint: use text, json", o.format)
	}
	nights, err := nightsBelow(dir, c.stderr)
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
	return c.write(o, "decisions", d, func(w io.Writer, screen report.Screen) error {
		return report.DecisionsText(w, d, screen)
	})
}

// nightsBelow reads the runs below a directory that its index does not have, and writes the index.
func nightsBelow(dir string, stderr io.Writer) ([]compare.Night, error) {
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
		fmt.Fprintln(stderr, "note: cannot write the history's index: "+err.Error())
	}
	return known.Nights, nil
}
