package sweep

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/server"
)

// Variant is one of several servers of a matrix: one that bench starts with its knobs, or one of several
// endpoints.
type Variant struct {
	Name     string         // as in Spec.Variant
	Settings server.Variant // the knobs; nil for an endpoint
	Endpoint string         // as written; empty for a server that bench starts

	axes []experiment.Axis // its differences from the others
}

// Varies reports whether bench starts servers or changes endpoints during the run.
func (m *Matrix) Varies() bool { return len(m.Variants) > 0 }

// Simulated reports whether the matrix runs against the embedded server. Servers of [server] and several endpoints
// leave [target] endpoint empty.
func (m *Matrix) Simulated() bool {
	return (m.Target.Endpoint == "" || m.Target.Endpoint == "mock") && !m.Varies()
}

// ClassEndpoints lists the servers that classes of the points name for themselves, each once.
func (m *Matrix) ClassEndpoints(points []experiment.Spec) (list []string) {
	for _, r := range experiment.Routes(points, m.Target) {
		if r.Endpoint != "" && !slices.Contains(list, r.Endpoint) {
			list = append(list, r.Endpoint)
		}
	}
	return list
}

func (m *Matrix) variant(name string) *Variant {
	at := slices.IndexFunc(m.Variants, func(v Variant) bool { return v.Name == name })
	return &m.Variants[at]
}

func (r *reader) readVariants(given bool) {
	m := r.m
	if given {
		m.Server.Check(m.Target.Endpoint != "" && m.Target.Endpoint != "mock", r.under("server"))
	}
	if given && len(m.Target.Endpoints) > 0 {
		r.bad("target.endpoints", "[server] starts one server, but endpoints has several",
			"write endpoint, and what varies in [server.knobs]; or remove [server]")
	}
	if given && len(m.Target.Replicas) > 0 {
		r.bad("target.replicas", "[server] starts one server, but replicas has several",
			"remove [server]: start the replicas yourself")
	}
	if len(r.problems) > 0 {
		return
	}
	if !given {
		for _, e := range m.Target.Endpoints {
			name := experiment.EndpointName(e)
			axes := []experiment.Axis{{Key: "endpoint", Value: name}}
			m.Variants = append(m.Variants, Variant{Name: "endpoint=" + name, Endpoint: e, axes: axes})
		}
		return
	}
	variants, ok := m.Server.Variants(r.doc.Keys("server.knobs"), m.Tune != nil)
	if !ok {
		r.bad("server.knobs", "the knobs have too many combinations to start", "write fewer values")
	}
	for _, v := range variants {
		m.Variants = append(m.Variants, Variant{Name: v.String(), Settings: v, axes: variedKnobs(v, m.Server.Knobs)})
	}
}

func variedKnobs(v server.Variant, k server.Knobs) []experiment.Axis {
	var out []experiment.Axis
	for _, s := range v {
		if len(k.Values[s.Knob]) > 1 {
			out = append(out, experiment.Axis{Key: s.Knob, Value: s.Value})
		}
	}
	return out
}

func (m *Matrix) forVariants(points []experiment.Spec) []experiment.Spec {
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

// attribution is a note about variants whose difference has several causes; empty: no pair differs in two
// knobs.
func (m *Matrix) attribution() string {
	var pairs []string
	if m.Tune != nil { // the race says which knobs interact
		return ""
	}
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
	return "these variants differ in two or more knobs, so their difference cannot be attributed to one: " +
		strings.Join(pairs[:min(shown, len(pairs))], "; ") + more
}
