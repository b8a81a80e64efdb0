package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bench/report/parallel"
)

const SchemaIndex = "bench/history/v5"

const IndexName = ".bench-history.json"

// Index caches what NewHistory needs of many runs. It can be deleted at any time: ReadNights makes it again
// from the runs.
type Index struct {
	Schema string  `json:"schema"`
	Nights []Night `json:"nights"`
	// Others are JSON files that are no run: they are not read again.
	Others []Other `json:"other_files,omitempty"`
}

type Other struct {
	File  string `json:"file"`  // relative to the root
	Stamp string `json:"stamp"` // hash of its size, mode and time
}

var ErrNoRun = errors.New("no run")

func ReadIndex(files fs.FS) Index {
	none := Index{Schema: SchemaIndex}
	text, err := fs.ReadFile(files, IndexName)
	if err != nil {
		return none
	}
	var index Index
	if json.Unmarshal(text, &index) != nil || index.Schema != SchemaIndex {
		return none
	}
	return index
}

// ReadNights finds the runs and other tools' results in files, and reads those that are new or changed since old, the
// latest first; fresh is their number. read gets names below the root of files. If it fails, or a directory cannot be
// read, the night has an Error; a file with ErrNoRun goes to Others. part gets what was read so far of many, before the
// first and between later ones, and how many are left; nil: nothing does.
func ReadNights(files fs.FS, old Index, read func(name string) (Run, error),
	part func(soFar Index, left int)) (index Index, fresh int, err error) {
	names, unread, err := runsBelow(files)
	if err != nil {
		return Index{}, 0, err
	}
	found := make([]entry, len(names))
	parallel.Do(len(names), nil, func(i int) { found[i] = stamped(files, names[i]) })
	todo := old.recall(found)
	slices.SortStableFunc(todo, func(a, b *entry) int {
		return strings.Compare(path.Base(b.night.Dir), path.Base(a.night.Dir))
	})
	for done, next := 0, 0; done < len(todo); done = next {
		if part != nil && len(todo) > leastPart {
			part(indexOf(found, unread), len(todo)-done)
		}
		// writing every part takes as long as writing a few whole ones
		next = min(len(todo), done+max(leastPart, done/4))
		parallel.Do(next-done, nil, func(i int) { todo[done+i].read(read) })
	}
	for _, e := range todo {
		if e.is == aNight {
			fresh++
		}
	}
	return indexOf(found, unread), fresh, nil
}

// leastPart is the number of runs that are read in one go.
const leastPart = 16

func indexOf(found []entry, unread []Night) Index {
	index := Index{Schema: SchemaIndex, Nights: []Night{}}
	for _, e := range found {
		switch e.is {
		case aNight:
			index.Nights = append(index.Nights, e.night)
		case noRun:
			index.Others = append(index.Others, Other{e.night.Dir, e.night.Stamp})
		}
	}
	index.Nights = append(index.Nights, unread...)
	slices.SortStableFunc(index.Nights, func(a, b Night) int { return a.StartedAt.Compare(b.StartedAt) })
	return index
}

// Same reports whether the index has the same files as another one of which no night was read anew.
func (x Index) Same(other Index) bool {
	return len(x.Nights) == len(other.Nights) && slices.Equal(x.Others, other.Others)
}

type entry struct {
	night Night // with its Dir and Stamp, also if it is no run
	is    entryKind
}

type entryKind int

const (
	aNight entryKind = iota
	unread           // yet
	noRun
	removed // meanwhile
)

func stamped(files fs.FS, name string) entry {
	e := entry{night: Night{Dir: name}}
	var err error
	e.night.Stamp, err = stampOf(files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.is = removed
	case err != nil:
		e.night.Error = err.Error()
	}
	return e
}

func (x Index) recall(found []entry) (todo []*entry) {
	nights, others := map[string]Night{}, map[Other]bool{}
	for _, n := range x.Nights {
		nights[n.Dir] = n
	}
	for _, o := range x.Others {
		others[o] = true
	}
	for i := range found {
		e := &found[i]
		known, ok := nights[e.night.Dir]
		switch {
		case e.is == removed || e.night.Error != "":
		case ok && known.Stamp == e.night.Stamp:
			e.night = known
		case others[Other{e.night.Dir, e.night.Stamp}]:
			e.is = noRun
		default:
			e.is = unread
			todo = append(todo, e)
		}
	}
	return todo
}

func (e *entry) read(read func(name string) (Run, error)) {
	run, err := read(e.night.Dir)
	e.is = aNight
	switch {
	case errors.Is(err, ErrNoRun):
		e.is = noRun
	case err != nil:
		e.night.Error = err.Error()
	default:
		e.night.fill(&run, trended, false)
	}
}

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
