package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
)

// Kept is what a run of m with Options.Resume keeps, if its server is still the one of the run in dir.
type Kept struct {
	Done    map[string]bool // IDs of the rows
	Changed Changed
	Spent   time.Duration // of its budget
}

func FindKept(m *Matrix, dir string) (*Kept, error) {
	r := &run{Options: Options{Resume: dir, Server: &endpoint.Server{}}, m: m, secrets: findSecrets(m.Text)}
	if err := r.open(); err != nil {
		return nil, err
	}
	r.Server.Info = r.manifest.Target
	old := r.manifest
	r.before, r.changed.aside = &old, asideName(&old)
	r.changed.altered = slices.Sorted(maps.Keys(r.dir.altered))
	ids, err := r.dir.rowIDs()
	if err != nil {
		return nil, err
	}
	done := map[string]bool{}
	for _, id := range ids {
		if row, ok := r.dir.row(id); ok {
			r.changed.Finished++
			if own, again := r.evaluation(row, &old); again {
				r.changed.noteEvaluated(row, r.reasons(row, &own, &old))
				done[id] = !row.AllFailed() && !row.ServerLost
			}
		}
	}
	for i := range m.Points {
		s := &m.Points[i]
		if s.Search != nil {
			rows, err := r.reusableProbes(s, true)
			if err != nil {
				return nil, err
			}
			_, more := (&searching{first: s, rows: rows, run: r}).next()
			done[ID(s)] = !more
		} else if !done[ID(s)] {
			_, done[ID(s)] = r.kept(record.Planned{ID: ID(s), SpecHash: r.hash(s)})
			r.findChanged(s, done[ID(s)])
		}
	}
	return &Kept{done, r.changed, r.spentBefore}, nil
}

func (r *run) findChanged(s *experiment.Spec, kept bool) {
	if row, ok := r.dir.row(ID(s)); ok && !kept && r.before != nil {
		r.changed.noteAgain(row, r.reasons(row, s, r.before))
	}
}

// replace makes room for the result of a row that runs again: the old one is set aside.
func (r *run) replace(id string) error {
	if _, there := r.dir.row(id); there {
		return r.dir.setAside(r.changed.aside, func(row string) bool { return row == id })
	}
	if err := os.Remove(r.dir.file(id + ".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %s: %w", id, err)
	}
	return nil
}
