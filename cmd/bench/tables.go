package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	root "bench"
	"bench/experiment/roofline"
)

// tableFlags name the files that add models and devices to the built-in tables.
type tableFlags struct{ models, hardware string }

func (t *tableFlags) register(f *pflag.FlagSet) {
	f.StringVar(&t.models, "model-configs", "", "`FILE` of models, used before the built-in ones (default: ./model_configs.json, else beside bench)")
	f.StringVar(&t.hardware, "hardware-configs", "", "`FILE` of devices, used before the built-in ones (default: ./gpus.json, else beside bench)")
}

// read returns both tables, the user's entries first.
func (t *tableFlags) read(stderr io.Writer) (roofline.Models, roofline.Hardware, error) {
	builtin, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		return nil, roofline.Hardware{}, fmt.Errorf("the built-in models: %w", err)
	}
	text, err := ownTable(t.models, roofline.ModelFile, root.ModelConfigs, stderr)
	if err != nil {
		return nil, roofline.Hardware{}, err
	}
	if text != nil {
		own, err := roofline.ParseModels(text)
		if err != nil {
			return nil, roofline.Hardware{}, usage("reading entries for %s: %w", roofline.ModelFile, err)
		}
		builtin = builtin.With(own)
	}
	hardware := roofline.BuiltinHardware()
	if text, err = ownTable(t.hardware, roofline.HardwareFile, nil, stderr); err != nil {
		return nil, roofline.Hardware{}, err
	}
	if text != nil {
		own, err := roofline.ParseHardware(text)
		if err != nil {
			return nil, roofline.Hardware{}, usage("reading entries for %s: %w", roofline.HardwareFile, err)
		}
		hardware = hardware.With(own)
	}
	return builtin, hardware, nil
}

// ownTable returns the text of the named file, else of the one in the working directory, else of the one
// beside the program; nil: none. A file that was found, not named, is reported unless it equals the built-in
// table.
func ownTable(named, name string, known []byte, stderr io.Writer) ([]byte, error) {
	if named != "" {
		text, err := os.ReadFile(named)
		if err != nil {
			return nil, usage("reading entries for %s: %w", name, err)
		}
		return text, nil
	}
	places := []string{name}
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(self), name))
	}
	for _, place := range places {
		text, err := os.ReadFile(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, usage("reading entries for %s: %w", name, err)
		case bytes.Equal(text, known):
			return nil, nil
		}
		fmt.Fprintf(stderr, "note: entries of %s are used before the built-in ones\n", place)
		return text, nil
	}
	return nil, nil
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
		hint = "bench predict --set target.model_config=config.json > model_configs.json; or " + hint
	}
	return usage("%w\nhint: %s", err, hint)
}
