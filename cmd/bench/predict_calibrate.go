package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/report/export"
	"bench/report/foreign"
)

func withSeriesHint(err error) error {
	var vague *roofline.UnidentifiableError
	if errors.As(err, &vague) {
		return fmt.Errorf("%w\nhint: bench sweep matrices/calibrate.toml measures what a fit needs; "+
			"or a series, e.g. concurrency = [1, 8, 32, 64]", err)
	}
	return err
}

// measured reads the points of a run, or of several that a pattern names, which also sets what no flag sets.
func (f *predictFlags) measured(stderr io.Writer) (series.Calibration, error) {
	side, err := foreign.LoadSide(f.calibrate)
	if err != nil {
		return series.Calibration{}, usage("%w", err)
	}
	var rows []record.Row
	for _, run := range side.Runs {
		rows = append(rows, run.Rows...)
	}
	if slices.ContainsFunc(rows, func(r record.Row) bool { return r.Simulated || r.Predicted }) {
		fmt.Fprintln(stderr, "note: the rows are simulated: the constants describe no real server")
	}
	c := series.CalibrationPoints(rows)
	if len(c.LeftOut) > 0 {
		fmt.Fprintf(stderr, "note: rows left out: %s\n", strings.Join(c.LeftOut, "; "))
	}
	if c.Setup == nil {
		hint := "set hardware and gpus in [target]"
		if slices.ContainsFunc(rows, func(r record.Row) bool { return r.Roofline != nil }) {
			hint = "repeat the run on an idle machine: each finding that the note above names can change the times"
		}
		return series.Calibration{}, usage("no row of %s can be fitted\nhint: %s", f.calibrate, hint)
	}
	t := &f.keys.Target
	t.Model, t.Hardware = cmp.Or(t.Model, c.Setup.Model), cmp.Or(t.Hardware, c.Setup.Hardware)
	t.Precision, t.GPUs = cmp.Or(t.Precision, c.Setup.Precision), cmp.Or(t.GPUs, c.Setup.GPUs)
	return c, nil
}

func checkSame(s roofline.Setup, run *record.Roofline) error {
	if s.Model.ID == run.Model && s.Device.ID == run.Hardware {
		return nil
	}
	return usage("the run is of %s on %s, not of %s on %s\n"+
		"hint: leave target.model and target.hardware out; --save keeps the constants for later predictions",
		run.Model, run.Hardware, s.Model.ID, s.Device.ID)
}

// saveDevice writes the device to the file of --save, which keeps its other entries.
func (f *predictFlags) saveDevice(d roofline.Device) error {
	if f.save == "" {
		return nil
	}
	var own roofline.Hardware
	text, err := os.ReadFile(f.save)
	if err == nil {
		own, err = roofline.ParseHardware(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usage("reading entries for %s: %w", roofline.HardwareFile, err)
	}
	table := map[string]any{"devices": own.With(roofline.Hardware{Devices: []roofline.Device{d}}).Devices}
	if own.Efficiency.Memory > 0 {
		table["efficiency"] = own.Efficiency
	}
	if own.About != "" {
		table["about"] = own.About
	}
	return writeWhole(f.save, func(w io.Writer) error { return export.WriteJSON(w, table) })
}
