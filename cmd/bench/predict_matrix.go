package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/roofline"
	"bench/sweep"
	"bench/sweep/live"
	"bench/sweep/predict"
)

// matrixFlags are the flags of `bench predict MATRIX` alone.
type matrixFlags struct {
	out  string
	only []string
	json bool
}

func (f *matrixFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.out, "out", "results/predicted", "with a matrix: `DIR` for results")
	fl.StringArrayVar(&f.only, "only", nil, "with a matrix: only rows that match this name or `GLOB` (repeatable)")
	fl.BoolVar(&f.json, "json", false, "with a matrix: JSON lines of events on stdout instead of the final table")
}

// withMatrix are all flags that `bench predict MATRIX` takes.
var withMatrix = []string{"model", "hardware", "gpus", "precision", "kv-precision", "engine", "model-configs", "hardware-configs",
	"out", "only", "json", "help"}

// matrixOnly are those that need a matrix.
var matrixOnly = []string{"out", "only", "json"}

func checkEngine(name string) error {
	if name == "" || slices.Contains(roofline.EngineNames, name) {
		return nil
	}
	return usage("unknown engine %q\nhint: --engine %s", name, strings.Join(roofline.EngineNames, ", "))
}

// checkMatrixFlags refuses flags of the other form of the command.
func checkMatrixFlags(cmd *cobra.Command, matrix bool) (err error) {
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		switch {
		case matrix && !slices.Contains(withMatrix, fl.Name):
			err = usage("--%s cannot be combined with a matrix\nhint: omit --%s", fl.Name, fl.Name)
		case !matrix && slices.Contains(matrixOnly, fl.Name):
			err = usage("--%s needs a matrix\nhint: bench predict matrices/chat.toml --model llama-3.1-8b --hardware h100-sxm", fl.Name)
		}
	})
	return err
}

// predictMatrix runs a matrix in virtual time.
func (c *cli) predictMatrix(cmd *cobra.Command, f *predictFlags, file string) error {
	if err := errors.Join(checkMatrixFlags(cmd, true), checkEngine(f.engine)); err != nil {
		return err
	}
	models, hardware, err := f.tables.read(c.stderr)
	if err != nil {
		return err
	}
	base := mock.Config{Models: models, Devices: hardware}
	m, err := readMatrix(cmd.Context(), file, nil, &base)
	if err != nil {
		return err
	}
	if err := f.target(m, &base, models, hardware); err != nil {
		return err
	}
	if _, err := pickRows(m, f.matrix.only); err != nil {
		return err
	}
	p, err := predict.New(m, base)
	if err != nil {
		return usage("%w", err)
	}
	for _, line := range p.Prediction.Lacks() {
		fmt.Fprintln(c.stderr, safe("note: "+line))
	}
	v, commit := version()
	o := sweep.Options{
		Out: f.matrix.out, Only: f.matrix.only, Client: sweep.Client(v, commit), Command: redacted(c.args),
	}
	p.Apply(&o)
	w := c.watchPrediction(f.matrix.json, m)
	result, err := c.watched(cmd.Context(), m, o, w)
	if endpoint.Interrupted(err) {
		err = &exitError{codeInterrupted, errors.New("interrupted: the prediction is incomplete")}
	} else {
		err = c.conclude(result, err, &sweepFlags{watch: watchFlags{json: f.matrix.json}})
	}
	w.ended(result)
	return err
}

// watchPrediction shows each row when it is done: how long the rest takes depends on this machine.
func (c *cli) watchPrediction(json bool, m *sweep.Matrix) watcher {
	if json {
		e := live.NewMessages(c.stdout, m, nil)
		return watcher{e.Event, c.stderr, e.Stop, e.End}
	}
	event := func(e sweep.Event) {
		if f := e.Finished; f != nil {
			fmt.Fprintln(c.stderr, safe(fmt.Sprintf("predicted [%d/%d] %s", f.Index, f.Total, f.Row.Spec.Label())))
		}
	}
	return watcher{event, c.stderr, func() {}, func(*sweep.Result) {}}
}

// target completes [target] by the flags, and checks that it names a model and hardware. A matrix for the simulated
// server has its model and its limits in [mock]; of another server [mock] states the reasoning only.
func (f *predictFlags) target(m *sweep.Matrix, base *mock.Config, models roofline.Models, hardware roofline.Hardware) error {
	t := &m.Target
	if !m.Simulated() {
		*base = mock.Config{Models: base.Models, Devices: base.Devices, ReasoningTokens: base.ReasoningTokens,
			ReasoningByCategory: base.ReasoningByCategory, ReasoningShare: base.ReasoningShare}
	}
	t.Model, t.Hardware = cmp.Or(f.model, t.Model, base.Model), cmp.Or(f.hardware, t.Hardware, base.Hardware)
	t.GPUs, t.Precision = cmp.Or(f.gpus, t.GPUs, base.GPUs, 1), cmp.Or(f.precision, t.Precision, base.Precision)
	base.GPUs = f.gpus
	base.Engine = cmp.Or(f.engine, base.Engine)
	base.KVPrecision = cmp.Or(f.kvPrecision, base.KVPrecision)
	var open []string
	for _, key := range []struct{ value, name string }{{t.Model, "model"}, {t.Hardware, "hardware"}} {
		if key.value == "" {
			open = append(open, fmt.Sprintf("missing --%s: [target] of %s has none", key.name, m.File))
		}
	}
	if len(open) > 0 {
		return usage("%s\nhint: bench predict %s --model llama-3.1-8b --hardware h100-sxm", strings.Join(open, "\n"), m.File)
	}
	model, errModel := models.Find(t.Model)
	device, errDevice := hardware.Find(t.Hardware)
	if err := errors.Join(unknownEntry(errModel), unknownEntry(errDevice)); err != nil {
		return err
	}
	t.Model, t.Hardware = model.ID, device.ID
	_, err := sizeTiles(m.Points, experiment.Machine{Models: models, Model: t.Model, GPUs: t.GPUs})
	return err
}
