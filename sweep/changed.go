package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep/matrix"
)

// Changed is what a resumed run does with finished rows that its matrix describes otherwise than when they ran.
type Changed struct {
	finished  int             // rows of the run
	Again     map[string]bool // by ID: it runs again
	altered   []string        // IDs of rows that are not what run.json states: they run again
	aside     string          // directory that its result moves to
	why       map[string][]string
	evaluated map[string][]string // rows whose stored requests are evaluated again, by reason
}

// newChanged has no row yet. What an attempt after those of a manifest replaces gets a directory of its own.
func newChanged(old *record.Manifest, altered map[string]bool) Changed {
	return Changed{Again: map[string]bool{}, altered: slices.Sorted(maps.Keys(altered)),
		aside: fmt.Sprintf("replaced-%d", len(old.Attempts)), why: map[string][]string{},
		evaluated: map[string][]string{}}
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
			unit.Plural(c.finished, "finished row"), c.aside))
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
		was, stated, is := r.m.Target, r.m.Target, r.targetInfo()
		was.API = old.Target.API
		is.ExtraBody = r.secrets.HideIn(stated.ExtraBody)
		is.Hardware, is.GPUs, is.Precision = stated.Hardware, stated.GPUs, stated.Precision
		reasons = changes(targetFacts(&old.Target, old.GPUHourUSD, row.Spec.APIFor(was)),
			targetFacts(&is, stated.GPUHourUSD, s.APIFor(stated)))
	}
	if len(reasons) == 0 {
		reasons = []string{"headers, timeout or routing in [target], or the start of the server"}
	}
	for i := range reasons {
		reasons[i] = r.hide(reasons[i])
	}
	return reasons
}

func targetFacts(t *record.TargetInfo, price *float64, api string) map[string]string {
	return experiment.Facts(map[string]any{
		"target.api": api, "target.model": t.Model, "target.extra_body": t.ExtraBody,
		"target.hardware": t.Hardware, "target.gpus": t.GPUs, "target.precision": t.Precision,
		"target.gpu_hour_usd": price,
	}, true)
}

func specFacts(s *experiment.Spec) map[string]string {
	own := experiment.Measured(s)
	own.Search, own.SLO = nil, experiment.SLO{}
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

func FindKept(m *matrix.Matrix, dir string) (*Kept, error) {
	r := &run{Options: Options{Resume: dir, Server: &endpoint.Server{}}, m: m, secrets: matrix.FindSecrets(m.Text),
		dir: results{m: m}}
	if err := r.open(); err != nil {
		return nil, err
	}
	r.Server.Info, r.dir.model = r.manifest.Target, r.manifest.Target.Model
	old := r.manifest
	r.before, r.changed = &old, newChanged(&old, r.dir.altered)
	done := map[string]bool{}
	err := r.dir.eachRow(func(row *record.Row) error {
		r.changed.finished++
		if own, again := r.dir.evaluation(row, &old); again {
			note(r.changed.evaluated, row, r.reasons(row, &own, &old))
			done[row.ID] = !row.AllFailed() && !row.ServerLost
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range m.Points {
		s := &m.Points[i]
		if s.Search != nil {
			rows, err := r.reusableProbes(s, true)
			if err != nil {
				return nil, err
			}
			_, more := (&searching{first: s, rows: rows, run: r}).next()
			done[matrix.ID(s)] = !more
		} else if !done[matrix.ID(s)] {
			_, done[matrix.ID(s)] = r.dir.kept(r.dir.planned(s))
			r.findChanged(s, done[matrix.ID(s)])
		}
	}
	return &Kept{done, r.changed, r.watch.before}, nil
}

func (r *run) findChanged(s *experiment.Spec, kept bool) {
	row, ok := r.dir.row(matrix.ID(s))
	if ok && !kept && r.before != nil && !r.changed.Again[row.ID] {
		r.changed.Again[row.ID] = true
		note(r.changed.why, row, r.reasons(row, s, r.before))
	}
}

// formerHardware is what the roofline, the figures per GPU and the cost of a row depended on. No request depends on it.
func formerHardware(m *record.Manifest) experiment.Target {
	return experiment.Target{Hardware: m.Target.Hardware, GPUs: m.Target.GPUs, Precision: m.Target.Precision,
		GPUHourUSD: m.GPUHourUSD}
}

// evaluateKept evaluates rows again that were measured by this matrix, but for what it states of the hardware and, if
// their windows do not depend on it, of the SLO: what was sent is the same, and the rest is arithmetic over the
// records.
func (r *resumption) evaluateKept() error {
	if r.Resume == "" {
		return nil
	}
	var all []*record.Row
	err := r.dir.eachRow(func(row *record.Row) error {
		r.changed.finished++
		own, ok := r.dir.evaluation(row, r.old)
		if !ok {
			return nil
		}
		records, err := r.dir.requests(row)
		if err != nil {
			return fmt.Errorf("evaluating %s again: %w", row.ID, err)
		}
		note(r.changed.evaluated, row, r.reasons(row, &own, r.old))
		now, source := *row, r.Roofline
		if now.Spec = own; r.m.Varies() { // each server has a roofline of its own
			source = record.RooflineSource{}.Or(row.Roofline)
		}
		again := verdict.Again(&now, records, r.m.Target, source)
		again.SpecHash = r.dir.hash(&own)
		all = append(all, again)
		return nil
	})
	if err != nil {
		return err
	}
	return r.rewrite(all)
}

type file struct {
	name string
	text []byte
}

// rewrite writes rows that were evaluated again. run.json does not state them meanwhile, and that an attempt runs: a
// kill between the files must not make the run look forged.
func (r *resumption) rewrite(rows []*record.Row) error {
	if len(rows) == 0 {
		return nil
	}
	meanwhile := *r.old
	meanwhile.State, meanwhile.Plan = "running", slices.Clone(r.old.Plan)
	names := []string{manifestFile}
	for _, row := range rows {
		names = append(names, row.ID+".json")
		if i := slices.IndexFunc(meanwhile.Plan, func(p record.Planned) bool { return p.ID == row.ID }); i >= 0 {
			meanwhile.Plan[i].SHA256 = ""
		}
	}
	for _, name := range slices.Backward(names) {
		text, err := os.ReadFile(r.dir.file(name))
		if err != nil {
			return fmt.Errorf("evaluating kept rows again: %w", err)
		}
		r.replaced = append(r.replaced, file{name, text})
	}
	text, err := meanwhile.Encode()
	if err == nil {
		err = r.dir.write(manifestFile, text)
	}
	for _, row := range rows {
		if err == nil {
			err = r.dir.writeRow(row)
		}
	}
	return err
}
