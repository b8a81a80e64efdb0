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

// tableFlags say which files add models and devices to the built-in tables.
type tableFlags struct{ models, hardware string }

func (t *tableFlags) register(f *pflag.FlagSet) {
	f.StringVar(&t.models, "model-configs", "", "file with models of yours, before the built-in ones (model_configs.json here, or beside the program)")
	f.StringVar(&t.hardware, "hardware-configs", "", "file with devices of yours, likewise (gpus.json)")
}

// read gives both tables, a user's own entries first.
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

// ownTable is the text of the file that was named, else of the one in the working directory, else of the one beside the
// program; nil: there is none. One that nobody named is said, unless it holds nothing new.
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
		fmt.Fprintf(stderr, "note: entries of %s come before the built-in ones\n", place)
		return text, nil
	}
	return nil, nil
}

// unknownEntry adds to an unknown name what to type; nil stays nil.
func unknownEntry(err error) error {
	if err == nil {
		return nil
	}
	var unknown *roofline.UnknownError
	if !errors.As(err, &unknown) || unknown.Many {
		return usage("%w", err)
	}
	hint := fmt.Sprintf("write ./%s with your own numbers: %s", unknown.File, unknown.Entry())
	if unknown.What == "model" {
		hint = "bench predict --hf-config config.json > my-models.json, and then --model-configs my-models.json; or " + hint
	}
	return usage("%w\nhint: %s", err, hint)
}
