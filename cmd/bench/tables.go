package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	root "bench"
	"bench/experiment/roofline"
)

// readTables returns the tables of models and devices, the user's entries first.
func readTables(stderr io.Writer) (roofline.Models, roofline.Hardware, error) {
	builtin, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		return nil, roofline.Hardware{}, fmt.Errorf("the built-in models: %w", err)
	}
	text, err := ownTable(roofline.ModelFile, root.ModelConfigs, stderr)
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
	if text, err = ownTable(roofline.HardwareFile, nil, stderr); err != nil {
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

// ownTable returns the text of the file in the working directory, else of the one beside the program; nil: none. A
// file is reported unless it equals the built-in table.
func ownTable(name string, known []byte, stderr io.Writer) ([]byte, error) {
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
		hint = "bench predict --set target.model_config=config.json prints an entry for ./model_configs.json; or " + hint
	}
	return usage("%w\nhint: %s", err, hint)
}
