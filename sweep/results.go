package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/sweep/matrix"
)

// results are the finished rows in the directory of a run, and what makes a row the result of a point of the matrix.
type results struct {
	directory
	m     *matrix.Matrix
	model string // that the server has; of a matrix with several, each has its own
}

// planned is the row of a point that is to run.
func (d *results) planned(s *experiment.Spec) record.Planned {
	return record.Planned{ID: matrix.ID(s), Name: s.Name, SpecHash: d.hash(s), State: "planned"}
}

// kept reads the finished row of a planned one. ok is false if it is to be run.
func (d *results) kept(p record.Planned) (*record.Row, bool) {
	row, ok := d.row(p.ID)
	return row, ok && d.reusable(row, p.SpecHash)
}

// reusable reports whether a row has the hash of a spec and at least one answer.
func (d *results) reusable(row *record.Row, hash string) bool {
	return row.SpecHash == hash && !row.AllFailed() && !row.ServerLost
}

// hash covers everything that decides what a point measures; not its expectation (expect) and its reason (a search).
// Hardware and price are in it, as figures and verdicts of the row depend on them: evaluateKept renews the hashes of
// rows when only these change.
func (d *results) hash(s *experiment.Spec) string { return d.hashOn(s, d.m.Target) }

func (d *results) hashOn(s *experiment.Spec, h experiment.Target) string {
	spec := experiment.Measured(s)
	spec.Search = nil
	t := d.m.Target
	model := t.Model // each variant can have another one
	if !d.m.Varies() {
		model = d.model
	}
	key := []any{
		spec, spec.APIFor(t), model, t.ExtraBody, t.Headers, t.Timeout,
		h.Hardware, h.GPUs, h.Precision, h.GPUHourUSD,
	}
	if d.m.Varies() {
		if v := d.m.Variant(s.Variant); v.Settings != nil {
			c := d.m.Server.Config(v.Settings)
			key = append(key, c.Command, c.Env, c.Dir, c.Before)
		}
	}
	key = append(key, routingOf(t)...)
	b, err := json.Marshal(key)
	if err != nil {
		panic(err) // all values come from TOML
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// routingOf is what decides which server gets a request, as far as [target] sets it; nil: one server, and the
// usual header of sessions.
func routingOf(t experiment.Target) (out []any) {
	if n := len(t.Replicas); n > 0 {
		out = append(out, fmt.Sprintf("%d replicas, %s", n, cmp.Or(t.Routing, experiment.RoundRobin)))
	}
	if t.SessionHeader != "" {
		out = append(out, "session header "+t.SessionHeader)
	}
	if t.Traceparent {
		out = append(out, "traceparent")
	}
	return out
}

// evaluation is the spec under which a finished row can be evaluated again; false: it needs none, or was measured
// otherwise. Of a matrix that varies its server, rows on other hardware are measured again: each server has its own.
func (d *results) evaluation(row *record.Row, old *record.Manifest) (own experiment.Spec, ok bool) {
	own = row.Spec
	its := func(v matrix.Variant) bool { return v.Name == own.Variant }
	if d.m.Varies() && !slices.ContainsFunc(d.m.Variants, its) {
		return own, false
	}
	was := formerHardware(old)
	if row.SpecHash != d.hashOn(&own, was) || d.m.Varies() && row.SpecHash != d.hash(&own) {
		return own, false
	}
	if s := d.pointOf(row); s != nil && !verdict.EndsEarly(&own) && own.Search == nil && s.Search == nil {
		if other := underLimits(own, s); d.hash(&other) == d.hash(s) {
			own = other
		}
	}
	return own, row.SpecHash != d.hash(&own)
}

// pointOf is the point of the matrix, or its repeat that a budget added, with the ID of a row; nil: there is none.
func (d *results) pointOf(row *record.Row) *experiment.Spec {
	for i := range d.m.Points {
		s := d.m.Points[i]
		if row.Spec.Added > 0 && s.Repeat <= 1 && s.Search == nil {
			s = addedAs(&s, row)
		}
		if matrix.ID(&s) == row.ID {
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

// probes reads the finished probes of a search that counts accepts, in the order in which they ran.
func (d *results) probes(first *experiment.Spec,
	counts func(*experiment.Spec, *record.Row) bool) ([]*record.Row, error) {
	ids, err := d.rowIDs()
	if err != nil {
		return nil, err
	}
	k := first.Search
	var out []*record.Row
	for _, id := range ids {
		if !strings.HasPrefix(id, matrix.Escape(first.Name)+",") {
			continue
		}
		row, ok := d.row(id)
		if !ok || !(k.LoadOf(&row.Spec) >= k.Min && k.LoadOf(&row.Spec) <= k.Max) {
			continue
		}
		if s := first.ProbeAt(k.ProbeOf(&row.Spec), row.Spec.Repeat); matrix.ID(&s) == id && counts(&s, row) {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b *record.Row) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}
