package main

import (
	"cmp"
	"context"
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
	"bench/sweep/matrix"
	"bench/sweep/predict"
)

// withoutMatrix are the flags that `bench predict MATRIX` does not take, with the key of a row that means the same.
var withoutMatrix = map[string]string{"input": "input", "output": "output", "batch": "concurrency"}

var matrixOnly = []string{"out", "only"}

func checkEngine(name string) error {
	if name == "" || slices.Contains(roofline.EngineNames, name) {
		return nil
	}
	return usage("unknown engine %q\nhint: --set mock.engine=%s", name, strings.Join(roofline.EngineNames, ", "))
}

func checkMatrixFlags(cmd *cobra.Command, matrix bool) (err error) {
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		switch {
		case matrix && withoutMatrix[fl.Name] != "":
			err = usage("--%s cannot be combined with a matrix\nhint: --set row.NAME.%s=…", fl.Name,
				withoutMatrix[fl.Name])
		case !matrix && slices.Contains(matrixOnly, fl.Name):
			err = usage("--%s needs a matrix\n"+
				"hint: bench predict matrices/chat.toml --model llama-3.1-8b --hardware h100-sxm", fl.Name)
		}
	})
	return err
}

// predictedTable is the table [mock] of a matrix to predict, whose hardware may be that of [target].
type predictedTable struct{ mock.Config }

func (t *predictedTable) Check(bad func(key, problem, hint string)) {
	c := t.Config
	if c.Hardware == "" {
		c.Engine, c.KVPrecision, c.Precision, c.GPUs = "", "", "", 0
	}
	c.Check(bad)
}

func (f *predictFlags) predictMatrix(c *cli, cmd *cobra.Command, file string) error {
	if err := checkMatrixFlags(cmd, true); err != nil {
		return err
	}
	m, p, err := f.plan(cmd.Context(), c, file)
	if err != nil {
		return err
	}
	v, commit := version()
	o := sweep.Options{
		Out: f.out, Only: f.only, Client: sweep.Client(v, commit), Command: redacted(c.args),
	}
	p.Apply(&o)
	w := f.watcher(c, m)
	result, err := c.watched(cmd.Context(), m, o, w)
	if endpoint.Interrupted(err) {
		err = interrupted("interrupted: the prediction is incomplete")
	} else {
		err = (&sweepFlags{watch: watchFlags{json: f.format == "json"}}).conclude(c, result, err)
	}
	w.ended(result)
	return err
}

// plan reads a matrix and notes what its prediction lacks.
func (f *predictFlags) plan(ctx context.Context, c *cli, file string) (*matrix.Matrix, *predict.Plan, error) {
	models, hardware, err := readTables(c.stderr)
	if err != nil {
		return nil, nil, err
	}
	table := predictedTable{mock.Config{Models: models, Devices: hardware}}
	file, text := byName(file, c.stderr)
	m, err := readMatrix(ctx, file, text, f.set, &table)
	if err != nil {
		return nil, nil, err
	}
	base := table.Config
	if err := errors.Join(checkEngine(base.Engine), f.target(m, &base, models, hardware)); err != nil {
		return nil, nil, err
	}
	if _, err := m.Pick(f.only); err != nil {
		return nil, nil, usage("%w", err)
	}
	p, err := predict.New(m, base)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	for _, line := range p.Prediction.Lacks() {
		fmt.Fprintln(c.stderr, safe("note: "+line))
	}
	return m, p, nil
}

// watcher shows each row when it is done: how long the rest takes depends on this machine.
func (f *predictFlags) watcher(c *cli, m *matrix.Matrix) watcher {
	if f.format == "json" {
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
func (f *predictFlags) target(
	m *matrix.Matrix, base *mock.Config, models roofline.Models, hardware roofline.Hardware,
) error {
	t := &m.Target
	if !m.Simulated() {
		stated := *base
		*base = mock.Config{Models: base.Models, Devices: base.Devices, ReasoningTokens: base.ReasoningTokens}
		if m.IsSet("mock.engine") {
			base.Engine = stated.Engine
		}
		if m.IsSet("mock.kv_precision") {
			base.KVPrecision = stated.KVPrecision
		}
	}
	own := f.keys.Target
	t.Model, t.Hardware = cmp.Or(own.Model, t.Model, base.Model), cmp.Or(own.Hardware, t.Hardware, base.Hardware)
	t.GPUs, t.Precision = cmp.Or(own.GPUs, t.GPUs, base.GPUs, 1), cmp.Or(t.Precision, base.Precision)
	base.GPUs = own.GPUs
	if m.Simulated() && t.Hardware == "" {
		return f.asMock(m, base)
	}
	var open []string
	for _, key := range []struct{ value, name string }{{t.Model, "model"}, {t.Hardware, "hardware"}} {
		if key.value == "" {
			open = append(open, fmt.Sprintf("missing --%s: [target] of %s has none", key.name, m.File))
		}
	}
	if len(open) > 0 {
		return usage("%s\nhint: add --model llama-3.1-8b --hardware h100-sxm", strings.Join(open, "\n"))
	}
	model, errModel := models.Find(t.Model)
	device, errDevice := hardware.Find(t.Hardware)
	if err := errors.Join(unknownEntry(errModel), unknownEntry(errDevice)); err != nil {
		return err
	}
	t.Model, t.Hardware = model.ID, device.ID
	_, err := sizeTiles(m.Points, experiment.Machine{Models: models, Model: t.Model})
	return err
}

// asMock completes [target] for the simulated server of the matrix, with its own step times.
func (f *predictFlags) asMock(m *matrix.Matrix, base *mock.Config) error {
	if base.TTFT > 0 || base.ITL > 0 {
		return usage("[mock] of %s has fixed times, which do not depend on the load: nothing to predict\n"+
			"hint: write step_base = \"10ms\" in place of ttft and itl, "+
			"or name a GPU: --model llama-3.1-8b --hardware h100-sxm", m.File)
	}
	m.Target.Model = cmp.Or(m.Target.Model, "bench-mock")
	m.Target.GPUs = 0
	_, err := sizeTiles(m.Points, experiment.Machine{
		Models: base.Models, Model: m.Target.Model, CacheTokens: base.KVTokens(),
	})
	return err
}
