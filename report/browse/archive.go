package browse

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bench/report/compare"
	"bench/report/foreign"
)

type Archive struct {
	Dir string // as the user named it

	root  *os.Root
	files fs.FS

	turn  chan struct{} // of one Update at a time
	index compare.Index

	indexError error // why the last Update could not write the index
}

func Open(dir string) (*Archive, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	a := &Archive{Dir: dir, root: root, files: below{root.FS().(rootFiles)}, turn: make(chan struct{}, 1)}
	a.index = compare.ReadIndex(a.files)
	return a, nil
}

func (a *Archive) Close() error { return a.root.Close() }

// Update returns the runs by start; fresh is the number of new or changed ones. The nights never change.
func (a *Archive) Update(ctx context.Context) (nights []compare.Night, fresh int, err error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	index, fresh, err := compare.ReadNights(a.files, a.index, func(name string) (compare.Run, error) {
		if err := ctx.Err(); err != nil {
			return compare.Run{}, err
		}
		return foreign.LoadNight(a.files, name)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("searching %s for runs: %w", a.Dir, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if fresh > 0 || !index.Same(a.index) {
		a.indexError = a.writeIndex(index) // without it the archive goes on
	}
	a.index = index
	return index.Nights, fresh, nil
}

// IndexError is why the last Update could not write the index.
func (a *Archive) IndexError() error {
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	return a.indexError
}

// writeIndex replaces the index: another process never reads a part of it.
func (a *Archive) writeIndex(index compare.Index) error {
	text, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("encoding the index: %w", err)
	}
	part := fmt.Sprintf("%s.%d", compare.IndexName, os.Getpid())
	_ = a.root.Remove(part) // a leftover, or a link to a file that must stay
	if err = a.root.WriteFile(part, text, 0o644); err == nil {
		err = a.root.Rename(part, compare.IndexName)
	}
	if err != nil {
		_ = a.root.Remove(part) // it may not exist
		return fmt.Errorf("writing %s: %w", filepath.Join(a.Dir, compare.IndexName), err)
	}
	return nil
}
