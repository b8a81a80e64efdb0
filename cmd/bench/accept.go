package main

import (
	"fmt"
	"io"
	"path/filepath"

	"bench/experiment/stats"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
)

// accept writes a gate.json that makes a run the first of a new base.
func (c *cli) accept(arg string) error {
	run, err := foreign.LoadNew(arg)
	if err != nil {
		return usage("%w", err)
	}
	g := compare.GateRecord{Schema: compare.SchemaGate, Run: run.Manifest.Run, BaseRuns: []string{},
		Verdict:     stats.Pass,
		Regressions: []compare.Regression{}, Undecided: []compare.GatedFigure{}, Accepted: true}
	name := filepath.Join(run.Name, foreign.GateFile)
	if err := writeWhole(name, func(w io.Writer) error { return export.WriteJSON(w, g) }); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	_, err = fmt.Fprintf(c.stdout, "accepted: %s begins a new base\n", run.Name)
	return err
}
