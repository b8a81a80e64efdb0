package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/report"
	"bench/report/compare"
	"bench/report/export"
	"bench/report/foreign"
)

// compared compares two runs, or the two parts of one.
func (f *compareFlags) compared(c *cli, args []string, o compare.Options) (*compare.Comparison, error) {
	var sides []compare.Side
	for _, arg := range args {
		side, err := foreign.LoadSide(arg)
		if err != nil {
			return nil, usage("%w", err)
		}
		sides = append(sides, side)
	}
	base, changed := sides[0], sides[len(sides)-1]
	err := f.measured(sides...)
	switch {
	case err != nil:
		return nil, err
	case len(args) == 2:
		err = apart(&base, changed, c.stderr)
	case len(base.Runs) > 1:
		err = usage("%s matches %d runs\nhint: name one run, to compare its endpoints; or two arguments: BASE NEW",
			args[0], len(base.Runs))
	default:
		if base, changed, o.Paired, err = compare.Within(base.Runs[0], f.between); err != nil {
			err = usage("%w", err)
		}
	}
	if err == nil {
		o.Gate, err = f.thresholdsOf(changed, o.Gate)
	}
	if err != nil {
		return nil, err
	}
	if len(args) == 2 && len(changed.Runs) > 0 {
		o.Machine = foreign.Machine(changed.Runs[0], slices.Concat(base.Runs, changed.Runs)...)
	}
	return compare.Compare(base, changed, o)
}

// measured refuses a gate, and a choice of earlier runs, on predictions.
func (f *compareFlags) measured(sides ...compare.Side) error {
	for _, side := range sides {
		for _, r := range side.Runs {
			if r.Manifest.Predicted != nil && (f.gate || f.base != "") {
				return usage("%s is a prediction: a gate needs measured runs\nhint: omit --gate and --base to see the difference", r.Name)
			}
		}
	}
	return nil
}

func (f *compareFlags) withEarlier(run compare.Run, o compare.Options) (*compare.Comparison, error) {
	var err error
	if o.Gate, err = f.thresholdsOf(compare.Side{Runs: []compare.Run{run}}, o.Gate); err != nil {
		return nil, err
	}
	earlier, err := foreign.Earlier(run)
	if err != nil {
		return nil, err
	}
	n, err := lastGood(f.base)
	if err != nil {
		return nil, err
	}
	base := compare.ChooseBase(run, earlier, n, o.Allow)
	o.Machine = foreign.Machine(run, base.Nights...)
	return base.Compare(run, o)
}

// keepGate writes the gate's result to the run's gate.json, if the gate is the one of the matrix: a trial with other
// thresholds must not change which runs are a base.
func (f *compareFlags) keepGate(stderr io.Writer, run compare.Run, result *compare.Comparison) error {
	switch {
	case !f.gate:
		return nil
	case run.Gate != nil && run.Gate.Accepted:
		return nil
	case len(f.thresholds) > 0 || len(f.allow) > 0:
		fmt.Fprintln(stderr, "note: gate.json not written: --threshold and --allow change the gate of the matrix")
		return nil
	}
	kept := result.Record(run.Manifest.Run)
	kept.Line = report.AnswerComparison(result).Sentence()
	return writeGate(run, kept)
}

func writeGate(run compare.Run, g any) error {
	name := filepath.Join(run.Name, foreign.GateFile)
	if err := writeWhole(name, func(w io.Writer) error { return export.WriteJSON(w, g) }); err != nil {
		return fmt.Errorf("writing the gate's result: %w", err)
	}
	return nil
}

// apart removes the runs of changed from base: a glob of all nights also matches the last one.
func apart(base *compare.Side, changed compare.Side, stderr io.Writer) error {
	both := slices.DeleteFunc(slices.Clone(base.Runs), func(r compare.Run) bool { return !contains(changed, r) })
	if len(both) == 0 {
		return nil
	}
	if len(both) == len(base.Runs) {
		return usage("%s is on both sides: it cannot be compared with itself\nhint: name an earlier run as BASE",
			both[0].Name)
	}
	base.Runs = slices.DeleteFunc(base.Runs, func(r compare.Run) bool { return contains(changed, r) })
	for _, r := range both {
		fmt.Fprintf(stderr, "note: %s is on both sides: removed from BASE\n", r.Name)
	}
	return nil
}

// contains reports whether a run is one of the side's, also under another name.
func contains(s compare.Side, r compare.Run) bool {
	is, err := os.Stat(r.Name)
	return err == nil && slices.ContainsFunc(s.Runs, func(x compare.Run) bool {
		other, err := os.Stat(x.Name)
		return err == nil && os.SameFile(is, other)
	})
}

// ofSystems reports whether two runs are refused as they measured different systems. A gate asks for a regression of
// one.
func ofSystems(f *compareFlags, args []string, result *compare.Comparison) bool {
	one := len(result.BaseRuns) == 1 && len(result.NewRuns) == 1
	if f.gate || f.junit != "" || len(args) != 2 || !result.Refused || !one {
		return false
	}
	system := []string{"hardware", "gpus", "precision", "model"}
	keys := refusedKeys(result.Differences)
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(system, key) }) &&
		!slices.ContainsFunc(keys, func(key string) bool { return key != "simulated" && !slices.Contains(system, key) })
}

// sideBySide writes the report of two runs; shown is false if they have no workload with an SLO in common.
func (f *compareFlags) sideBySide(c *cli, args []string, result *compare.Comparison) (shown bool, err error) {
	var runs []*report.Run
	for _, path := range args {
		run, err := foreign.Load(path)
		if err != nil {
			return false, nil // a glob: the comparison names its run
		}
		runs = append(runs, run)
	}
	if report.SystemsOf(runs) == nil || runs[0].Tag() != runs[1].Tag() {
		return false, nil
	}
	keys := strings.Join(refusedKeys(result.Differences), ",")
	fmt.Fprintln(c.stderr, "note: "+keys+" differ: the systems side by side; each figure at the same load: --allow "+
		keys)
	o := f.output
	if o.format == "html" {
		o.file = cmp.Or(o.file, "comparison.html")
	}
	return true, (&reportFlags{output: o}).report(c, args)
}

// acceptLevel writes a gate.json that makes a run the first of a new base.
func acceptLevel(arg string, stdout io.Writer) error {
	run, err := foreign.LoadNew(arg)
	if err != nil {
		return usage("%w", err)
	}
	g := compare.GateRecord{Schema: compare.SchemaGate, Run: run.Manifest.Run, BaseRuns: []string{},
		Verdict:     stats.Pass,
		Regressions: []compare.Regression{}, Undecided: []compare.GatedFigure{}, Accepted: true}
	if err := writeGate(run, g); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "accepted: %s begins a new base\n", run.Name)
	return err
}
