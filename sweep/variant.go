package sweep

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/server"
)

// Variant is one of several servers that a matrix measures: one that is started with its knobs, or one of several endpoints.
// Rows of a variant share its start.
type Variant struct {
	Name     string         // as Spec.Variant has it
	Settings server.Variant // the knobs; nil for an endpoint
	Endpoint string         // as the user wrote it; empty for a server that is started

	axes []experiment.Axis // what tells it from the others
}

// Varies says that servers are started or changed in the course of the run.
func (m *Matrix) Varies() bool { return len(m.Variants) > 0 }

// variant finds one by its name.
func (m *Matrix) variant(name string) *Variant {
	at := slices.IndexFunc(m.Variants, func(v Variant) bool { return v.Name == name })
	return &m.Variants[at]
}

// readVariants checks [server] and the endpoints, and lists what is to be measured.
func (r *reader) readVariants(given bool) {
	m := r.m
	if given {
		m.Server.Check(m.Target.Endpoint != "" && m.Target.Endpoint != "mock", r.under("server"))
	}
	if given && len(m.Target.Endpoints) > 0 {
		r.bad("target.endpoints", "[server] starts one server, and here are several endpoints", "write endpoint, and what varies in [server.knobs]; or remove [server]")
	}
	if len(r.problems) > 0 {
		return
	}
	if !given {
		for _, e := range m.Target.Endpoints {
			name := experiment.EndpointName(e)
			m.Variants = append(m.Variants, Variant{Name: "endpoint=" + name, Endpoint: e, axes: []experiment.Axis{{Key: "endpoint", Value: name}}})
		}
		return
	}
	knobs := slices.DeleteFunc(r.doc.Keys("server.knobs"), func(k string) bool { return k == "product" })
	variants, ok := m.Server.Variants(knobs)
	if !ok {
		r.bad("server.knobs", "the knobs have too many combinations to start", "write fewer values, or leave product out: then one knob is turned at a time")
	}
	for _, v := range variants {
		m.Variants = append(m.Variants, Variant{Name: v.String(), Settings: v, axes: turned(v, m.Server.Knobs)})
	}
}

// turned are the settings of the knobs that have more than one value.
func turned(v server.Variant, k server.Knobs) []experiment.Axis {
	var out []experiment.Axis
	for _, s := range v {
		if len(k.Values[s.Knob]) > 1 {
			out = append(out, experiment.Axis{Key: s.Knob, Value: s.Value})
		}
	}
	return out
}

// vary makes of the points of a row those of all variants.
func (m *Matrix) vary(points []experiment.Spec) []experiment.Spec {
	if !m.Varies() {
		return points
	}
	var out []experiment.Spec
	for _, v := range m.Variants {
		for _, p := range points {
			p.Point = slices.Concat(p.Point, v.axes)
			p.Variant = v.Name
			out = append(out, p)
		}
	}
	return out
}

// attribution says which variants can't be compared to learn what one knob does; empty where any two can.
func (m *Matrix) attribution() string {
	var pairs []string
	for i, v := range m.Variants {
		for _, w := range m.Variants[:i] {
			if v.Settings.Differ(w.Settings) > 1 {
				pairs = append(pairs, fmt.Sprintf("%s and %s", w.Name, v.Name))
			}
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	const shown = 3
	more := ""
	if len(pairs) > shown {
		more = fmt.Sprintf(", and %d more pairs", len(pairs)-shown)
	}
	return "variants that differ in two knobs or more: what is between them can't be attributed to one of these: " +
		strings.Join(pairs[:min(shown, len(pairs))], "; ") + more
}
