package compare

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

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

// ReadNights finds the runs and other tools' results in files, and reads those that are new or changed since old;
// fresh is their number. read gets names below the root of files. If it fails, or a directory cannot be read, the
// night has an Error; a file with ErrNoRun goes to Others.
func ReadNights(files fs.FS, old Index, read func(name string) (Run, error)) (index Index, fresh int, err error) {
	names, unread, err := runsBelow(files)
	if err != nil {
		return Index{}, 0, err
	}
	nights, others := map[string]Night{}, map[Other]bool{}
	for _, n := range old.Nights {
		nights[n.Dir] = n
	}
	for _, o := range old.Others {
		others[o] = true
	}
	found := make([]entry, len(names))
	parallel.Do(len(names), nil, func(i int) {
		e := entry{night: Night{Dir: names[i]}}
		stamp, err := stampOf(files, names[i])
		e.night.Stamp = stamp
		switch known := nights[names[i]]; {
		case errors.Is(err, fs.ErrNotExist): // meanwhile
			e.gone = true
		case err != nil:
			e.night.Error = err.Error()
		case known.Stamp == stamp:
			e.night = known
		case others[Other{names[i], stamp}]:
			e.noRun = true
		default:
			e.read(read)
		}
		found[i] = e
	})
	index = Index{Schema: SchemaIndex, Nights: []Night{}}
	for _, e := range found {
		switch {
		case e.noRun:
			index.Others = append(index.Others, Other{e.night.Dir, e.night.Stamp})
		case !e.gone:
			index.Nights = append(index.Nights, e.night)
		}
		if e.fresh {
			fresh++
		}
	}
	index.Nights = append(index.Nights, unread...)
	slices.SortStableFunc(index.Nights, func(a, b Night) int { return a.StartedAt.Compare(b.StartedAt) })
	return index, fresh, nil
}

// Same reports whether the index has the same files as another one of which no night was read anew.
func (x Index) Same(other Index) bool {
	return len(x.Nights) == len(other.Nights) && slices.Equal(x.Others, other.Others)
}

type entry struct {
	night              Night // with its Dir and Stamp, also if it is no run
	fresh, noRun, gone bool
}

func (e *entry) read(read func(name string) (Run, error)) {
	run, err := read(e.night.Dir)
	e.noRun = errors.Is(err, ErrNoRun)
	e.fresh = !e.noRun
	switch {
	case e.noRun:
	case err != nil:
		e.night.Error = err.Error()
	default:
		e.night.fill(&run, trended, false)
	}
}
