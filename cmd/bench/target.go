package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/roofline"
	"bench/experiment/text"
	"bench/sweep"
	"bench/sweep/strict"
)

func (f *sweepFlags) override(m *sweep.Matrix, stderr io.Writer) error {
	t := &m.Target
	if f.endpoint != "" && len(t.Replicas) > 0 {
		return usage("--endpoint: the matrix has replicas\nhint: edit replicas of [target], or replace them by endpoint")
	}
	if f.endpoint != "" && isMock(f.endpoint) != isMock(t.Endpoint) {
		if forgetMachine(m) {
			fmt.Fprintln(stderr,
				"note: --endpoint replaces [target] endpoint: hardware, gpus, precision, price and facts of [target] are ignored;\n"+
					"      state the hardware of this endpoint by --set target.hardware=…, target.gpus=…, target.precision=… and target.gpu_hour_usd=…")
		}
		if isMock(t.Endpoint) && !m.IsSet("target.model") {
			t.Model = ""
		}
	}
	for _, o := range []struct {
		flag string
		into *string
	}{{f.endpoint, &t.Endpoint}, {f.api, &t.API}, {f.model, &t.Model}} {
		if o.flag != "" {
			*o.into = o.flag
		}
	}
	var wrong mistakes
	t.Check(wrong.inFlags("--"))
	return wrong.err()
}

// forgetMachine clears what the file states of the machine behind its own endpoint, except what --set states, and
// reports whether that is worth a note.
func forgetMachine(m *sweep.Matrix) (noted bool) {
	t := &m.Target
	if t.Hardware != "" && !m.IsSet("target.hardware") {
		t.Hardware, noted = "", true
	}
	if !m.IsSet("target.gpus") {
		t.GPUs = 0
	}
	if !m.IsSet("target.precision") {
		t.Precision = ""
	}
	if t.GPUHourUSD != nil && !m.IsSet("target.gpu_hour_usd") {
		t.GPUHourUSD, noted = nil, true
	}
	stated := len(t.Facts)
	maps.DeleteFunc(t.Facts, func(name, _ string) bool { return !m.IsSet("target.facts." + strconv.Quote(name)) })
	return noted || len(t.Facts) < stated
}

func isMock(endpoint string) bool { return endpoint == "" || endpoint == "mock" }

// pickRows returns the points that match a pattern of --only; all points without a pattern. A pattern that
// matches no row is an error, whatever the others match: the row that was meant would not run.
func pickRows(m *sweep.Matrix, only []string) ([]experiment.Spec, error) {
	var picked []experiment.Spec
	unmatched := slices.Clone(only)
	for i := range m.Points {
		s := &m.Points[i]
		some := len(only) == 0
		for _, pattern := range only {
			ok, err := sweep.Match(s, []string{pattern})
			if err != nil {
				return nil, usage("--only: %w", err)
			}
			if ok {
				some = true
				unmatched = slices.DeleteFunc(unmatched, func(u string) bool { return u == pattern })
			}
		}
		if some {
			picked = append(picked, *s)
		}
	}
	if len(unmatched) > 0 {
		return nil, noMatch(m, unmatched)
	}
	return picked, nil
}

func noMatch(m *sweep.Matrix, only []string) error {
	var names []string
	for i := range m.Points {
		if name := m.Points[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	hint := "the rows are " + strings.Join(names, ", ")
	for _, pattern := range only {
		if near, ok := text.Nearest(pattern, names); ok {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
	}
	return usage("no row matches --only %s\nhint: %s", text.ShellWords(only), hint)
}

// enforceable refuses --enforce if no picked row has anything to enforce: it would exit 0 whatever is measured.
func (f *sweepFlags) enforceable(m *sweep.Matrix, picked []experiment.Spec) error {
	if !f.enforce || slices.ContainsFunc(picked, func(s experiment.Spec) bool { return decides(&s) }) {
		return nil
	}
	return usage("--enforce: no row has an SLO or a search\nhint: write [slo] with ttft_p95 = \"1s\" in %s", m.File)
}

func decides(s *experiment.Spec) bool { return s.HasLimits() || s.Search != nil }

// checkHardware refuses a device or precision that is a slip of a known one: the run would have no roofline. An
// unknown name that is none is allowed; notes says so.
func checkHardware(m *sweep.Matrix, models roofline.Models, hardware roofline.Hardware) (notes []string, err error) {
	var problems strict.Problems
	check := func(key, what, value string, known []string, err error) {
		if err == nil {
			return
		}
		unknown := new(roofline.UnknownError)
		isOfTable := errors.As(err, &unknown)
		meant, slip := text.Slip(value, known)
		hint := fmt.Sprintf("did you mean %q?", meant)
		switch {
		case isOfTable && unknown.Many:
			problems = append(problems, m.Problem("target."+key, unknown.Error(), "write one of them in full"))
		case slip && isOfTable:
			hint += " Else add an entry to " + unknown.File
			fallthrough
		case slip:
			problems = append(problems, m.Problem("target."+key, fmt.Sprintf("unknown %s %q", what, value), hint))
		case isOfTable:
			notes = append(notes, fmt.Sprintf("%v; known are %s", err, strings.Join(known, ", ")))
		default:
			notes = append(notes, err.Error())
		}
	}
	t := m.Target
	if t.Hardware != "" {
		_, err := hardware.Find(t.Hardware)
		check("hardware", "device", t.Hardware, hardware.Names(), err)
	}
	check("precision", "precision", t.Precision, roofline.PrecisionNames(),
		roofline.CheckPrecision("precision", t.Precision))
	if len(problems) > 0 {
		return nil, problems
	}
	if t.Model != "" && t.Hardware != "" {
		if _, err := models.Find(t.Model); err != nil {
			notes = append(notes, err.Error())
		}
	}
	return notes, nil
}

// assumeGPU: one GPU is what a hardware or a price alone means.
func assumeGPU(t *experiment.Target, stderr io.Writer) {
	if (t.Hardware != "" || t.GPUHourUSD != nil) && t.GPUs == 0 {
		t.GPUs = 1
		fmt.Fprintln(stderr, "note: gpus is not specified: gpus = 1 is assumed")
	}
}
