package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
)

func (c *cli) plan(f *historyFlags, dir string) error {
	var wrong []string
	given := parseThresholds(f.thresholds,
		func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) })
	if len(wrong) > 0 {
		return usage("%s", strings.Join(wrong, "\nerror: "))
	}
	if err := checkFormat(f.format, "text", "md", "json"); err != nil {
		return err
	}
	newest, err := c.newestRun(dir)
	if err != nil {
		return err
	}
	gated := compareFlags{gate: true}
	gate, err := gated.thresholdsOf(compare.Side{Runs: []compare.Run{newest}}, given)
	if err != nil {
		return err
	}
	earlier, err := foreign.Earlier(newest)
	if err != nil {
		return err
	}
	p := compare.NewPlan(newest, compare.ChooseBase(newest, earlier, defaultBase, nil), gate)
	return c.deliver(f.output, "plan", map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.PlanText(w, p, c.screenFor(f.output)) },
		"md":   func(w io.Writer) error { return report.PlanMarkdown(w, p) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, p) },
	}[f.format])
}

func (c *cli) newestRun(dir string) (compare.Run, error) {
	nights, err := c.nights(dir)
	if err != nil {
		return compare.Run{}, err
	}
	for _, n := range slices.Backward(nights) {
		name := filepath.Join(dir, n.Dir)
		if info, err := os.Stat(name); n.Error == "" && err == nil && info.IsDir() {
			run, err := foreign.LoadNight(os.DirFS(dir), n.Dir)
			run.Name = name
			return run, err
		}
	}
	return compare.Run{}, usage("no run of bench below %s has a plan\nhint: --plan reads runs of bench sweep",
		dir)
}
