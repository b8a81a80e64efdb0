package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	root "bench"
)

func newInit(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "write the matrices of this documentation to matrices/",
		Long: `init writes the matrices that bench ships, with their samples, to matrices/ in this directory: to run as they are,
and to copy from. Files that exist stay as they are.`,
		Example: `  bench init && bench sweep matrices/chat.toml   # the simulated server
  bench init && ls matrices`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return writeMatrices(root.Matrices, c.stdout, c.stderr) },
	}
}

// writeMatrices writes the files of shipped below this directory, but never over another file.
func writeMatrices(shipped fs.FS, stdout, stderr io.Writer) error {
	wrote := 0
	err := fs.WalkDir(shipped, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(shipped, name)
		if err != nil {
			return err
		}
		switch err := writeNew(filepath.FromSlash(name), text); {
		case err == nil:
			wrote++
		case errors.Is(err, fs.ErrExist):
			if own, _ := os.ReadFile(name); !bytes.Equal(own, text) {
				fmt.Fprintf(stderr, "note: %s stays as it is: it differs from the one that bench ships\n", name)
			}
		default:
			return fmt.Errorf("writing the matrices: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout,
		"%d files written to matrices\nnext: bench sweep matrices/chat.toml --endpoint URL; without --endpoint, a simulated server\n", wrote)
	return err
}

// writeNew writes a file that does not exist yet, whole or not at all, with the folders above it.
func writeNew(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name)
	}
	return err
}
