package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/unit"
)

// Changed is what a resumed run does with finished rows that its matrix describes otherwise than when they ran.
type Changed struct {
	Finished  int             // rows of the run
	Again     map[string]bool // by ID: it runs again
	altered   []string        // IDs of rows that are not what run.json states: they run again
	aside     string          // directory that its result moves to
	why       map[string][]string
	evaluated map[string][]string // rows whose stored requests are evaluated again, by reason
}

// asideName is the directory of results that the attempt after those of a manifest replaces.
func asideName(old *record.Manifest) string { return fmt.Sprintf("replaced-%d", len(old.Attempts)) }

func (c *Changed) noteAgain(row *record.Row, reasons []string) {
	if c.Again[row.ID] {
		return
	}
	if c.Again == nil {
		c.Again, c.why = map[string]bool{}, map[string][]string{}
	}
	c.Again[row.ID] = true
	note(c.why, row, reasons)
}

func (c *Changed) noteEvaluated(row *record.Row, reasons []string) {
	if c.evaluated == nil {
		c.evaluated = map[string][]string{}
	}
	note(c.evaluated, row, reasons)
}

func note(rows map[string][]string, row *record.Row, reasons []string) {
	label := row.Spec.Label()
	if row.Spec.Repeat > 1 {
		label += fmt.Sprintf(" repeat %d", row.Spec.Repeat)
	}
	for _, reason := range reasons {
		rows[reason] = append(rows[reason], label)
	}
}

// Lines say what is done with which rows and why, a line each reason; none without such rows.
func (c *Changed) Lines() (lines []string) {
	if len(c.altered) > 0 {
		lines = append(lines, "changed after the run, and measured again: "+strings.Join(c.altered, ", "))
	}
	if len(c.evaluated) > 0 {
		lines = append(lines, "evaluated again from their stored requests, not measured:")
		lines = append(lines, reasonLines(c.evaluated)...)
	}
	if n := len(c.Again); n > 0 {
		lines = append(lines, fmt.Sprintf("measured again: %d of %s; the old results move to %s:", n,
			unit.Plural(c.Finished, "finished row"), c.aside))
		lines = append(lines, reasonLines(c.why)...)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.why)),
			func(why string) bool { return !strings.HasPrefix(why, "slo.") }) {
			lines = append(lines, "hint: bench report --slo MATRIX evaluates their stored requests under other limits")
		}
	}
	return lines
}

// reasonLines are "slo.ttft_p95: 1 s → 2 s (a concurrency=1, b and 3 more)".
func reasonLines(rows map[string][]string) (lines []string) {
	for _, reason := range slices.Sorted(maps.Keys(rows)) {
		const shown = 3
		names := rows[reason]
		text := strings.Join(names[:min(shown, len(names))], ", ")
		if more := len(names) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, fmt.Sprintf("  %s (%s)", reason, text))
	}
	return lines
}

// reasons are why a finished row is not a result of a point.
func (r *run) reasons(row *record.Row, s *experiment.Spec, old *record.Manifest) []string {
	switch {
	case row.ServerLost:
		return []string{"the server was lost"}
	case row.AllFailed():
		return []string{"no request completed"}
	}
	reasons := changes(specFacts(&row.Spec), specFacts(s))
	if len(reasons) == 0 {
		was := r.m.Target
		was.API = old.Target.API
		reasons = changes(targetFacts(&old.Target, old.GPUHourUSD, row.Spec.APIFor(was)),
			targetFacts(r.stated(), r.m.Target.GPUHourUSD, s.APIFor(r.m.Target)))
	}
	if len(reasons) == 0 {
		reasons = []string{"headers, timeout or routing in [target], or the start of the server"}
	}
	for i := range reasons {
		reasons[i] = r.hide(reasons[i])
	}
	return reasons
}

func (r *run) stated() *record.TargetInfo {
	t := r.targetInfo()
	t.ExtraBody = r.secrets.hideIn(r.m.Target.ExtraBody)
	t.Hardware, t.GPUs, t.Precision = r.m.Target.Hardware, r.m.Target.GPUs, r.m.Target.Precision
	return &t
}

func targetFacts(t *record.TargetInfo, price *float64, api string) map[string]string {
	return experiment.Facts(map[string]any{
		"target.api": api, "target.model": t.Model, "target.extra_body": t.ExtraBody,
		"target.hardware": t.Hardware, "target.gpus": t.GPUs, "target.precision": t.Precision,
		"target.gpu_hour_usd": price,
	}, true)
}

func specFacts(s *experiment.Spec) map[string]string {
	own := *s
	own.Expect, own.Search, own.SLO = "", nil, experiment.SLO{}
	facts := experiment.Facts(own, true)
	for prefix, limits := range map[string][]experiment.Limit{"slo.": s.SLO.Limits, "slo.each.": s.SLO.Each} {
		for _, l := range limits {
			facts[prefix+l.Key] = unit.Exactly(l.Value, l.Unit)
		}
	}
	return facts
}

// changes are the facts that differ, "input.mean: 64 → 128"; that a file's content does, if both sums are known.
func changes(was, is map[string]string) []string {
	const absent, sum = "none", ".sha256"
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		owner, isSum := strings.CutSuffix(key, sum)
		switch {
		case was[key] == is[key]:
		case isSum && (was[key] == "" || is[key] == "" || was[owner+".file"] != is[owner+".file"]):
		case isSum:
			out = append(out, fmt.Sprintf("%s.file: the content of %s differs", owner, is[owner+".file"]))
		default:
			out = append(out, record.Change{Fact: key, Was: cmp.Or(was[key], absent),
				Is: cmp.Or(is[key], absent)}.String())
		}
	}
	return out
}

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
