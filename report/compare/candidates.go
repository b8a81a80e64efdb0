package compare

import (
	"slices"
	"strings"

	"bench/experiment/record"
)

type earlierRun struct {
	name   string
	run    Run      // if it is comparable
	unlike *NewBase // why it is not comparable; nil: it is, or cannot be read
	unread string   // why it cannot be read
}

// readCandidates reads candidates until there are enough that are comparable, or one is accepted.
func readCandidates(changed Run, candidates []Candidate, n int, allow []string) (out []earlierRun) {
	comparable := 0
	for _, x := range candidates[:min(len(candidates), mostRead)] {
		if comparable == 2*n+mostNights {
			break
		}
		e := earlierRun{name: x.Name}
		run, err := x.Read()
		if err != nil {
			e.unread, _, _ = strings.Cut(err.Error(), "\n")
		} else if differences, alike := likeNew(run, changed, allow); !alike {
			e.unlike = &NewBase{Latest: run.Name, Changed: differences}
		} else {
			e.run = run
			comparable++
		}
		out = append(out, e)
		if e.run.Gate != nil && e.run.Gate.Accepted {
			return afterAccepted(out)
		}
	}
	return out
}

// afterAccepted drops gates with a base of before the accepted run, the last of all: that level is over.
func afterAccepted(all []earlierRun) []earlierRun {
	since := map[string]bool{}
	for i := range all {
		since[all[i].run.Manifest.Run] = true
	}
	for i := range all[:len(all)-1] {
		e := &all[i]
		if e.run.Gate != nil && slices.ContainsFunc(e.run.Gate.BaseRuns,
			func(name string) bool { return !since[name] }) {
			e.run.Gate = nil
		}
	}
	return all
}

// likeNew: nothing refuses, the engine is of the same kind, and a point has the same workload, or none was measured.
// If not, differences say why; none: no point is in both.
func likeNew(run, changed Run, allow []string) (differences []Difference, alike bool) {
	one, other := Side{Runs: []Run{run}}, Side{Runs: []Run{changed}}
	differences = Refusing(sideDifferences(one, other, allow))
	if was, is := record.EngineKinds(run.Rows), record.EngineKinds(changed.Rows); was != is && was != "" && is != "" {
		differences = append(differences, Difference{What: engine, Base: was, New: is, Key: engine})
	}
	if len(differences) > 0 {
		return differences, false
	}
	pairs, _, _ := match(one, other, nil)
	for _, p := range pairs {
		refused := Refusing(p.differences(allow))
		if len(refused) == 0 {
			return nil, true
		}
		if len(differences) == 0 {
			differences = refused
		}
	}
	return differences, len(pairs) == 0 && slices.ContainsFunc(run.pointNames(), func(name string) bool {
		return slices.Contains(changed.pointNames(), name)
	})
}

func (r *Run) pointNames() []string {
	_, names := points(Side{Runs: []Run{*r}})
	for i := range r.Manifest.Plan {
		if p := &r.Manifest.Plan[i]; p.State != record.StateRemoved {
			names = append(names, p.Label())
		}
	}
	return names
}

func Refusing(ds []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(ds), func(d Difference) bool { return !d.refuses() })
}
