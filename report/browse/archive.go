package browse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"bench/report/compare"
	"bench/report/foreign"
)

type Archive struct {
	Dir string // as the user named it

	root  *os.Root
	files fs.FS

	turn  chan struct{} // of one Update at a time
	index compare.Index

	part       atomic.Pointer[Part] // of a long Update that goes on; nil: none does
	indexError atomic.Pointer[error]
}

// Part is what an Update has read so far.
type Part struct {
	Nights []compare.Night // by start; they never change
	Left   int             // runs that are not read yet; -1: not known yet
}

func Open(dir string) (*Archive, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	a := &Archive{Dir: dir, root: root, files: below{root}, turn: make(chan struct{}, 1)}
	a.index = compare.ReadIndex(a.files)
	return a, nil
}

func (a *Archive) Close() error { return a.root.Close() }

// Begin announces an Update: until it ends, nights are those of the index, and what it has read.
func (a *Archive) Begin() { a.part.Store(&Part{a.index.Nights, -1}) }

// nights are the runs at once, with the number of those that an Update that goes on has left; else they are up to date.
func (a *Archive) nights(ctx context.Context) (nights []compare.Night, left int, err error) {
	if part := a.part.Load(); part != nil {
		return part.Nights, part.Left, nil
	}
	nights, _, err = a.Update(ctx, nil)
	return nights, 0, err
}

// Update returns the runs by start; fresh is the number of new or changed ones. The nights never change. It writes its
// index as it goes: one that is killed goes on where it was. each gets every part; nil: nothing does.
func (a *Archive) Update(ctx context.Context, each func(Part)) (nights []compare.Night, fresh int, err error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	defer a.part.Store(nil)
	index, fresh, err := compare.ReadNights(a.files, a.index, func(name string) (compare.Run, error) {
		if err := ctx.Err(); err != nil {
			return compare.Run{}, err
		}
		return foreign.LoadNight(a.files, name)
	}, func(soFar compare.Index, left int) {
		if ctx.Err() != nil { // what was not read has an error
			return
		}
		part := Part{soFar.Nights, left}
		a.part.Store(&part)
		if !soFar.Same(a.index) {
			a.keep(soFar)
			a.index = soFar
		}
		if each != nil {
			each(part)
		}
	})
	if err != nil {
		return nil, 0, fmt.Errorf("searching %s for runs: %w", a.Dir, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if fresh > 0 || !index.Same(a.index) {
		a.keep(index)
	}
	a.index = index
	return index.Nights, fresh, nil
}

// keep writes the index; without it the archive goes on.
func (a *Archive) keep(index compare.Index) {
	err := a.writeIndex(index)
	a.indexError.Store(&err)
}

// IndexError is why the last Update could not write the index.
func (a *Archive) IndexError() error {
	if err := a.indexError.Load(); err != nil {
		return *err
	}
	return nil
}

// writeIndex replaces the index: another process never reads a part of it.
func (a *Archive) writeIndex(index compare.Index) error {
	text, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("encoding the index: %w", err)
	}
	part := fmt.Sprintf("%s.%d", compare.IndexName, os.Getpid())
	if err = a.create(part, text); err == nil {
		err = a.root.Rename(part, compare.IndexName)
	}
	if err != nil {
		_ = a.root.Remove(part) // it may not exist
		return fmt.Errorf("writing %s: %w", filepath.Join(a.Dir, compare.IndexName), err)
	}
	return nil
}

// create writes a new file. One of that name is a leftover, or a link to a file that must stay.
func (a *Archive) create(name string, text []byte) error {
	if err := a.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := a.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
