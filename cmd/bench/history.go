package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
	"bench/report/page"
)

// indexName is the cache of a history's runs; it can be deleted at any time.
const indexName = ".bench-history.json"

func newHistory(c *cli) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "history DIR",
		Short: "show trends, change points and alarms of many runs",
		Long: `history reads every run below a directory and follows each figure of each point over the nights. A change point is a
night at which a figure's level changed; what else changed that night (server version, driver, flags, bench) is
listed. An alarm is a last night, or two or three in a row, far beyond the previous nights. Runs are grouped by
matrix, model and hardware. Files of other tools (vllm bench serve, SGLang, guidellm, aiperf) form groups of their own.
DIR/` + indexName + ` caches what was read; it can be deleted at any time.`,
		Example: `  bench history results/nightly
  bench history results/nightly --format html -o trends.html`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, historyFormats...); err != nil {
				return err
			}
			return c.history(format, output, args[0])
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(historyFormats, ", "))
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - for stdout (default for html: DIR/history.html)")
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
		"text": func(w io.Writer) error { return report.HistoryText(w, h, c.screenFor(output)) },
		"html": func(w io.Writer) error { return page.History(w, h) },
		"md":   func(w io.Writer) error { return report.HistoryMarkdown(w, h) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, h) },
	}[format])
}

// nights reads the runs below a directory that its index does not have, and writes the index.
func (c *cli) nights(dir string) ([]compare.Night, error) {
	index := filepath.Join(dir, indexName)
	nights, fresh, err := compare.ReadNights(dir, readIndex(index), foreign.LoadNight)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("%w\nhint: name the directory of the runs, like results/nightly", err)
	}
	if err != nil {
		return nil, err
	}
	if len(nights) == 0 {
		return nil, usage("no run below %s\nhint: name the directory of the runs, like results/nightly", dir)
	}
	if fresh == 0 {
		return nights, nil
	}
	known := compare.Index{Schema: compare.SchemaIndex, Nights: nights}
	if err := writeWhole(index, func(w io.Writer) error { return json.NewEncoder(w).Encode(known) }); err != nil {
		fmt.Fprintln(c.stderr, "note: cannot write the history's index: "+err.Error())
	}
	return nights, nil
}

// readIndex reads the index of an earlier history; nil: none of this version.
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
