package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	root "bench"
	"bench/experiment/roofline"
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

// withOwn is a built-in table behind the entries of the user's file, if there is one.
func withOwn[T interface{ With(T) T }](builtin T, name string, known []byte, parse func([]byte) (T, error),
	stderr io.Writer) (T, error) {
	text, err := ownTable(name, known, stderr)
	if err != nil || text == nil {
		return builtin, err
	}
	own, err := parse(text)
	if err != nil {
		return builtin, usage("reading entries for %s: %w", name, err)
	}
	return builtin.With(own), nil
}

// ownTable returns the text of the file in the working directory; nil: none. It is reported unless it equals the
// built-in table.
func ownTable(name string, known []byte, stderr io.Writer) ([]byte, error) {
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && bytes.Equal(text, known):
		return nil, nil
	case err != nil:
		return nil, usage("reading entries for %s: %w", name, err)
	}
	fmt.Fprintf(stderr, "note: entries of %s are used before the built-in ones\n", name)
	return text, nil
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
