package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/pflag"

	root "bench"
	"bench/experiment"
	"bench/experiment/roofline"
	"bench/sweep/matrix"
)

func readTables(stderr io.Writer) (roofline.Models, roofline.Hardware, error) {
	builtin, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		return nil, roofline.Hardware{}, fmt.Errorf("the built-in models: %w", err)
	}
	models, err := withOwn(builtin, roofline.ModelFile, root.ModelConfigs, roofline.ParseModels, stderr)
	if err != nil {
		return nil, roofline.Hardware{}, err
	}
	hardware, err := withOwn(roofline.BuiltinHardware(), roofline.HardwareFile, nil, roofline.ParseHardware, stderr)
	return models, hardware, err
}

// withOwn is a built-in table behind the entries of the user's file in the working directory, if there is one. It is
// reported unless it equals the built-in table.
func withOwn[T interface{ With(T) T }](builtin T, name string, known []byte, parse func([]byte) (T, error),
	stderr io.Writer) (T, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(text, known) {
		return builtin, nil
	}
	if err == nil {
		fmt.Fprintf(stderr, "note: entries of %s are used before the built-in ones\n", name)
		var own T
		if own, err = parse(text); err == nil {
			return builtin.With(own), nil
		}
	}
	return builtin, usage("reading entries for %s: %w", name, err)
}

// rooflineFlags are those of commands without a server to ask for its model.
func rooflineFlags(fl *pflag.FlagSet, model, hardware *string, gpus *int, otherwise string) {
	modelFlag(fl, model, "model: a name in model_configs.json (default: "+otherwise+")")
	hardwareFlags(fl, hardware, gpus, otherwise, otherwise)
}

func hardwareFlags(fl *pflag.FlagSet, hardware *string, gpus *int, device, number string) {
	fl.StringVar(hardware, "hardware", "", "GPU: a name in the hardware table, e.g. h100-sxm (default: "+device+")")
	fl.IntVar(gpus, "gpus", 0, "number of GPUs (default: "+number+")")
}

// unknownEntry adds to the error of an unknown name how to add it. nil stays nil.
func unknownEntry(err error) error {
	if err == nil {
		return nil
	}
	var unknown *roofline.UnknownError
	if !errors.As(err, &unknown) || unknown.Many {
		return usage("%w", err)
	}
	hint := fmt.Sprintf("write ./%s with its numbers: %s", unknown.File, unknown.Entry())
	if unknown.What == "model" {
		hint = "bench predict --model config.json prints an entry for ./model_configs.json; or " + hint
	}
	return usage("%w\nhint: %s", err, hint)
}

func (f *sweepFlags) override(m *matrix.Matrix, stderr io.Writer) error {
	t := &m.Target
	if f.endpoint != "" && len(t.Replicas) > 0 {
		return usage("--endpoint: the matrix has replicas\nhint: edit replicas of [target], or replace them by endpoint")
	}
	if f.endpoint != "" && isMock(f.endpoint) != isMock(t.Endpoint) {
		if m.ForgetMachine() {
			fmt.Fprintln(stderr,
				"note: --endpoint replaces [target] endpoint: hardware, gpus, precision, price and facts of [target] are "+
					"ignored;\n      state the hardware of this endpoint by --set target.hardware=…, target.gpus=…, "+
					"target.precision=… and target.gpu_hour_usd=…")
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

func isMock(endpoint string) bool { return endpoint == "" || endpoint == "mock" }

// enforceable refuses --enforce if no picked row has anything to enforce: it would exit 0 whatever is measured.
func (f *sweepFlags) enforceable(m *matrix.Matrix, picked []experiment.Spec) error {
	if !f.enforce || slices.ContainsFunc(picked, func(s experiment.Spec) bool { return decides(&s) }) {
		return nil
	}
	return usage("--enforce: no row has an SLO or a search\nhint: write [slo] with ttft_p95 = \"1s\" in %s", m.File)
}

func decides(s *experiment.Spec) bool { return s.HasLimits() || s.Search != nil }

// assumeGPU: one GPU is what a hardware or a price alone means.
func assumeGPU(t *experiment.Target, stderr io.Writer) {
	if (t.Hardware != "" || t.GPUHourUSD != nil) && t.GPUs == 0 {
		t.GPUs = 1
		fmt.Fprintln(stderr, "note: gpus is not specified: gpus = 1 is assumed")
	}
}
