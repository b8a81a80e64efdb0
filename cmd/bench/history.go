package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
	reportpage "bench/report/page"
)

// indexName is the file in which a history keeps what it read; it can be deleted at any time.
const indexName = ".bench-history.json"

func newHistory(c *cli) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "history DIR",
		Short: "many runs: trends, changes and alarms",
		Long: `history reads every run below a directory and follows each figure of each point, night by night: a change-point is a night
from which on a figure is another one, with what else changed then (server version, driver, flags, bench); an alarm says that the
last night lies where the nights before would seldom have put it. Runs are grouped by matrix, model and hardware. Files of other
tools that lie there (vllm bench serve, SGLang, guidellm, aiperf) are nights of a history of their own, by that tool's definitions.
What was read is kept in DIR/` + indexName + `, which can be deleted at any time.`,
		Example: `  bench history results/nightly
  bench history results/nightly --format html -o trends.html`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(historyFormats, format) {
				return usage("unknown format %q\nhint: use %s", format, strings.Join(historyFormats, ", "))
			}
			return c.history(format, output, args[0])
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(historyFormats, ", "))
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; - for the terminal; html: history.html in DIR")
	return cmd
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
		"text": func(w io.Writer) error { return report.HistoryText(w, h, output == "" && colors(c.stdout)) },
		"html": func(w io.Writer) error { return reportpage.History(w, h) },
		"md":   func(w io.Writer) error { return report.HistoryMarkdown(w, h) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, h) },
	}[format])
}

// nights reads the runs below a directory, those that the index does not know, and keeps the index.
func (c *cli) nights(dir string) ([]compare.Night, error) {
	index := filepath.Join(dir, indexName)
	nights, fresh, err := compare.ReadNights(dir, readIndex(index), readNight)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("%w\nhint: name the directory that holds the runs, like results/nightly", err)
	}
	if err != nil {
		return nil, err
	}
	if len(nights) == 0 {
		return nil, usage("there is no run below %s\nhint: name the directory that holds the runs, like results/nightly", dir)
	}
	if fresh == 0 {
		return nights, nil
	}
	known := compare.Index{Schema: compare.SchemaIndex, Nights: nights}
	if err := writeWhole(index, func(w io.Writer) error { return json.NewEncoder(w).Encode(known) }); err != nil {
		fmt.Fprintln(c.stderr, "note: the index of the history can't be kept: "+err.Error())
	}
	return nights, nil
}

// readNight reads a run, or a file of another tool; one that does not say when it was measured is as old as the file.
func readNight(name string) (compare.Run, error) {
	r, err := loadResult(name)
	if errors.Is(err, foreign.ErrUnknown) {
		return compare.Run{}, compare.ErrNoRun
	}
	if err != nil {
		return compare.Run{}, err
	}
	run := r.compared()
	run.Records = nil // a night's interval is by its repeats, or by its summary
	if run.Manifest.StartedAt.IsZero() {
		info, err := os.Stat(name)
		if err != nil {
			return compare.Run{}, err
		}
		run.Manifest.StartedAt = info.ModTime()
	}
	return run, nil
}

// readIndex is what an earlier history kept; nothing where it is of another version, or not whole.
func readIndex(name string) []compare.Night {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var index compare.Index
	if json.Unmarshal(text, &index) != nil || index.Schema != compare.SchemaIndex {
		return nil
	}
	return index.Nights
}
