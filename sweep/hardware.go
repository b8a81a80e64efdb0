package sweep

import (
	"fmt"
	"os"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/verdict"
)

// formerHardware is what the roofline, the figures per GPU and the cost of a row depended on. No request depends on it.
func formerHardware(m *record.Manifest) experiment.Target {
	return experiment.Target{Hardware: m.Target.Hardware, GPUs: m.Target.GPUs, Precision: m.Target.Precision,
		GPUHourUSD: m.GPUHourUSD}
}

// evaluateKept evaluates rows again that were measured by this matrix, but for what it states of the hardware and, if
// their windows do not depend on it, of the SLO: what was sent is the same, and the rest is arithmetic over the
// records.
func (r *run) evaluateKept(old *record.Manifest) error {
	if r.Resume == "" {
		return nil
	}
	ids, err := r.dir.rowIDs()
	if err != nil {
		return err
	}
	var all []*record.Row
	for _, id := range ids {
		row, ok := r.dir.row(id)
		if !ok {
			continue
		}
		r.changed.Finished++
		own, ok := r.evaluation(row, old)
		if !ok {
			continue
		}
		records, err := r.dir.requests(row)
		if err != nil {
			return fmt.Errorf("evaluating %s again: %w", id, err)
		}
		r.changed.noteEvaluated(row, r.reasons(row, &own, old))
		now, source := *row, r.Roofline
		if now.Spec = own; r.m.Varies() { // each server has a roofline of its own
			source = record.RooflineSource{}.Or(row.Roofline)
		}
		again := verdict.Again(&now, records, r.m.Target, source)
		again.SpecHash = r.hash(&own)
		all = append(all, again)
	}
	return r.rewrite(all, old)
}

type file struct {
	name string
	text []byte
}

// rewrite writes rows that were evaluated again. run.json does not state them meanwhile, and that an attempt runs: a
// kill between the files must not make the run look forged.
func (r *run) rewrite(rows []*record.Row, old *record.Manifest) error {
	if len(rows) == 0 {
		return nil
	}
	meanwhile := *old
	meanwhile.State, meanwhile.Plan = "running", slices.Clone(old.Plan)
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

// evaluation is the spec under which a finished row can be evaluated again; false: it needs none, or was measured
// otherwise. Of a matrix that varies its server, rows on other hardware are measured again: each server has its own.
func (r *run) evaluation(row *record.Row, old *record.Manifest) (own experiment.Spec, ok bool) {
	own = row.Spec
	if r.m.Varies() && !slices.ContainsFunc(r.m.Variants, func(v Variant) bool { return v.Name == own.Variant }) {
		return own, false
	}
	was := formerHardware(old)
	if row.SpecHash != r.hashOn(&own, was) || r.m.Varies() && row.SpecHash != r.hash(&own) {
		return own, false
	}
	if s := r.pointOf(row); s != nil && !verdict.EndsEarly(&own) && own.Search == nil && s.Search == nil {
		if other := underLimits(own, s); r.hash(&other) == r.hash(s) {
			own = other
		}
	}
	return own, row.SpecHash != r.hash(&own)
}

// pointOf is the point of the matrix, or its repeat that a budget added, with the ID of a row; nil: there is none.
func (r *run) pointOf(row *record.Row) *experiment.Spec {
	for i := range r.m.Points {
		s := r.m.Points[i]
		if row.Spec.Added > 0 && s.Repeat <= 1 && s.Search == nil {
			s = addedAs(&s, row)
		}
		if ID(&s) == row.ID {
			return &s
		}
	}
	return nil
}

func underLimits(own experiment.Spec, s *experiment.Spec) experiment.Spec {
	own.SLO, own.Mix = s.SLO, slices.Clone(own.Mix)
	for i := range own.Mix {
		if i < len(s.Mix) {
			own.Mix[i].SLO = s.Mix[i].SLO
		}
	}
	return own
}
