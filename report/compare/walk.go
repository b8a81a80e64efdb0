package compare

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"strings"
)

// runsBelow lists the directories with a run.json, the JSON files outside of them, and what cannot be read.
func runsBelow(files fs.FS) (runs []string, unread []Night, err error) {
	var others []string
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return fs.SkipDir
		case err != nil:
			unread = append(unread, Night{Dir: name, Error: err.Error()})
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), "."):
		case d.Name() == "run.json":
			runs = append(runs, path.Dir(name))
		case path.Ext(name) == ".json" || path.Ext(name) == ".jsonl":
			others = append(others, name)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	dirs := map[string]bool{}
	for _, dir := range runs {
		dirs[dir] = true
	}
	for _, file := range others {
		if !dirs[path.Dir(file)] {
			runs = append(runs, file)
		}
	}
	return runs, unread, nil
}

func stampOf(files fs.FS, name string) (string, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return "", fmt.Errorf("reading a run: %w", err)
	}
	h := fnv.New64a()
	if !info.IsDir() {
		fmt.Fprintln(h, info.Size(), info.Mode(), info.ModTime().UnixNano())
		return fmt.Sprintf("%016x", h.Sum64()), nil
	}
	entries, err := fs.ReadDir(files, name)
	if err != nil {
		return "", fmt.Errorf("reading a run: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // renamed meanwhile
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reading a run: %w", err)
		}
		fmt.Fprintln(h, e.Name(), info.Size(), info.Mode(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}
